"""How long a store has been in trouble, and when that is too long."""

import math

from waypost.kernel.errors import StoreTrouble

# Without work the store is not tried: a try that begins this long after the last trouble, and fails, is new trouble.
_CALM_SECONDS = 10.0


class Trouble:
    """Trouble lasts until a success: a store that hangs may take any time to say that it is away."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since = self._last = -math.inf
        self._error: StoreTrouble | None = None

    def note(self, error: StoreTrouble, now: float, *, began: float = -math.inf) -> None:
        """Notes a failure; `began` is when the try began, for tries that are not made all the time."""
        if self._error is None or began - self._last > _CALM_SECONDS:
            self._since = now
        self._last, self._error = now, error

    def end(self) -> None:
        """Ends the trouble: the store did what it was asked to do."""
        self._error = None

    def raise_if_it_lasts(self) -> None:
        if self._error and self._last - self._since >= self._patience:
            raise self._error
