"""Procrastinate: as many jobs at once as pays; it claims and finishes them one by one."""

from collections.abc import Callable

from procrastinate import App, PsycopgConnector

_CONCURRENCY = 20


class Procrastinate:
    def __init__(self, url: str) -> None:
        self._app = App(connector=PsycopgConnector(conninfo=url, min_size=4, max_size=_CONCURRENCY))
        self._on_start: Callable[[], None] = lambda: None

        async def noop() -> None:
            self._on_start()

        self._noop = self._app.task(noop, name="noop")

    async def open(self) -> None:
        await self._app.open_async()

    async def install(self) -> None:
        await self.open()
        await self._app.schema_manager.apply_schema_async()

    async def enqueue(self, count: int) -> None:
        if count == 1:
            await self._noop.defer_async()
        else:
            await self._noop.batch_defer_async(*[{} for _ in range(count)])

    async def is_finished(self) -> bool:
        found = await self._app.connector.execute_query_one_async(
            "select exists (select from procrastinate_jobs where status in ('todo', 'doing')) as found"
        )
        return not found["found"]

    async def work(self, on_start: Callable[[], None]) -> None:
        self._on_start = on_start
        await self._app.run_worker_async(concurrency=_CONCURRENCY, install_signal_handlers=False)


make = Procrastinate
