"""Who may read places where they are closed: callers with a key that has the scope, and this machine."""

from collections.abc import Mapping

from fastapi import Request

from waypost.access.caller import ANONYMOUS
from waypost.access.keys import Scope
from waypost.kernel.errors import TerminalError
from waypost.web.http.authentication import KEY_IN_ADDRESS, Asker, WriteGuard, bearer_token

_SCOPE: Scope = "places:read"


class KeyNeeded(TerminalError):
    """Places are closed to callers without a key."""

    http_status = 401

    def __init__(self, scope: Scope) -> None:
        super().__init__(
            "this is closed to callers without a key: send one as Authorization: Bearer wp_…,"
            f" made with: waypost key create NAME --scope {scope}"
        )


class PlacesGate:
    def __init__(self, guard: WriteGuard) -> None:
        self._guard = guard

    async def check(self, request: Request, scope: Scope = _SCOPE) -> None:
        """Raises what the caller lacks. That a key was revoked is noticed a few seconds late."""
        self.admit(await self._guard(request, from_memory=True), scope)

    def admit(self, asker: Asker, scope: Scope = _SCOPE) -> None:
        if asker.caller == ANONYMOUS:
            raise KeyNeeded(scope)
        asker.needs(scope)

    def opens_now(self, first_line: bytes, asked: Mapping[bytes, bytes]) -> bool:
        """Whether a key that is in memory opens; if not, `check` knows better."""
        keys = self._guard.keys
        if keys is None or KEY_IN_ADDRESS.search(first_line):
            return False
        bearer = asked.get(b"authorization")
        token = bearer_token(bearer.decode("latin-1")) if bearer else asked.get(b"x-api-key", b"").decode("latin-1")
        caller = keys.recall(token)
        return caller is not None and caller.allows(_SCOPE)
