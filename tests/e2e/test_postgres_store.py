"""Everything in one PostgreSQL: the whole path, killed in the middle, and shared by workers, as separate processes."""

import asyncio
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from support.job_store_mongodb import clean_url
from support.job_store_postgres import clean_database
from support.processes import Processes, eventually

MIGRATIONS = ["schema"]
COUNTRIES = ["DE", "FR", "NL"]


not_migrated = partial(clean_database, migrated=False)


@pytest.fixture
def url() -> Iterator[str]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(clean_database()) as made:
        yield made


@pytest.fixture
def empty_url() -> Iterator[str]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(not_migrated()) as made:
        yield made


def asked(url: str, question: str) -> Any:
    """What the database itself says."""

    async def ask() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return asyncio.run(ask())


def provider_ids(provider: str) -> set[str]:
    answers = [
        httpx.get(f"{provider}/v3/poi", params={"countrycode": code, "maxresults": 10000}).json() for code in COUNTRIES
    ]
    return {f"ocm:{record['ID']}" for answer in answers for record in answer}


def served_ids(places: str) -> set[str]:
    features = httpx.get(f"{places}/v1/places", params={"limit": 10000}).json()["features"]
    return {feature["properties"]["external_id"] for feature in features}


def test_from_the_provider_to_a_counted_visit(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "900", "--seed", "3")
    env = {"WAYPOST_STORE": url, "WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    expected = provider_ids(provider)

    report = processes.json("import", "run", "--country", ",".join(COUNTRIES), env=env)
    assert (report["added"], report["shards"]) == (len(expected), {"done": 3})
    again = processes.json("import", "run", "--country", ",".join(COUNTRIES), env=env)
    assert (again["added"], again["requests"]) == (0, 0)
    refreshed = processes.json("import", "run", "--country", ",".join(COUNTRIES), "--refresh", env=env)
    assert (refreshed["added"], refreshed["changed"], refreshed["unchanged"]) == (0, 0, len(expected))
    assert asked(url, "select string_agg(distinct status, ' ') from imports") == "done"
    # The budget is in there too, so that workers on other machines share it.
    assert asked(url, "select count(*) from budget_records") > 0
    assert processes.run("budget", "show", env=env).stdout.startswith("ocm:")

    assert processes.json("snapshot", "build", env=env)["count"] == len(expected)
    places = processes.serve("places", env=env)
    assert served_ids(places) == expected

    links = processes.serve("links", env=env)
    link = processes.run("link", "create", "https://example.org/page", env=env).stdout.strip()
    assert link.startswith(links + "/")
    assert httpx.get(link).headers["location"] == "https://example.org/page"
    assert httpx.get(f"{links}/no-such-phrase%00").status_code == 404
    eventually(lambda: processes.json("link", "show", link, env=env)["visits"] == 1, "the visit is counted")
    everything = processes.serve("all", env=env)
    assert httpx.get(f"{everything}/readyz").status_code == 200
    assert httpx.get(f"{everything}/{link.rpartition('/')[2]}").status_code == 302
    assert not (processes.folder / "waypost-data" / "waypost.db").exists()


def test_a_schema_that_is_not_current_is_refused_until_somebody_migrates_it(
    processes: Processes, empty_url: str
) -> None:
    env = {"WAYPOST_STORE": empty_url}
    for command in (["import", "run", "--country", "DE"], ["snapshot", "build"], ["serve", "links"], ["up"]):
        refused = processes.run(*command, env=env)
        assert refused.returncode == 1
        assert "waypost db migrate" in refused.stderr
    assert processes.json("db", "status", env=env) == {"version": 0, "pending": MIGRATIONS}
    told = processes.run("doctor", env=env)
    assert told.returncode == 1
    assert "waypost db migrate" in told.stdout

    assert processes.json("db", "migrate", env=env) == {"applied": MIGRATIONS}
    assert processes.json("db", "migrate", env=env) == {"applied": []}
    assert processes.json("db", "status", env=env) == {"version": len(MIGRATIONS), "pending": []}
    assert f"ok    store: schema {len(MIGRATIONS)}" in processes.run("doctor", env=env).stdout
    assert processes.json("job", "list", env=env) == []


def test_up_runs_on_it_and_goes_on_at_its_next_start(processes: Processes, url: str) -> None:
    env = {"WAYPOST_STORE": url}

    def imported(address: str) -> Any:
        status = httpx.get(f"{address}/-/status").json()
        return status["import"]["status"] == "done" and status

    running, address = processes.up("--places", "200", env=env)
    assert eventually(lambda: imported(address), "the import is done")["places"] == 200
    phrase = httpx.post(f"{address}/v1/links", json={"target": "https://example.org/"}).json()["phrase"]
    running.signal(signal.SIGTERM)
    assert running.wait() == 0
    assert "Traceback" not in running.rest()
    _, address = processes.up(env=env)
    assert eventually(lambda: imported(address), "the import is done")["import"]["places"] == 0
    assert httpx.get(f"{address}/{phrase}").status_code == 302
    refused = processes.run("up", "--port", "0", "--data", "other", "--places", "5", env=env)
    assert "the places in the store come from another provider" in refused.stderr


def test_killed_in_the_middle_the_next_run_goes_on_from_the_last_page(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "900")
    env = {
        "WAYPOST_STORE": url,
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "10/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "10",
        "WAYPOST_LEASE": "500ms",
    }
    running = processes.start("import", "run", "--country", ",".join(COUNTRIES), env=env)
    eventually(lambda: asked(url, "select count(*) > 60 from places"), "some pages are there")
    running.signal(signal.SIGKILL)
    running.wait()
    expected = provider_ids(provider)
    before = asked(url, "select count(*) from places")
    assert 60 < before < len(expected)

    report = processes.json("import", "run", "--country", ",".join(COUNTRIES), env=env | {"WAYPOST_BUDGET": "200/s"})
    assert report["shards"] == {"done": 3}
    # What was committed is not asked for again, and what was not committed left nothing behind.
    assert (report["added"], report["unchanged"]) == (len(expected) - before, 0)
    assert asked(url, "select sum((counters ->> 'added')::int) from jobs") == len(expected)
    assert processes.run("snapshot", "build", env=env).returncode == 0
    assert served_ids(processes.serve("places", env=env)) == expected


def test_two_workers_in_different_folders_share_an_import(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "900")
    env = {
        "WAYPOST_STORE": url,
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "15/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "20",
        "WAYPOST_JOBS_CONCURRENCY": "1",
    }
    workers = [processes.start("worker", "run", "--data", name, env=env) for name in ("one", "two")]
    for worker in workers:
        worker.wait_for("is at work")
    assert processes.json("import", "start", "--country", ",".join(COUNTRIES), env=env)["shards"] == 3
    at_once = "select count(distinct lease_owner) = 2 from jobs where status = 'leased'"
    eventually(lambda: asked(url, at_once), "both of them work")
    eventually(lambda: asked(url, "select bool_and(status = 'done') from jobs"), "all is done")
    for worker in workers:
        worker.signal(signal.SIGTERM)
    assert [worker.wait() for worker in workers] == [0, 0]
    jobs = processes.json("job", "list", env=env)
    assert {job["status"] for job in jobs} == {"done"}
    assert sum(job["counters"]["added"] for job in jobs) == len(provider_ids(provider))
    # Nobody asked for a page that the other had.
    assert sum(job["counters"].get("unchanged", 0) for job in jobs) == 0


def test_with_its_jobs_apart_it_knows_how_far_each_shard_is(processes: Processes, url: str) -> None:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(clean_url()) as jobs:
        provider = processes.simulator("--places", "600")
        env = {"WAYPOST_STORE": url, "WAYPOST_JOBS": jobs, "WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
        assert processes.run("db", "migrate", env=env).returncode == 0
        done = processes.run("import", "run", "--country", ",".join(COUNTRIES), "--json", env=env)
        assert done.returncode == 0
        # There are no budgets in MongoDB, and none is needed in a file: everybody reaches the PostgreSQL.
        assert "this machine's alone" not in done.stderr
        assert asked(url, "select count(*) from shards where done") == 3
        assert asked(url, "select count(*) from places") == len(provider_ids(provider))
        assert asked(url, "select count(*) from jobs") == 0


@pytest.mark.parametrize(
    "misspelt",
    [
        "postgresql://ada:hunter2/waypost",
        "postgresql://ada:hunter2@[::1/waypost",
        "postgresql://ada:hunter2@127.0.0.1:99999/waypost",
        "postgresql://ada:hunter2@127.0.0.1:9/waypost?sslmode=hunter2",
        "postgresql://ada:hunter2@127.0.0.1:9/waypost?statement_cache_size=hunter2",
    ],
)
def test_a_misspelt_url_is_told_without_its_password(processes: Processes, misspelt: str) -> None:
    told = processes.run("job", "list", "--debug", env={"WAYPOST_STORE": misspelt})
    assert told.returncode == 2
    assert "not the URL of a PostgreSQL" in told.stderr
    assert "hunter2" not in told.stdout + told.stderr
