"""How long one client is waited for: a deadline for each state that its connection can be in."""

from typing import Literal

from waypost.web.http.open_connections import SECONDS_BETWEEN_LOOKS, Reason

# From the first byte of a request to the end of its headers; also how long a new connection may take to begin, and
# how long the rest of a body may take that was answered without it.
_HEAD_SECONDS = 10.0
# How long a client may read nothing while we have something for it.
_READ_SECONDS = 30.0

# What the parser waits for: a first request, another one, the rest of a head, the rest of a body.
Awaits = Literal["first", "request", "head", "rest"]
# The requests so far, what is awaited, and whether an answer is under way.
State = tuple[int, Awaits, bool]

_OVERDUE: dict[Awaits, Reason] = {"first": "silent", "head": "slow-head", "rest": "slow-body", "request": "idle"}


class Patience:
    """It learns of changes when it looks, so that no request has to tell it anything."""

    __slots__ = ("_seen", "_since", "_unread", "_unread_since")

    def __init__(self, now: float) -> None:
        self._seen: State = (0, "first", False)
        self._since = self._unread_since = now
        self._unread = 0

    def look(self, now: float, state: State, unread: int, keep_alive: float) -> Reason | None:
        """Returns why to give up the client, if it is time to. `unread` is how many bytes are there for it to read."""
        if unread or state != self._seen:
            self._seen, self._since = state, now
        if not unread or unread != self._unread:
            self._unread, self._unread_since = unread, now
        _, awaits, is_answering = state
        # Routes have deadlines of their own for bodies that they wait for.
        if not is_answering and now - self._since > (keep_alive if awaits == "request" else _HEAD_SECONDS):
            return _OVERDUE[awaits]
        return "unread" if unread and now - self._unread_since > _READ_SECONDS else None

    def waits_since(self, now: float, state: State) -> float | None:
        """Returns since when we wait for the client to send or to read; None while it waits for us."""
        _, awaits, is_answering = state
        if is_answering and awaits != "rest" and not self._unread:
            return None
        since = self._unread_since if self._unread else self._since
        # What happened since the last look cannot be told apart: it happened now.
        return now if state != self._seen or now - since < SECONDS_BETWEEN_LOOKS else since
