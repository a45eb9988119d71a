"""The Open Charge Map source: shards by country, pages by id keyset, because nothing else there is a total order."""

from collections.abc import Sequence

from waypost.adapters.sources.access import Access
from waypost.adapters.sources.http import HttpSource, ProviderClient
from waypost.adapters.sources.ocm.answer import sift
from waypost.adapters.sources.ocm.question import OcmQuestion
from waypost.adapters.sources.paging import ids_after
from waypost.adapters.sources.reading import read_array
from waypost.importing.base import budget_key
from waypost.importing.cuts import Axis, IdRange
from waypost.importing.settings import PUBLIC_URL, ImportingSettings, OcmSettings
from waypost.importing.source import BadCursor, Page, PlanAxis
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import ShardKey

_CURSOR = "after:"


_LICENCE = Licence(
    "CC BY 4.0 and the licences of its data providers",
    "© Open Charge Map contributors",
    "https://openchargemap.org/site/about/terms",
)


class OcmSource(HttpSource):
    name = "ocm"
    # Not by box: some records of a country lie at (0, 0), and its boxes would miss them.
    plans: frozenset[PlanAxis] = frozenset({"country", "window"})
    # Not by window either: the provider has no upper bound for times, so half a window asks the same question.
    cuts: frozenset[Axis] = frozenset({"ids"})

    def __init__(self, settings: OcmSettings, importing: ImportingSettings) -> None:
        self.provider = settings.url
        self.licence = _licence(settings)
        self._budget_key = budget_key(self.name, settings.url, settings.key.reveal())
        self._page_size = importing.page_size
        self._client = ProviderClient(
            self.name,
            settings.url,
            Access("X-API-Key", settings.key, "WAYPOST_OCM_KEY"),
            configured="WAYPOST_OCM_URL",
            timeout=importing.timeout,
            max_answer=importing.max_answer,
        )

    async def check(self) -> None:
        read_array((await self._client.get("/v3/poi", {"client": "waypost", "maxresults": "1"})).body)

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        question = OcmQuestion.read(shard)
        after = question.before_first if cursor is None else _read_cursor(cursor)
        received = await self._client.get(
            "/v3/poi",
            {
                "client": "waypost",
                **question.parameters(),
                "sortby": "id_asc",
                "greaterthanid": str(after),
                "maxresults": str(self._page_size),
                "verbose": "false",
            },
        )
        records = read_array(received.body)
        if not records:
            # A short page is not a sign of the end: some servers send less than was asked for. Only an empty one is.
            covers = None if question.window else IdRange(after + 1, question.ids.end)
            return Page((), (), cursor, last=True, advice=received.advice, covers=covers)
        answer = sift(records, question, after)
        return Page(
            answer.fetched,
            answer.rejects,
            f"{_CURSOR}{answer.highest}",
            last=answer.is_complete,
            advice=received.advice,
            received=len(records),
            covers=answer.covers,
        )

    def rest(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        if page.cursor is None:
            return ()
        return ids_after(shard, OcmQuestion.read(shard).ids, _read_cursor(page.cursor))


def _read_cursor(cursor: str) -> int:
    text = cursor.removeprefix(_CURSOR)
    if not cursor.startswith(_CURSOR) or not (text.isascii() and text.isdigit()):
        raise BadCursor(f"{cursor!r} is not a cursor of this release's ocm source")
    return int(text)


def _licence(settings: OcmSettings) -> Licence:
    """Only Open Charge Map's own address is known to serve its contributors' work."""
    if settings.attribution:
        return Licence("", settings.attribution)
    return _LICENCE if settings.url == PUBLIC_URL else Licence("", f"Places from {settings.url}")
