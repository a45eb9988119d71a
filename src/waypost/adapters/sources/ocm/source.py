"""The Open Charge Map source: shards by country, pages by id keyset, because nothing else there is a total order."""

import hashlib
from datetime import date

from waypost.adapters.sources.ocm.answer import decode, sift
from waypost.adapters.sources.ocm.client import ProviderClient
from waypost.adapters.sources.ocm.question import Question
from waypost.adapters.sources.ocm.settings import OcmSettings
from waypost.importing.cuts import Axis
from waypost.importing.plan import shards_of
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import Page, PlanAxis, Scope
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.shards import ShardKey

_CURSOR = "after:"


class BadCursor(TerminalError):
    """A job's cursor was not written by this release's source."""

    slug = "bad-cursor"


class OcmSource:
    name = "ocm"
    # Not by box: some records of a country lie at (0, 0), and its boxes would miss them.
    plans: frozenset[PlanAxis] = frozenset({"country", "window"})
    # Not by window either: the provider has no upper bound for times, so that half a window asks the same question.
    cuts: frozenset[Axis] = frozenset({"ids"})

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

    def plan(self, scope: Scope, day: date, import_id: str | None = None) -> list[ShardKey]:
        return shards_of(scope, day, import_id, source=self.name, plans=self.plans)

    async def check(self) -> None:
        decode((await self._client.get("/v3/poi", {"client": "waypost", "maxresults": "1"})).body)

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        question = Question.read(shard)
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
        records = decode(received.body)
        if not records:
            # A short page is no sign of the end: some servers send less than was asked for. Only nothing is.
            return Page((), (), cursor, last=True, advice=received.advice)
        answer = sift(records, question, after)
        cursor = f"{_CURSOR}{answer.highest}"
        return Page(answer.fetched, answer.rejects, cursor, last=answer.is_complete, advice=received.advice)


def _read_cursor(cursor: str) -> int:
    text = cursor.removeprefix(_CURSOR)
    if not cursor.startswith(_CURSOR) or not (text.isascii() and text.isdigit()):
        raise BadCursor(f"{cursor!r} is not a cursor of this release's ocm source")
    return int(text)
