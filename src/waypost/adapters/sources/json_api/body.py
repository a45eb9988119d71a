"""What an answer has at a path, with everything beside the path left unread."""

from collections.abc import Callable

import msgspec

from waypost.adapters.sources.reading import Json, read_array, read_json, read_object
from waypost.importing.source import ProviderUnavailable

_SHOWN = 12


class Body:
    """An answer's JSON. `hide` takes secrets out of what is said about it."""

    def __init__(self, body: bytes, hide: Callable[[str], str]) -> None:
        # Some servers begin with a byte order mark, which is not JSON.
        self._body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
        self._hide = hide

    def records(self, path: str) -> list[msgspec.Raw]:
        """The items of the array at a path; the whole answer is the array, if the path is empty.

        Raises ProviderUnavailable for an answer without one: that is not an answer, and never an empty page.
        """
        found = self._find(path)
        if found is None or not _is(found, b"["):
            read_json(self._body)
            what = "nothing" if found is None else "no array"
            raise ProviderUnavailable(
                self._hide(f"the provider's answer has {what} at {_shown(path)}{self._near(path)}")
            )
        return read_array(found)

    def count(self, path: str) -> int:
        """Returns the count at a path. Raises ProviderUnavailable if there is none."""
        found = self._read(path)
        if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 19:  # noqa: PLR2004 - 64 bits
            return int(found)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise ProviderUnavailable(
                self._hide(f"the provider's answer has no count at {_shown(path)}{self._near(path)}")
            )
        return found

    def flag(self, path: str) -> bool:
        """Returns true or false, as at a path. Raises ProviderUnavailable where there is neither."""
        found = self._read(path)
        if not isinstance(found, bool):
            raise ProviderUnavailable(
                self._hide(f"the provider's answer has neither true nor false at {_shown(path)}{self._near(path)}")
            )
        return found

    def text(self, path: str) -> str | None:
        """A text or a number; None where there is nothing, or nothing in it. Raises ProviderUnavailable."""
        found = self._read(path)
        if found is None or found is False or found == "":
            return None
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise ProviderUnavailable(self._hide(f"the provider's answer has no text at {_shown(path)}"))
        return str(found)

    def _read(self, path: str) -> object:
        found = self._find(path)
        return None if found is None else read_json(found)

    def _find(self, path: str) -> Json | None:
        found: Json | None = self._body
        for step in path.split(".") if path else ():
            found = _step(found, step)
            if found is None:
                return None
        return found

    def _near(self, path: str) -> str:
        """Says what there is instead: the keys of the last object on the way."""
        steps = path.split(".") if path else []
        for length in range(len(steps), -1, -1):
            above = ".".join(steps[:length])
            found = self._find(above)
            if found is not None and _is(found, b"{"):
                keys = list(read_object(found))
                more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
                shown = ", ".join(key[:40] for key in keys[:_SHOWN])
                return f"; {_shown(above)} has the keys {shown or 'none'}{more}"
        return ""


def _step(found: Json | None, step: str) -> Json | None:
    if found is None:
        return None
    if _is(found, b"{"):
        return read_object(found).get(step)
    if _is(found, b"[") and step.isascii() and step.isdecimal():
        items = read_array(found)
        return items[int(step)] if int(step) < len(items) else None
    return None


def _is(found: Json, opening: bytes) -> bool:
    return bytes(memoryview(found)[:1]) == opening


def _shown(path: str) -> str:
    return f"`{path}`" if path else "its top"
