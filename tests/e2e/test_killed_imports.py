"""An import whose processes are killed at random moments still ends equal to the provider."""

import random
import signal
import subprocess
from contextlib import suppress

import httpx

from support.processes import Processes

COUNTRIES = "DE,FR,NL,GB,US"


def test_killed_again_and_again_it_ends_with_exactly_what_the_provider_has(processes: Processes) -> None:
    provider = processes.simulator("--places", "1500")
    env = {
        "WAYPOST_OCM_URL": provider,
        "WAYPOST_BUDGET": "60/s",
        "WAYPOST_IMPORT_PAGE_SIZE": "20",
        "WAYPOST_LEASE": "500ms",
        "WAYPOST_JOBS_MAX_ATTEMPTS": "100",
    }
    rng = random.Random(7)
    for _ in range(4):
        running = processes.start("import", "run", "--country", COUNTRIES, env=env)
        running.wait_for(r"^\d+/\d+ shards")
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(timeout=rng.uniform(0.05, 0.8))
        running.signal(signal.SIGKILL)
        running.wait()
    report = processes.json("import", "run", "--country", COUNTRIES, env=env)
    assert report["shards"] == {"done": 5}

    assert processes.run("snapshot", "build").returncode == 0
    places = processes.serve("places")
    served = httpx.get(f"{places}/v1/places", params={"limit": 10000}).json()["features"]
    expected = {
        f"ocm:{record['ID']}": record["AddressInfo"]["Title"]
        for code in COUNTRIES.split(",")
        for record in httpx.get(f"{provider}/v3/poi", params={"countrycode": code, "maxresults": 10000}).json()
    }
    found = {feature["properties"]["external_id"]: feature["properties"]["name"] for feature in served}
    assert found.keys() == expected.keys()
    assert {key for key in found if expected[key] and found[key] != expected[key].strip()} == set()


def test_two_imports_at_once_share_the_work_and_the_budget(processes: Processes) -> None:
    provider = processes.simulator("--places", "800")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "50/s"}
    both = [processes.start("import", "run", "--country", COUNTRIES, "--json", env=env) for _ in range(2)]
    assert [running.wait() for running in both] == [0, 0]
    jobs = processes.json("job", "list")
    assert {job["status"] for job in jobs} == {"done"}
    # Each page was asked for once: one page and one empty answer a shard, whoever did it.
    assert sum(job["counters"]["requests"] for job in jobs) == 2 * len(jobs)


def test_a_first_ctrl_c_is_enough_while_it_waits_for_its_turn(processes: Processes) -> None:
    provider = processes.simulator("--places", "50")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "1/h"}
    assert processes.run("import", "start", "--country", "DE", env=env).returncode == 0
    # The next turn is an hour away.
    waiting = processes.start(
        "import", "run", "--country", "DE", "--debug", env=env | {"WAYPOST_BUDGET_MAX_WAIT": "2h"}
    )
    with suppress(subprocess.TimeoutExpired):
        waiting.process.wait(timeout=2)
    waiting.signal(signal.SIGINT)
    assert waiting.wait() == 130
