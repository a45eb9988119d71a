"""The OCPI source: locations page by page, from where the provider's versions lead, or from their address."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.adapters.sources.http import HttpSource, ProviderAnswer, ProviderClient, ProviderRejected, asking
from waypost.adapters.sources.ocpi.cursor import Offset, PageLink, bad_cursor, before_page, parse
from waypost.adapters.sources.ocpi.envelope import data_of, read_data
from waypost.adapters.sources.ocpi.records import Identity, Location
from waypost.adapters.sources.ocpi.tables import OcpiTable, access_of, read
from waypost.adapters.sources.paging import RecordTally, count_on, digest_of, how_it_moved, is_certain, next_link
from waypost.adapters.sources.reading import decode, decode_part, read_array
from waypost.importing.base import budget_key
from waypost.importing.cuts import Axis, IdRange
from waypost.importing.definitions import SourceContext
from waypost.importing.pages import PERIODS
from waypost.importing.source import Fetched, Page, PlanAxis, Reject, StuckCursor
from waypost.importing.windows import Window
from waypost.kernel.clock import to_text
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

_VERSIONS = "versions:"


class _Version(msgspec.Struct):
    version: str
    url: str


class _Endpoint(msgspec.Struct):
    identifier: str
    url: str
    role: str | None = None


class _Details(msgspec.Struct):
    endpoints: list[_Endpoint]


_versions = msgspec.json.Decoder(list[_Version])
_details = msgspec.json.Decoder(_Details)
_location = msgspec.json.Decoder(Location)
_identity = msgspec.json.Decoder(Identity)


def make(definition: Mapping[str, Any], context: SourceContext) -> "OcpiSource":
    return OcpiSource(read(definition), context)


class OcpiSource(HttpSource):
    plans: frozenset[PlanAxis] = frozenset({"all", "window"})
    # The provider takes both ends of a window, so half of one is another question.
    cuts: frozenset[Axis] = frozenset({"window"})

    def __init__(self, table: OcpiTable, context: SourceContext) -> None:
        access = access_of(table, context.environ)
        self.name = context.name
        self.licence = context.licence
        self.provider = table.address.partition("?")[0]
        self._budget_key = budget_key(self.name, self.provider, access.value.reveal())
        self._table = table
        self._limit = table.limit or context.importing.page_size
        self._client = ProviderClient(
            self.name,
            table.address,
            access,
            configured=f"the address in the file of {self.name}",
            timeout=context.importing.timeout,
            max_answer=context.importing.max_answer,
        )
        # Where the locations are, from the host on; found through the versions, if it is not configured.
        self._locations = self._client.address() if table.url else None

    async def check(self) -> None:
        params = {"offset": "0", "limit": "1"} if self._table.url else {}
        data_of((await self._client.get("", params)).body, self._client.hide)

    def first_address(self, shard: ShardKey) -> str:
        """The first address asked for a shard, to show to people."""
        window, first = _window(shard, self.name), self._first()
        return self._client.shown(self._client.address() if first == _VERSIONS else self._address(first, window))

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        window = _window(shard, self.name)
        # Everything is read in one pass: what is not in it is gone.
        covers = IdRange() if cursor is None and window is None else None
        page = await self._fetch(cursor or self._first(), window)
        return msgspec.structs.replace(page, covers=covers)

    async def _fetch(self, cursor: str, window: Window | None) -> Page:
        kind, _, rest = cursor.partition(":")
        match kind:
            case "versions":
                return await self._find_version()
            case "version":
                return await self._find_locations(rest)
            case "locations":
                self._locations = rest
                return await self._bring(self._first(), window)
            case "offset" | "at":
                return await self._bring(cursor, window)
        raise bad_cursor(cursor)

    def _first(self) -> str:
        return str(Offset(RecordTally(0, None), "", self._locations)) if self._locations else _VERSIONS

    async def _find_version(self) -> Page:
        answer = await self._client.get()
        found = read_data(data_of(answer.body, self._client.hide), _versions, "list of versions")
        urls = {each.version: each.url for each in found}
        if self._table.version not in urls:
            known = self._client.hide(", ".join(urls)[:200])
            raise ProviderRejected(f"the provider has no version {self._table.version}; it has {known or 'none'}")
        return _on_the_way("version", self._client.follow(answer, urls[self._table.version]), answer)

    async def _find_locations(self, address: str) -> Page:
        answer = await self._client.get_at(address)
        found = read_data(data_of(answer.body, self._client.hide), _details, "description of a version")
        for each in found.endpoints:
            # The sender of locations is the one that has them; before 2.2 there were no roles.
            if each.identifier == "locations" and each.role in {None, "SENDER"}:
                return _on_the_way("locations", self._client.follow(answer, each.url), answer)
        raise ProviderRejected(f"the provider has no locations in version {self._table.version}")

    async def _bring(self, cursor: str, window: Window | None) -> Page:
        position = parse(cursor)
        answer = await self._client.get_at(self._address(cursor, window))
        records = read_array(data_of(answer.body, self._client.hide))
        items = [item for raw in records if (item := self._see(raw, window))]
        so_far, total = before_page(position), _total(answer)
        tally = count_on(so_far, len(records), total)
        following = self._following(answer, records, position, tally)
        return Page(
            tuple(item for item in items if isinstance(item, Fetched)),
            tuple(item for item in items if isinstance(item, Reject)),
            following,
            last=following is None,
            advice=answer.advice,
            received=len(records),
            # A window removes nothing, whatever it misses.
            moved=None if window else how_it_moved(so_far, total),
            certain=is_certain(so_far, tally),
        )

    def _address(self, cursor: str, window: Window | None) -> str:
        position = parse(cursor)
        if isinstance(position, PageLink):
            return position.address
        params = {"offset": str(position.tally.read), "limit": str(self._limit)}
        if window:
            params |= {"date_from": to_text(window.asks_from), "date_to": to_text(window.end)}
        return asking(position.locations, params)

    def _following(
        self, answer: ProviderAnswer, records: Sequence[msgspec.Raw], position: PageLink | Offset, tally: RecordTally
    ) -> str | None:
        """Goes by the provider's link; without one, by its count; and with neither, until there is nothing more."""
        link = next_link(answer.headers.get("link"))
        if link:
            return str(PageLink(tally, self._client.follow(answer, link)))
        if isinstance(position, PageLink) or not records:
            return None
        check = digest_of(records)
        if check == position.check:
            raise StuckCursor("the provider sends the same page again: it seems to ignore the offset")
        total = _total(answer)
        is_last = total is not None and tally.read >= total
        return None if is_last else str(Offset(tally, check, position.locations))

    def _see(self, raw: msgspec.Raw, window: Window | None) -> Fetched | Reject | None:
        """Returns None for what is not for us: another window's, or what may not be published."""
        external_id = None
        try:
            external_id = decode_part(_identity, raw).external_id(self.name, self._table.version)
            location = decode(_location, raw)
            place = location.to_place(self.name, external_id)
        except ValueError as error:
            return Reject(bytes(raw), self._client.hide(str(error)), external_id)
        changed = place.provider_updated_at
        is_asked_for = window is None or changed is None or window.reaches(changed)
        return Fetched(place, bytes(raw)) if is_asked_for and location.publish else None


def _on_the_way(kind: str, address: str, answer: ProviderAnswer) -> Page:
    return Page((), (), f"{kind}:{address}", last=False, advice=answer.advice, received=1)


def _total(answer: ProviderAnswer) -> int | None:
    text = answer.headers.get("x-total-count", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None  # noqa: PLR2004 - 64 bits


def _window(shard: ShardKey, source: str) -> Window | None:
    """Raises BadShardKey for what this source cannot ask."""
    if shard.source != source or len(shard.axes) != 1 or shard.axes[0] not in PERIODS:
        raise BadShardKey(f"{shard} is not a shard of the source {source}, which has one of {', '.join(PERIODS)}")
    return Window.parse(shard["window"]) if "window" in shard.axes else None
