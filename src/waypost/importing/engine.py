"""The import engine: from a leased job, page by page, to a finished shard."""

from waypost.importing.pages import PageStore
from waypost.importing.source import Page, ProviderRefused, Source
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.job import Held, LeaseLost
from waypost.scaling.jobs.shards import ShardKey
from waypost.scaling.ratelimit.budget import Budget
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import PLACES_WRITTEN

log = get_logger("importing")


class StuckCursor(TerminalError):
    """The provider's next page starts where this one did, so that the shard would never end."""

    slug = "stuck-cursor"


class Engine:
    """Handles import jobs for one source. Its `work` is what a worker calls with each job it holds."""

    def __init__(self, source: Source, pages: PageStore, budget: Budget, *, max_wait: float) -> None:
        self._source = source
        self._pages = pages
        self._budget = budget
        self._max_wait = max_wait

    async def work(self, held: Held) -> None:
        shard = ShardKey.parse(held.lease.shard)
        lease = await self._pages.begin(held.lease)
        if lease is None:
            return
        held.lease = lease
        while not await self._bring_a_page(held, shard):
            pass
        log.debug("shard done", shard=str(shard))

    async def _bring_a_page(self, held: Held, shard: ShardKey) -> bool:
        """Ask within the budget, and commit what came; true when it was the shard's last."""
        await self._budget.acquire(self._source.budget_key, max_wait=self._max_wait)
        if monotonic() >= held.deadline:
            raise LeaseLost(f"the lease on {shard} ran out while waiting for its turn")
        requested_at = await self._pages.now()
        page = await self._ask(held, shard)
        committed = await self._pages.commit(held.lease, page, requested_at=requested_at, counted=held.counted)
        held.progressed(page.cursor)
        held.ended = committed.ended
        for change, count in committed.changes.items():
            PLACES_WRITTEN.labels(change).inc(count)
        return page.last

    async def _ask(self, held: Held, shard: ShardKey) -> Page:
        held.counted["requests"] += 1
        try:
            page = await self._source.fetch(shard, held.lease.cursor)
        except ProviderRefused as refusal:
            held.counted["refusals"] += 1
            refusal.retry_in = await self._budget.penalise(self._source.budget_key, refusal.retry_after)
            raise
        self._budget.succeeded(self._source.budget_key)
        if page.advice:
            await self._budget.advise(self._source.budget_key, page.advice)
        if not page.last and page.cursor == held.lease.cursor:
            raise StuckCursor(f"{shard}: the page after {held.lease.cursor} leads to itself")
        return page
