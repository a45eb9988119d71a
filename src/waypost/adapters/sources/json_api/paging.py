"""How one page of a JSON API leads to the next: by number, by offset, by a token, by a link, or after an id.

A cursor says how it goes on: `token:…`, `at:/path?…`, `after:17`, or by number, with what came before.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from waypost.adapters.sources.http import ProviderAnswer, ProviderClient, ProviderRejected
from waypost.adapters.sources.json_api.body import Body
from waypost.adapters.sources.json_api.tables import PaginationTable
from waypost.adapters.sources.paging import RecordTally, count_on, digest_of, how_it_moved, is_certain, next_link
from waypost.importing.source import BadCursor, Remembered, StuckCursor

_LONGEST_TOKEN = 8192
_STARTS = {"page": 1, "offset": 0, "keyset": 0}
_FORM = re.compile(r"(page|offset):(\d{1,18}):(\d{1,18}):(\d{1,18}):(\d{1,18})?:([0-9a-f]+)", re.ASCII)


class Numbered(msgspec.Struct, frozen=True):
    """A cursor of pages that have numbers: `page:3:<read>:<count>:<total>:<check>`, or `offset:200:…`.

    `tally` is how many records came so far, and how many there are, if the provider says; `count` how many of them came
    with the page before. `check` is a digest of that page: a provider that ignores the parameter sends it for ever.
    """

    kind: str
    position: int
    count: int
    tally: RecordTally
    check: str

    def __str__(self) -> str:
        total = "" if self.tally.total is None else self.tally.total
        return f"{self.kind}:{self.position}:{self.tally.read}:{self.count}:{total}:{self.check}"

    @classmethod
    def parse(cls, cursor: str) -> "Numbered | None":
        match = _FORM.fullmatch(cursor)
        if not match:
            return None
        tally = RecordTally(int(match[3]), int(match[5]) if match[5] else None)
        return cls(match[1], int(match[2]), int(match[4]), tally, match[6])


@dataclass(frozen=True, slots=True)
class Received:
    """One answer: its records, and the highest id among them, where pages follow ids."""

    answer: ProviderAnswer
    body: Body
    records: Sequence[msgspec.Raw]
    highest: int = 0


@dataclass(frozen=True, slots=True)
class Onwards:
    """Where the next page starts; whether there is none; and whether there is one that the provider will not send.

    `moved` and `certain` are those of the page.
    """

    cursor: str | None
    last: bool
    truncated: bool = False
    moved: str | None = None
    certain: bool = True


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
        if self._table.kind != "keyset":
            return self._numbered(cursor).position
        number = _part(cursor, "after")
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
                return Onwards(following, last=following is None, certain=cursor is None)
            case "keyset":
                is_last = not count or bool(table.more and not received.body.flag(table.more))
                return Onwards(cursor if is_last else f"after:{received.highest}", is_last)
            case "page" | "offset":
                return self._by_number(received, cursor)

    def onwards_again(self, known: Remembered, cursor: str | None) -> Onwards:
        """Like `onwards`, for an answer that is as remembered; what came before it in this pass may differ."""
        if self._table.kind in {"cursor", "link"}:
            return Onwards(known.cursor, known.last, certain=cursor is None)
        if self._table.kind not in {"page", "offset"} or known.cursor is None:
            return Onwards(known.cursor, known.last)
        before = self._numbered(cursor) if cursor else None
        then = self._numbered(known.cursor)
        if before and before.position == then.position:
            # It was empty, and led nowhere.
            return Onwards(cursor, known.last, certain=is_certain(before.tally, before.tally))
        tally = count_on(before.tally if before else None, then.count, then.tally.total)
        following = msgspec.structs.replace(then, tally=tally)
        return _judged(before, following, then.tally.total, last=known.last, cursor=str(following))

    def tells_all(self, received: Received) -> bool:
        """Whether this is sure to be everything that the provider has, once its pages are all read."""
        table = self._table
        if table.limit is None or table.kind == "none":
            return True
        return table.total is not None and received.body.count(table.total) <= table.limit

    def _by_number(self, received: Received, cursor: str | None) -> Onwards:
        table, count = self._table, len(received.records)
        before, check = self._numbered(cursor) if cursor else None, digest_of(received.records)
        if before and count and before.check == check:
            raise StuckCursor(
                f"the provider sends the same page again: does it know the parameter {table.parameter!r}"
                " (pagination.parameter)?"
            )
        total = received.body.count(table.total) if table.total else None
        tally = count_on(before.tally if before else None, count, total)
        position = self.position(cursor) + (1 if table.kind == "page" else count)
        following = Numbered(table.kind, position, count, tally, check)
        is_hidden = table.limit is not None and tally.read >= table.limit and (total is None or total > table.limit)
        if count and is_hidden:
            return Onwards(str(following), last=False, truncated=True)
        last = self._is_last(received, tally.read, total)
        return _judged(before, following, total, last=last, cursor=str(following) if count else cursor)

    def _is_last(self, received: Received, read: int, total: int | None) -> bool:
        if self._table.more:
            return not received.body.flag(self._table.more)
        return not received.records if total is None else read >= total

    def _numbered(self, cursor: str) -> Numbered:
        numbered = Numbered.parse(cursor)
        if numbered is None or numbered.kind != self._table.kind:
            raise _bad(cursor)
        return numbered

    def _told(self, received: Received) -> str | None:
        """The cursor that the provider itself tells, if there is a next page."""
        table = self._table
        if table.token:
            token = received.body.text(table.token)
            return f"token:{self._kept(token)}" if token else None
        link = received.body.text(table.next) if table.next else next_link(received.answer.headers.get("link"))
        return f"at:{self._client.follow(received.answer, link)}" if link else None

    def _kept(self, token: str) -> str:
        """Returns a token that may become the job's cursor, which is kept and shown."""
        if len(token) > _LONGEST_TOKEN:
            raise ProviderRejected(f"the token of the next page is longer than {_LONGEST_TOKEN} characters")
        if self._client.hide(token) != token:
            raise ProviderRejected("the token of the next page has our key in it, which cannot be kept")
        return token


def _judged(
    before: Numbered | None, following: Numbered, total: int | None, *, last: bool, cursor: str | None
) -> Onwards:
    so_far = before.tally if before else None
    return Onwards(cursor, last, moved=how_it_moved(so_far, total), certain=is_certain(so_far, following.tally))


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
