"""A source for JSON APIs that its file describes: where records are, which field says what, how pages follow."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.adapters.sources.access import read_access
from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.http import HttpSource, ProviderAnswer, ProviderClient
from waypost.adapters.sources.json_api.body import Body
from waypost.adapters.sources.json_api.paging import Onwards, Paging, Received
from waypost.adapters.sources.json_api.question import JsonApiQuestion
from waypost.adapters.sources.json_api.tables import JsonApiTable, read
from waypost.adapters.sources.paging import ids_after, read_number, refuse_disorder
from waypost.adapters.sources.reading import read_record, read_roughly
from waypost.importing.base import budget_key, extent_of
from waypost.importing.cuts import Axis, IdRange
from waypost.importing.definitions import SourceContext
from waypost.importing.geography import FLOOR_DEPTH, cell_of, code_of
from waypost.importing.pages import PERIODS
from waypost.importing.source import Extent, Fetched, Page, PlanAxis, Reject, Remembered
from waypost.scaling.jobs.shard_keys import ShardKey

# The version of how records become places and pages become cursors; to be raised when that changes.
_MAPPING = 2


def make(definition: Mapping[str, Any], context: SourceContext) -> "JsonApiSource":
    table = read(definition)
    fields = FieldMap.parse(table.fields, {})
    if table.scope.since and not fields.has_times:
        raise ValueError("scope.since needs fields.updated_at, by which a window is cut at its end")
    return JsonApiSource(table, fields, context)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record as a place or as a reject; its id as a number, where pages follow ids and it has one."""

    item: Fetched | Reject
    number: int | None
    is_asked_for: bool


class JsonApiSource(HttpSource):
    def __init__(self, table: JsonApiTable, fields: FieldMap, context: SourceContext) -> None:
        access = read_access(table.auth, context.environ) if table.auth else None
        self.name = context.name
        self.licence = context.licence
        self.provider = table.url.partition("?")[0]
        self.plans = _plans(table)
        self._budget_key = budget_key(self.name, self.provider, access.value.reveal() if access else "")
        self._table = table
        self._fields = fields
        self._reading = _digest(table)
        self._client = ProviderClient(
            self.name,
            table.url,
            access,
            configured=f"url in the file of {self.name}",
            timeout=context.importing.timeout,
            max_answer=context.importing.max_answer,
        )
        self._paging = Paging(table.pagination, self._client, context.importing.page_size)
        self._params = {name: _parameter(value) for name, value in table.params.items()}
        self._forms = _forms(table)
        # Places in a box are numbered by where they are, so that a cell is a range; else by id, where pages follow ids.
        self._counts_ids = self._paging.reads_in_order and not table.scope.box
        self.cuts = _cuts(table, counts_ids=self._counts_ids)

    async def check(self) -> None:
        """Asks for one record, of a small part of the world if the provider wants to be told a part."""
        spot = cell_of(0.0, 0.0, FLOOR_DEPTH) if self._table.scope.box else None
        question = JsonApiQuestion("DE" if self._table.scope.country else None, spot)
        answer = await self._client.get_at(self._address(question, None, size=1))
        Body(answer.body, self._client.hide).records(self._table.records)

    def first_address(self, shard: ShardKey) -> str:
        """The first address asked for a shard, to show to people."""
        return self._client.shown(self._address(self._question(shard), None))

    def question(self, shard: ShardKey, cursor: str | None) -> str | None:
        """None for windows: they are over, and nobody asks for them again."""
        if "window" in shard.axes:
            return None
        return f"{self.name} {self._reading} {self._client.shown(self._address(self._question(shard), cursor))}"

    async def fetch_if_changed(self, shard: ShardKey, cursor: str | None, known: Remembered) -> Page:
        answer = await self._client.get_at(self._address(self._question(shard), cursor), etag=known.etag)
        if not answer.not_modified:
            return self._read(shard, cursor, answer)
        onwards = self._paging.onwards_again(known, cursor)
        return Page(
            (),
            (),
            onwards.cursor,
            last=onwards.last,
            advice=answer.advice,
            covers=known.covers,
            etag=known.etag,
            still=known.external_ids,
            moved=onwards.moved,
            certain=onwards.certain,
        )

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        return self._read(shard, cursor, await self._client.get_at(self._address(self._question(shard), cursor)))

    def _read(self, shard: ShardKey, cursor: str | None, answer: ProviderAnswer) -> Page:
        question = self._question(shard)
        after = self._after(question, cursor)
        body = Body(answer.body, self._client.hide)
        records = body.records(self._table.records)
        seen = [self._see(raw, question) for raw in records]
        if self._paging.reads_in_order:
            refuse_disorder((each.number for each in seen if each.number is not None), after)
        within = [each for each in seen if not (self._counts_ids and question.ids.is_past(each.number or 0))]
        highest = max([after, *(each.number or 0 for each in within)])
        received = Received(answer, body, records, highest)
        onwards = self._paging.onwards(received, cursor)
        is_complete = len(within) < len(seen) or (self._counts_ids and question.ids.is_past(highest + 1))
        kept = [each.item for each in within if each.is_asked_for]
        page = Page(
            tuple(item for item in kept if isinstance(item, Fetched)),
            tuple(item for item in kept if isinstance(item, Reject)),
            onwards.cursor,
            last=onwards.last or is_complete,
            advice=answer.advice,
            received=len(records),
            truncated=onwards.truncated,
            etag=self._client.etag(answer),
            # A window removes nothing, whatever it misses.
            moved=None if question.window else onwards.moved,
            certain=onwards.certain,
        )
        covers = self._covers(question, received, onwards, cursor, is_complete=is_complete)
        return msgspec.structs.replace(page, covers=covers)

    def extent(self, shard: ShardKey) -> Extent:
        """Boxes of any size lie in one area, by their numbers, so that a small one finds what a large one brought."""
        question = self._question(shard)
        return Extent(self.name, "", _codes(question)) if question.cell else extent_of(shard)

    def rest(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        if page.truncated or not self._counts_ids or page.cursor is None:
            return super().rest(shard, page)
        return ids_after(shard, self._question(shard).ids, self._paging.position(page.cursor))

    def _question(self, shard: ShardKey) -> JsonApiQuestion:
        return JsonApiQuestion.read(shard, self._forms, self.name)

    def _address(self, question: JsonApiQuestion, cursor: str | None, size: int | None = None) -> str:
        parameters = self._params | question.parameters(self._table.scope)
        start = f"after:{question.ids.start - 1}" if cursor is None and question.ids.start else cursor
        return self._paging.address(parameters, start, size=size)

    def _after(self, question: JsonApiQuestion, cursor: str | None) -> int:
        """The id that a page follows; 0 where pages do not follow ids."""
        if not self._paging.reads_in_order:
            return 0
        return max(self._paging.position(cursor), question.ids.start - 1)

    def _see(self, raw: msgspec.Raw, question: JsonApiQuestion) -> _Seen:
        external_id, number = None, None
        try:
            record = read_record(raw)
            if not isinstance(record, dict):
                raise ValueError("it is not an object")  # noqa: TRY004, TRY301 - all that is wrong is a ValueError
            external_id = self._fields.external_id(record, self.name)
            if self._paging.reads_in_order:
                number = read_number(external_id.removeprefix(f"{self.name}:"))
            place = self._fields.to_place(record, self.name)
        except ValueError as error:
            if external_id is None:
                external_id, number = self._identify(raw)
            return _Seen(Reject(bytes(raw), self._client.hide(str(error)), external_id), number, is_asked_for=True)
        is_asked_for = question.holds(place)
        if question.country:
            place = msgspec.structs.replace(place, country=question.country)
        counted = code_of(place.lat, place.lon) if question.cell else number if self._counts_ids else 0
        return _Seen(Fetched(place, bytes(raw), counted or 0), number, is_asked_for)

    def _identify(self, raw: msgspec.Raw) -> tuple[str | None, int | None]:
        """Returns the id of a record that cannot be read, so that it is not taken for deleted nor asked for again."""
        try:
            record = read_roughly(raw)
            if not isinstance(record, dict):
                return None, None
            external_id = self._fields.external_id(record, self.name)
            number = read_number(external_id.removeprefix(f"{self.name}:")) if self._paging.reads_in_order else None
        except ValueError:
            return None, None
        return (None, None) if "\ufffd" in external_id else (external_id, number)

    def _covers(
        self,
        question: JsonApiQuestion,
        received: Received,
        onwards: Onwards,
        cursor: str | None,
        *,
        is_complete: bool,
    ) -> IdRange | None:
        """The numbers for which everything is here: those between the ids of a page, where pages follow ids.

        Otherwise all of them, with the first page: what later pages bring is struck out again.
        """
        if question.window or onwards.truncated:
            return None
        if self._counts_ids:
            is_end = is_complete or onwards.last
            return IdRange(self._after(question, cursor) + 1, question.ids.end if is_end else received.highest + 1)
        if cursor is not None or not self._paging.tells_all(received):
            return None
        return _codes(question)


def _codes(question: JsonApiQuestion) -> IdRange:
    return IdRange(question.cell.codes.start, question.cell.codes.stop) if question.cell else IdRange()


def _digest(table: JsonApiTable) -> str:
    """A digest of how answers become places: one that was read by another file or release has to be read again."""
    text = msgspec.json.encode((_MAPPING, table), order="deterministic")
    return hashlib.blake2s(text, digest_size=8).hexdigest()


def _plans(table: JsonApiTable) -> frozenset[PlanAxis]:
    area: PlanAxis = "country" if table.scope.country else "box" if table.scope.box else "all"
    return frozenset({area, "window"}) if table.scope.since else frozenset({area})


def _cuts(table: JsonApiTable, *, counts_ids: bool) -> frozenset[Axis]:
    """Half a window asks a different question only if the provider is told its end."""
    possible: dict[Axis, bool] = {
        "box": table.scope.box is not None,
        "window": table.scope.until is not None,
        "ids": counts_ids,
    }
    return frozenset(axis for axis, is_possible in possible.items() if is_possible)


def _forms(table: JsonApiTable) -> frozenset[tuple[str, ...]]:
    area = ("country",) if table.scope.country else ("box",) if table.scope.box else ()
    periods = [period for period in PERIODS if period != "window" or table.scope.since]
    ends = ((), ("ids",)) if table.pagination.kind == "keyset" and not table.scope.box else ((),)
    return frozenset((*area, period, *end) for period in periods for end in ends)


def _parameter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
