"""The import side in one MongoDB: from the provider to a served place, killed in the middle, as separate processes."""

import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from pymongo import MongoClient

from support.job_store_mongodb import clean_url
from support.processes import Processes, eventually

COUNTRIES = ["DE", "FR", "NL"]


@pytest.fixture
def url() -> Iterator[str]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(clean_url()) as made:
        yield made


def count(url: str, collection: str, **like: Any) -> int:
    """What the database itself says."""
    with MongoClient[dict[str, Any]](url) as client:
        return client.get_default_database()[collection].count_documents(like)


def provider_ids(provider: str) -> set[str]:
    answers = [
        httpx.get(f"{provider}/v3/poi", params={"countrycode": code, "maxresults": 10000}).json() for code in COUNTRIES
    ]
    return {f"ocm:{record['ID']}" for answer in answers for record in answer}


def served_ids(places: str) -> set[str]:
    features = httpx.get(f"{places}/v1/places", params={"limit": 10000}).json()["features"]
    return {feature["properties"]["external_id"] for feature in features}


def test_from_the_provider_to_a_served_place(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "900", "--seed", "3")
    env = {"WAYPOST_STORE": url, "WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    expected = provider_ids(provider)
    assert processes.run("db", "migrate", env=env).returncode == 0

    first = processes.run("import", "run", "--country", ",".join(COUNTRIES), env=env)
    assert first.returncode == 0, first.stderr
    assert "the budget is this machine's alone" in first.stderr
    again = processes.json("import", "run", "--country", ",".join(COUNTRIES), env=env)
    assert (again["added"], again["requests"]) == (0, 0)
    refreshed = processes.json("import", "run", "--country", ",".join(COUNTRIES), "--refresh", env=env)
    assert (refreshed["added"], refreshed["changed"], refreshed["unchanged"]) == (0, 0, len(expected))
    assert processes.json("import", "status", env=env)[0]["status"] == "done"
    assert count(url, "places") == len(expected)
    assert processes.json("place", "count", env=env) == {"places": len(expected)}
    assert processes.json("place", "show", min(expected), env=env)["record"]
    assert processes.run("budget", "show", env=env).stdout.startswith("ocm:")
    assert {job["status"] for job in processes.json("job", "list", env=env)} == {"done"}

    assert processes.json("snapshot", "build", env=env)["count"] == len(expected)
    assert served_ids(processes.serve("places", env=env)) == expected
    assert not (processes.folder / "waypost-data" / "waypost.db").exists()


def test_a_schema_that_is_not_current_is_refused_until_somebody_migrates_it(processes: Processes, url: str) -> None:
    env = {"WAYPOST_STORE": url}
    for command in (["import", "run", "--country", "DE"], ["snapshot", "build"], ["worker", "run"], ["job", "list"]):
        refused = processes.run(*command, env=env)
        assert refused.returncode == 1
        assert "waypost db migrate" in refused.stderr
    assert processes.json("db", "status", env=env) == {"version": 0, "pending": ["schema"]}
    told = processes.run("doctor", env=env)
    assert told.returncode == 1
    assert "waypost db migrate" in told.stdout

    assert processes.json("db", "migrate", env=env) == {"applied": ["schema"]}
    assert processes.json("db", "migrate", env=env) == {"applied": []}
    assert processes.json("db", "status", env=env) == {"version": 1, "pending": []}
    assert "ok    store: schema 1" in processes.run("doctor", env=env).stdout


@pytest.mark.parametrize(
    "command",
    [
        ["up", "--port", "0"],
        ["serve", "links", "--port", "0"],
        ["serve", "all", "--port", "0"],
        ["link", "create", "https://example.org"],
        ["link", "show", "gently-golden-otter"],
    ],
    ids=" ".join,
)
def test_who_needs_links_is_refused_at_the_start(processes: Processes, command: list[str]) -> None:
    refused = processes.run(*command, env={"WAYPOST_STORE": "mongodb://127.0.0.1:9/none"})
    assert refused.returncode == 2
    assert "links are kept in PostgreSQL or SQLite; MongoDB is for importing alone" in refused.stderr
    assert "WAYPOST_STORE=" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_killed_in_the_middle_another_worker_goes_on_from_the_last_page(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "900")
    env = {
        "WAYPOST_STORE": url,
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "10/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "10",
        "WAYPOST_LEASE": "1s",
    }
    assert processes.run("db", "migrate", env=env).returncode == 0
    running = processes.start("import", "run", "--country", ",".join(COUNTRIES), env=env)
    eventually(lambda: count(url, "places") > 60, "some pages are there")
    running.signal(signal.SIGKILL)
    running.wait()
    expected = provider_ids(provider)
    assert 60 < count(url, "places") < len(expected)

    done = processes.run("worker", "run", "--until-done", env=env | {"WAYPOST_BUDGET": "200/s"})
    assert done.returncode == 0, done.stderr
    jobs = processes.json("job", "list", env=env)
    assert {job["status"] for job in jobs} == {"done"}
    # What was committed is not asked for again, and what was not committed left nothing behind.
    assert sum(job["counters"]["added"] for job in jobs) == len(expected) == count(url, "places")
    assert sum(job["counters"].get("unchanged", 0) for job in jobs) == 0


def test_with_its_jobs_apart_it_knows_how_far_each_shard_is(processes: Processes, url: str) -> None:
    provider = processes.simulator("--places", "600")
    env = {
        "WAYPOST_STORE": url,
        "WAYPOST_JOBS": f"sqlite:///{processes.folder / 'jobs.db'}",
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "100/s",
    }
    assert processes.run("db", "migrate", env=env).returncode == 0
    report = processes.json("import", "run", "--country", ",".join(COUNTRIES), env=env)
    assert report["added"] == len(provider_ids(provider))
    assert count(url, "shards", done=True) == len(COUNTRIES)
    assert count(url, "jobs") == 0
