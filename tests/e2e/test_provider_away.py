"""A provider that is away for a while costs time and nothing else."""

import signal
from urllib.parse import urlsplit

from support.processes import Processes, Running

COUNTRIES = "DE,FR,NL,GB,US"
# One failure that counts is the end of a job.
ENV = {"WAYPOST_BUDGET": "20/s", "WAYPOST_IMPORT_PAGE_SIZE": "10", "WAYPOST_JOBS_MAX_ATTEMPTS": "1"}


def simulator(processes: Processes, port: str = "0") -> tuple[Running, str]:
    running = processes.start("simulator", "run", "--port", port, "--places", "600")
    return running, running.wait_for(r"is at (http://\S+)")[1]


def test_no_job_dies_while_the_provider_is_away_and_the_import_goes_on_when_it_is_back(processes: Processes) -> None:
    provider, url = simulator(processes)
    env = ENV | {"WAYPOST_OCM_URL": url}
    importing = processes.start("import", "run", "--country", COUNTRIES, "--processes", "1", env=env)
    importing.wait_for(r"^\d+/\d+ shards")
    provider.signal(signal.SIGKILL)
    provider.wait()
    for _ in range(2):
        importing.wait_for("the provider is away")
    jobs = processes.json("job", "list")
    waiting = [job for job in jobs if job["waits_for"]]
    assert any(job["waits_for"].startswith("the provider: provider-away, next probe ") for job in waiting)
    assert any(job["last_error_code"] == "provider-away" for job in waiting)
    assert "(waits for the provider: provider-away" in processes.run("job", "list").stdout
    assert {job["attempts"] for job in jobs} <= {0, 1}

    simulator(processes, str(urlsplit(url).port))
    assert importing.wait() == 0, importing.rest()
    jobs = processes.json("job", "list")
    assert {job["status"] for job in jobs} == {"done"}
    assert {job["waits_for"] for job in jobs} == {None}


def test_a_provider_that_stays_away_past_the_patience_ends_jobs_with_that_reason(processes: Processes) -> None:
    provider, url = simulator(processes)
    env = ENV | {"WAYPOST_OCM_URL": url, "WAYPOST_IMPORT_PROVIDER_PATIENCE": "1s"}
    importing = processes.start("import", "run", "--country", COUNTRIES, "--processes", "1", env=env)
    importing.wait_for(r"^\d+/\d+ shards")
    provider.signal(signal.SIGKILL)
    provider.wait()
    assert importing.wait() == 1
    assert "the provider is away" in importing.rest()
    dead = processes.json("job", "list", "--status", "dead")
    assert dead
    assert {job["last_error_code"] for job in dead} == {"provider-unavailable"}
