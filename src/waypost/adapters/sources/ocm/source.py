"""The Open Charge Map source: a shard a country, pages by id keyset, because nothing else there is a total order."""

import hashlib
from collections.abc import Sequence
from datetime import date

import msgspec

from waypost.adapters.sources.ocm.client import ProviderClient
from waypost.adapters.sources.ocm.records import OcmRecord
from waypost.adapters.sources.ocm.settings import OcmSettings
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import Fetched, OutsideScope, Page, ProviderUnavailable, Reject, Scope
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.shards import ShardKey

_CURSOR = "after:"
_records = msgspec.json.Decoder(list[msgspec.Raw])
_record = msgspec.json.Decoder(OcmRecord)


class BadCursor(TerminalError):
    """A job's cursor was not written by this release's source."""

    slug = "bad-cursor"


class OcmSource:
    name = "ocm"

    def __init__(self, settings: OcmSettings, importing: ImportingSettings) -> None:
        self.provider = settings.url
        digest = hashlib.blake2s(f"{settings.url}\n{settings.key.reveal()}".encode(), digest_size=8).hexdigest()
        self.budget_key = f"ocm:{digest}"
        self._page_size = importing.page_size
        self._client = ProviderClient(
            self.name, settings.url, settings.key, timeout=importing.timeout, max_answer=importing.max_answer
        )

    async def close(self) -> None:
        await self._client.close()

    def plan(self, scope: Scope, day: date) -> list[ShardKey]:
        return [ShardKey(self.name, (("country", code), ("full", day.isoformat()))) for code in scope.countries]

    async def check(self) -> None:
        _decode(await self._client.get("/v3/poi", {"client": "waypost", "maxresults": "1"}))

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        after = _read_cursor(cursor)
        body = await self._client.get(
            "/v3/poi",
            {
                "client": "waypost",
                "countrycode": shard["country"],
                "sortby": "id_asc",
                "greaterthanid": str(after),
                "maxresults": str(self._page_size),
                "verbose": "false",
            },
        )
        records = _decode(body)
        if not records:
            # A short page is no sign of the end: some servers send less than was asked for. Only nothing is.
            return Page((), (), cursor, last=True)
        return _to_page(records, shard["country"], after)


def _decode(body: bytes) -> list[msgspec.Raw]:
    try:
        return _records.decode(body)
    except msgspec.DecodeError as error:
        raise ProviderUnavailable(f"the provider's answer is not a JSON array: {error}") from error


def _to_page(records: Sequence[msgspec.Raw], country: str, after: int) -> Page:
    fetched: list[Fetched] = []
    rejects: list[Reject] = []
    highest = after
    for raw in records:
        try:
            record = _record.decode(raw)
            place = record.to_place()
        except (msgspec.DecodeError, ValueError) as error:
            rejects.append(Reject(bytes(raw), str(error)))
            highest = max(highest, _id_of(raw))
            continue
        if record.country not in {None, country}:
            raise OutsideScope(f"asked for {country}, the provider sent {place.external_id} in {record.country}")
        if record.id <= after:
            raise OutsideScope(f"asked for ids above {after}, the provider sent {record.id}")
        fetched.append(Fetched(msgspec.structs.replace(place, country=country), bytes(raw)))
        highest = max(highest, record.id)
    return Page(tuple(fetched), tuple(rejects), f"{_CURSOR}{highest}", last=False)


class _Identified(msgspec.Struct, rename={"id": "ID"}):
    id: int = 0


def _id_of(raw: msgspec.Raw) -> int:
    """The id of a record that is otherwise not understood, so that the page after it can be asked for."""
    try:
        return msgspec.json.decode(raw, type=_Identified).id
    except msgspec.DecodeError:
        return 0


def _read_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    text = cursor.removeprefix(_CURSOR)
    if not cursor.startswith(_CURSOR) or not text.isdigit():
        raise BadCursor(f"{cursor!r} is not a cursor of this release's ocm source")
    return int(text)
