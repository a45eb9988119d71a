"""Works on one import in this process."""

import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from waypost.kernel.errors import Forbidden
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.worker import Handler, Worker


class LoneWorker:
    """`open_jobs` opens the same job store again, for the thread that renews leases; `owner` is the holder's name."""

    def __init__(
        self,
        import_id: str,
        handler: Handler,
        jobs: JobStore,
        open_jobs: Callable[[], AbstractAsyncContextManager[JobStore]],
        *,
        owner: str,
        settings: JobsSettings,
    ) -> None:
        self._import_id = import_id
        self._renewer = Renewer(open_jobs, settings.lease)
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._worker = Worker(jobs, self._renewer, handler, owner=owner, settings=settings, rng=rng)

    def stop(self) -> None:
        self._worker.stop()

    async def work(self) -> None:
        with self._renewer:
            try:
                await self._worker.run_until_done(self._import_id)
            except Forbidden as refusal:
                # The shard that met it is dead; the import goes on with the others by itself.
                refusal.next_step = f"{refusal.next_step}, after: waypost job revive --all"
                raise
