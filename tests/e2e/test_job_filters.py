"""`job revive`, `release` and `prune` take the filters of `job list`."""

import asyncio

import pytest

from support.processes import Processes
from waypost.bootstrap.stores import open_stores
from waypost.scaling.jobs.job import Done, Failure, NewJob, Status
from waypost.settings import load_settings

DE = [f"ocm/country:DE/full:2026-02-{day:02}" for day in range(1, 4)]
FR = [f"ocm/country:FR/full:2026-02-{day:02}" for day in range(1, 4)]


def make(processes: Processes, status: Status) -> None:
    """Six jobs that all stand like this."""

    async def work() -> None:
        async with open_stores(load_settings({"data": str(processes.folder / "waypost-data")}, environ={})) as stores:
            await stores.jobs.enqueue([NewJob(shard) for shard in [*DE, *FR]])
            leases = await stores.jobs.claim("somebody", limit=6, lease=600, max_vanished=9)
            if status == "done":
                await stores.jobs.complete([Done(lease) for lease in leases])
            for lease in leases if status == "dead" else ():
                await stores.jobs.fail(lease, Failure("failed", "it failed"), retry_in=None, counted={})

    asyncio.run(work())


def left(processes: Processes, status: Status) -> set[str]:
    return {job["shard"] for job in processes.json("job", "list", "--status", status)}


@pytest.mark.parametrize(("verb", "status"), [("revive", "dead"), ("release", "leased")])
def test_some_are_chosen_by_their_keys_and_number(processes: Processes, verb: str, status: Status) -> None:
    make(processes, status)
    done = f"{verb}d"
    assert processes.json("job", verb, "--prefix", "ocm/country:DE", "--limit", "2") == {done: 2}
    assert left(processes, status) == {*DE[2:], *FR}
    assert processes.run("job", verb, "--prefix", "ocm/country:DE").stdout == f"{done} 1\n"
    assert processes.json("job", verb, "--prefix", "ocm/country:DE") == {done: 0}
    assert processes.json("job", verb, "--status", status) == {done: 3}
    assert left(processes, "pending") == {*DE, *FR}


def test_jobs_that_are_named_are_revived_and_released_as_before(processes: Processes) -> None:
    make(processes, "dead")
    assert processes.json("job", "revive", *DE[:2]) == {"revived": 2}
    assert processes.json("job", "revive", "--all") == {"revived": 4}


def test_only_some_of_what_is_old_is_forgotten(processes: Processes) -> None:
    make(processes, "done")
    old = ["job", "prune", "--older-than", "1ms"]
    assert processes.json(*old, "--prefix", "ocm/country:DE", "--limit", "2") == {"pruned": 2}
    assert processes.json(*old, "--status", "dead") == {"pruned": 0}
    assert processes.json(*old, "--prefix", "ocm/country:DE") == {"pruned": 1}
    assert left(processes, "done") == set(FR)
    assert processes.json(*old, "--status", "done") == {"pruned": 3}


@pytest.mark.parametrize(
    "arguments",
    [
        ["revive"],
        ["revive", DE[0], "--prefix", "ocm/"],
        ["revive", "--all", "--prefix", "ocm/"],
        ["revive", "--status", "done"],
        ["release"],
        ["release", DE[0], "--limit", "2"],
        ["release", "--status", "dead"],
        ["prune", "--status", "leased"],
        ["prune", "--status", "done", "--dead"],
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(processes: Processes, arguments: list[str]) -> None:
    make(processes, "dead")
    done = processes.run("job", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert left(processes, "dead") == {*DE, *FR}
