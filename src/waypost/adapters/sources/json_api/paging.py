"""How one page of a JSON API leads to the next: by number, by offset, by a token, by a link, or after an id.

A cursor says how it goes on: `page:3:<read>:<check>`, `offset:200:<read>:<check>`, `token:…`, `at:/path?…` or
`after:17`. `read` is how many records came so far. The check is a digest of the page before: a provider that ignores
the parameter would send that page for ever.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from waypost.adapters.sources.http import Answer, ProviderClient, ProviderRejected
from waypost.adapters.sources.json_api.body import Body
from waypost.adapters.sources.json_api.tables import PaginationTable
from waypost.adapters.sources.weblinks import next_link
from waypost.importing.source import BadCursor, StuckCursor

_LONGEST_TOKEN = 8192
_STARTS = {"page": 1, "offset": 0, "keyset": 0}
_PREFIXES = {"page": "page", "offset": "offset", "keyset": "after"}


@dataclass(frozen=True, slots=True)
class Received:
    """One answer: its records, and the highest id among them, where pages follow ids."""

    answer: Answer
    body: Body
    records: Sequence[msgspec.Raw]
    highest: int = 0


@dataclass(frozen=True, slots=True)
class Onwards:
    """Where the next page starts; whether there is none; and whether there is one that nobody will send."""

    cursor: str | None
    last: bool
    truncated: bool = False


class Paging:
    def __init__(self, table: PaginationTable, client: ProviderClient, page_size: int) -> None:
        self._table = table
        self._client = client
        self._size = table.size or page_size
        self._start = _STARTS.get(table.kind, 0) if table.start is None else table.start

    @property
    def reads_in_order(self) -> bool:
        return self._table.kind == "keyset"

    def address(self, parameters: Mapping[str, str], cursor: str | None, *, size: int | None = None) -> str:
        """What to ask for the page at a cursor. Raises BadCursor."""
        table = self._table
        sized = {table.size_parameter: str(size or self._size)} if table.size_parameter else {}
        match table.kind:
            case "page" | "offset" | "keyset":
                assert table.parameter
                sized[table.parameter] = str(self.position(cursor))
            case "cursor" if table.token and cursor is not None:
                assert table.parameter
                sized[table.parameter] = _part(cursor, "token")
            case "cursor" | "link" if cursor is not None:
                return _part(cursor, "at")
            case "none" if cursor is not None:
                raise _bad(cursor)
        return self._client.address("", {**parameters, **sized})

    def position(self, cursor: str | None) -> int:
        """The number of a page, of records before it, or the id that it follows."""
        if cursor is None:
            return self._start
        number = _part(cursor, _PREFIXES[self._table.kind]).partition(":")[0]
        if not (number.isascii() and number.isdigit() and len(number) < 19):  # noqa: PLR2004 - 64 bits
            raise _bad(cursor)
        return int(number)

    def onwards(self, received: Received, cursor: str | None) -> Onwards:
        """Raises StuckCursor for the same page again, and ProviderUnavailable where an answer does not say enough."""
        table, count = self._table, len(received.records)
        match table.kind:
            case "none":
                truncated = table.limit is not None and count >= table.limit
                return Onwards(None, last=not truncated, truncated=truncated)
            case "cursor" | "link":
                following = self._told(received)
                return Onwards(following, last=following is None)
            case "keyset":
                is_last = not count or bool(table.more and not received.body.flag(table.more))
                return Onwards(cursor if is_last else f"after:{received.highest}", is_last)
            case "page" | "offset":
                return self._by_number(received, cursor)

    def tells_all(self, received: Received) -> bool:
        """Whether this is sure to be everything that the provider has, once its pages are all read."""
        table = self._table
        if table.limit is None or table.kind == "none":
            return True
        return table.total is not None and received.body.count(table.total) <= table.limit

    def _by_number(self, received: Received, cursor: str | None) -> Onwards:
        table, count = self._table, len(received.records)
        check = _digest(received.records)
        if cursor is not None and count and cursor.rpartition(":")[2] == check:
            raise StuckCursor(
                f"the provider sends the same page again: does it know the parameter {table.parameter!r}"
                " (pagination.parameter)?"
            )
        after = self.position(cursor) + (1 if table.kind == "page" else count)
        read = _read_so_far(cursor) + count
        onwards = f"{table.kind}:{after}:{read}:{check}"
        if table.limit is not None and count and read >= table.limit and not self._fits(received, table.limit):
            return Onwards(onwards, last=False, truncated=True)
        return Onwards(onwards if count else cursor, last=self._is_last(received, read))

    def _fits(self, received: Received, limit: int) -> bool:
        return self._table.total is not None and received.body.count(self._table.total) <= limit

    def _is_last(self, received: Received, read: int) -> bool:
        if self._table.more:
            return not received.body.flag(self._table.more)
        if self._table.total:
            return read >= received.body.count(self._table.total)
        return not received.records

    def _told(self, received: Received) -> str | None:
        """The cursor that the provider itself tells, if there is a next page."""
        table = self._table
        if table.token:
            token = received.body.text(table.token)
            return f"token:{self._kept(token)}" if token else None
        link = received.body.text(table.next) if table.next else next_link(received.answer.headers.get("link"))
        return f"at:{self._client.follow(received.answer, link)}" if link else None

    def _kept(self, token: str) -> str:
        """A token becomes the job's cursor, which is kept and shown."""
        if len(token) > _LONGEST_TOKEN:
            raise ProviderRejected(f"the token of the next page is longer than {_LONGEST_TOKEN} characters")
        if self._client.hide(token) != token:
            raise ProviderRejected("the token of the next page has our key in it, which cannot be kept")
        return token


def _digest(records: Sequence[msgspec.Raw]) -> str:
    digest = hashlib.blake2s(digest_size=8)
    for record in records:
        digest.update(record)
    return digest.hexdigest()


def _read_so_far(cursor: str | None) -> int:
    if cursor is None:
        return 0
    match cursor.split(":"):
        case [_, _, read, _] if read.isascii() and read.isdigit():
            return int(read)
    raise _bad(cursor)


def _part(cursor: str, prefix: str) -> str:
    name, _, rest = cursor.partition(":")
    if name != prefix or not rest:
        raise _bad(cursor)
    return rest


def _bad(cursor: str) -> BadCursor:
    return BadCursor(
        f"{cursor[:80]!r} is not a cursor of this source as its file describes it now;"
        " import with --refresh to begin again"
    )
