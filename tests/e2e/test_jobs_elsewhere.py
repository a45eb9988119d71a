"""Jobs in a store of their own, chosen by URL, while places stay in SQLite: the same import, the same guarantees."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from redis.asyncio import Redis

from support.job_store_mongodb import clean_url
from support.job_store_postgres import clean_database
from support.processes import Processes, eventually
from support.servers import redis

Address = Callable[[], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def own_redis_database(number: int = 7) -> AsyncIterator[str]:
    """One of the server's sixteen databases, which tests that run beside one another must not share."""
    url = f"{redis.address()}/{number}"
    client = Redis.from_url(url)
    try:
        yield url
    finally:
        await client.flushdb()
        await client.aclose()


def not_migrated() -> AbstractAsyncContextManager[str]:
    return clean_database(migrated=False)


@pytest.mark.parametrize("address", [not_migrated, clean_url, own_redis_database], ids=["postgres", "mongodb", "redis"])
def test_an_import_with_its_jobs_elsewhere_ends_like_any_other(processes: Processes, address: Address) -> None:
    async def with_store() -> None:
        async with address() as url:
            await asyncio.to_thread(walk, processes, url)

    asyncio.run(with_store())


def walk(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "600")
    env = {
        "WAYPOST_JOBS": url,
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "100/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "20",
    }
    if not url.startswith("redis"):
        refused = processes.run("import", "run", "--country", "DE,FR", env=env)
        assert refused.returncode == 1
        assert "waypost db migrate" in refused.stderr
    assert processes.run("db", "migrate", env=env).returncode == 0

    report = processes.json("import", "run", "--country", "DE,FR", env=env)
    assert report["shards"] == {"done": 2}
    assert report["added"] > 50
    again = processes.json("import", "run", "--country", "DE,FR", env=env)
    assert (again["requests"], again["added"]) == (0, 0)
    assert {job["status"] for job in processes.json("job", "list", env=env)} == {"done"}
    assert processes.json("snapshot", "build", env=env)["count"] == report["added"]


def test_a_flushed_redis_loses_jobs_but_never_makes_an_old_fence_count(processes: Processes) -> None:
    async def with_store() -> None:
        async with own_redis_database(8) as url:
            await asyncio.to_thread(walk_through_a_flush, processes, url)

    asyncio.run(with_store())


def flush(url: str) -> None:
    async def flush_all() -> None:
        client = Redis.from_url(url)
        await client.flushdb()
        await client.aclose()

    asyncio.run(flush_all())


def walk_through_a_flush(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "300")
    env = {"WAYPOST_JOBS": url, "WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    first = processes.json("import", "run", "--country", "DE,FR", env=env)
    fences = [job["fence"] for job in processes.json("job", "list", env=env)]

    flush(url)
    assert processes.json("job", "list", env=env) == []
    # The place store still knows what is done, so that nothing is asked for again.
    again = processes.json("import", "run", "--country", "DE,FR", env=env)
    assert (again["shards"], again["requests"], again["added"]) == ({"done": 2}, 0, 0)
    assert min(job["fence"] for job in processes.json("job", "list", env=env)) > max(fences)
    assert processes.json("snapshot", "build", env=env)["count"] == first["added"]


HOURLY = '[schedule.hourly]\nwhat = "windows"\ncountry = "DE,FR"\nevery = "1h"\n'


def test_roles_enqueue_again_what_a_flushed_redis_has_lost(processes: Processes) -> None:
    async def with_store() -> None:
        async with own_redis_database(9) as url:
            await asyncio.to_thread(lose_windows, processes, url)
            await asyncio.to_thread(lose_an_import, processes, url)

    asyncio.run(with_store())


def lose_windows(processes: Processes, url: str) -> None:
    (processes.folder / "waypost.toml").write_text(HOURLY, encoding="utf-8")
    env = {"WAYPOST_JOBS": url}
    for what in ("enqueued", "enqueued again what the job store had forgotten"):
        scheduler = processes.start("scheduler", "run", "--debug", env=env)
        scheduler.wait_for(what)
        scheduler.wait_for("looked")  # only then it has written down that it enqueued them
        scheduler.signal(signal.SIGTERM)
        assert scheduler.wait() == 0
        assert len(processes.json("job", "list", env=env)) >= 2
        flush(url)


def lose_an_import(processes: Processes, url: str) -> None:
    env = {"WAYPOST_JOBS": url, "WAYPOST_OCM_URL": processes.simulator("--places", "300"), "WAYPOST_BUDGET": "100/s"}
    started = processes.json("import", "start", "--country", "DE,FR", env=env)
    flush(url)
    worker = processes.start("worker", "run", env=env)
    eventually(
        lambda: processes.json("import", "status", started["id"], env=env)["shards"] == {"done": 2},
        "the import is done",
    )
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://somewhere/db", "there is no adapter for 'mysql'"),
        ("postgresql://app:hunter2@127.0.0.1:9/none", "127.0.0.1:9"),
        ("redis://:hunter2@127.0.0.1:9/0", "127.0.0.1:9"),
        ("mongodb://app:hunter2@127.0.0.1:9/none?serverSelectionTimeoutMS=300", "127.0.0.1:9"),
    ],
)
def test_a_job_store_that_cannot_be_had(processes: Processes, url: str, message: str) -> None:
    done = processes.run("import", "run", "--country", "DE", env={"WAYPOST_JOBS": url})
    assert done.returncode in {1, 2}
    assert message in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr
