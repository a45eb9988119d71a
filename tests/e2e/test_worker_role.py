"""`waypost worker run`: beside others, stopped and asked about its health, and given jobs that nobody can do."""

import asyncio
import json
import signal
import sqlite3

import httpx
import pytest

from support.chaos.stores import OWN_SERVERS
from support.processes import Processes, eventually
from support.servers.sharing import free_port
from waypost.bootstrap.stores import open_stores
from waypost.scaling.jobs.job import NewJob
from waypost.settings import load_settings


def enqueue(processes: Processes, *shards: str) -> None:
    async def work() -> None:
        settings = load_settings({"data": str(processes.folder / "waypost-data")}, environ={})
        async with open_stores(settings) as stores:
            await stores.jobs.enqueue([NewJob(shard) for shard in shards])

    asyncio.run(work())


def test_several_workers_do_what_was_started_and_end_when_it_is_done(processes: Processes) -> None:
    provider = processes.simulator("--places", "900")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s", "WAYPOST_IMPORT_PAGE_SIZE": "50"}
    started = processes.json("import", "start", "--country", "DE,FR,NL,GB", env=env)
    workers = [processes.start("worker", "run", "--until-done", env=env) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    jobs = processes.json("job", "list")
    assert {job["status"] for job in jobs} == {"done"}
    assert len(jobs) == started["shards"] == 4
    assert processes.json("snapshot", "build")["count"] == sum(job["counters"]["added"] for job in jobs)


def test_what_cannot_be_done_goes_dead_with_its_reason_and_nothing_else_suffers(processes: Processes) -> None:
    provider = processes.simulator("--places", "100")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    good = "ocm/country:DE/full:2026-02-21"
    bad = {
        "not a key": "bad-shard-key",
        "ocm/country:DE/planet:mars": "bad-shard-key",
        "ocm/country:FR/full:2026-02-21": "bad-cursor",
    }
    enqueue(processes, good, *bad)
    with sqlite3.connect(processes.folder / "waypost-data" / "waypost.db") as database:
        database.execute("update jobs set cursor = 'v9:7' where shard like '%FR%'")
    database.close()
    assert processes.run("worker", "run", "--until-done", env=env).returncode == 0
    found = {job["shard"]: job for job in processes.json("job", "list")}
    assert found[good]["status"] == "done"
    assert {shard: found[shard]["last_error_code"] for shard in bad} == bad
    assert {found[shard]["status"] for shard in bad} == {"dead"}
    shown = processes.run("job", "show", "ocm/country:FR/full:2026-02-21").stdout
    assert "v9:7" in shown


def test_a_job_of_a_source_that_this_worker_does_not_have_is_left_to_others(processes: Processes) -> None:
    shard = "elsewhere/full:2026-02-21"
    enqueue(processes, shard, "broken/full:2026-02-21")
    (processes.folder / "broken.toml").write_text(
        'name = "broken"\nkind = "no-such-kind"\n[licence]\nname = "a"\nattribution = "b"\n'
    )
    worker = processes.start("worker", "run", env={"WAYPOST_SOURCES": "broken.toml"})
    told = "\n".join(worker.wait_for("left to others").string for _ in range(2))
    assert "elsewhere" in told
    assert "no-such-kind" in told
    assert "WAYPOST_SOURCES" in told
    eventually(lambda: {job["status"] for job in processes.json("job", "list")} == {"pending"}, "they are given back")
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    jobs = processes.json("job", "list")
    assert [(job["status"], job["attempts"]) for job in jobs] == [("pending", 0)] * 2


def test_it_has_a_health_port_and_gives_its_jobs_back_when_it_is_stopped(processes: Processes) -> None:
    provider = processes.simulator("--places", "2000")
    port = free_port()
    env = {
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "4/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "1",
        "WAYPOST_HEALTH_PORT": str(port),
    }
    processes.json("import", "start", "--country", "DE,FR,NL,GB", env=env)
    worker = processes.start("worker", "run", env=env)
    worker.wait_for("is at work")
    eventually(lambda: processes.json("job", "list", "--status", "leased"), "it holds leases")
    assert httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    assert "waypost_leases_held" in httpx.get(f"http://127.0.0.1:{port}/metrics").text
    [view] = processes.run("job", "watch", "--times", "1", "--json").stdout.splitlines()
    assert json.loads(view)["leases"]
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert processes.json("job", "list", "--status", "leased") == []


def test_a_job_can_be_taken_from_its_worker(processes: Processes) -> None:
    provider = processes.simulator("--places", "2000")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "2/s", "WAYPOST_IMPORT_PAGE_SIZE": "1"}
    processes.json("import", "start", "--country", "DE", env=env)
    worker = processes.start("worker", "run", env=env)
    [held] = eventually(lambda: processes.json("job", "list", "--status", "leased"), "it holds a lease")
    assert processes.run("job", "release", held["shard"]).returncode == 0
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    refused = processes.run("job", "release", held["shard"])
    assert refused.returncode == 1
    assert "only a leased job" in refused.stderr


@pytest.mark.parametrize("store", ["postgres", "mongodb"])
def test_it_waits_for_a_store_that_starts_after_it(processes: Processes, store: str) -> None:
    with OWN_SERVERS[store]() as (url, server):
        env = {"WAYPOST_STORE": url}
        assert processes.run("db", "migrate", env=env).returncode == 0
        server.kill()
        worker = processes.start("worker", "run", env=env)
        stopped = processes.start("worker", "run", env=env)
        impatient = processes.start("worker", "run", env=env | {"WAYPOST_JOBS_STORE_PATIENCE": "1s"})
        for each in (worker, stopped):
            each.wait_for("waiting for the store")
        stopped.signal(signal.SIGTERM)
        assert stopped.wait() == 0
        assert impatient.wait() == 1
        server.start()
        worker.wait_for("is at work")
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
