"""Planning an import touches nothing, and importing by windows brings what a full import has of that time."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from support.processes import Processes

SINCE, UNTIL = "2025-09-29T21:30:00Z", "2026-01-02T02:00:00Z"


def places(processes: Processes, data: str) -> dict[str, dict[str, Any]]:
    """What a data folder's store holds, by external id."""
    database = sqlite3.connect(f"file:{processes.folder / data / 'waypost.db'}?mode=ro", uri=True)
    rows = database.execute("select external_id, place from places").fetchall()
    database.close()
    return {number: msgspec.json.decode(place) for number, place in rows}


def shards(processes: Processes, *arguments: str) -> list[str]:
    planned: list[str] = processes.json("import", "plan", *arguments)["shards"]
    return planned


def test_a_plan_is_printed_a_line_a_shard_with_a_count_and_an_estimate(processes: Processes) -> None:
    done = processes.run("import", "plan", "--source", "ocm", "--country", "DE,FR", env={"WAYPOST_BUDGET": "2/s"})
    today = datetime.now(UTC).date()
    *lines, summary = done.stdout.splitlines()
    possible = [[f"ocm/country:{code}/full:{day}" for code in ("DE", "FR")] for day in (today, today - timedelta(1))]
    assert lines in possible
    assert summary == "2 shards; at least 3 requests, which take 1.0 s at 2/s"
    assert (done.returncode, done.stderr) == (0, "")


def test_a_plan_for_scripts_is_one_document(processes: Processes) -> None:
    plan = processes.json("import", "plan", "--country", "DE", "--since", SINCE, "--until", UNTIL)
    assert plan.keys() == {"source", "shards", "count", "requests", "seconds"}
    assert (plan["source"], plan["count"], plan["requests"]) == ("ocm", len(plan["shards"]), len(plan["shards"]) + 1)
    assert plan["shards"][0] == "ocm/country:DE/window:2025-09-29T21:00:00Z..2025-09-29T22:00:00Z"
    # Three hours, a day, three months, a day, two hours.
    assert plan["count"] == 3 + 1 + 3 + 1 + 2


def test_a_plan_touches_nothing(processes: Processes) -> None:
    for more in ([], ["--refresh"], ["--since", SINCE]):
        assert processes.run("import", "plan", "--country", "DE", *more).returncode == 0
    assert list(processes.folder.iterdir()) == []


def test_plans_that_begin_at_different_times_share_their_keys(processes: Processes) -> None:
    early, late = (
        shards(processes, "--country", "DE,FR", "--since", since, "--until", UNTIL, "--window", "1d")
        for since in (SINCE, "2025-11-05T12:00:00Z")
    )
    whole_days = [key for key in late if key.count("T00:00:00Z") == 2]
    assert len(whole_days) > 100
    assert set(whole_days) <= set(early)
    assert early == shards(processes, "--country", "DE,FR", "--since", SINCE, "--until", UNTIL, "--window", "1d")


def test_a_refresh_names_the_import_that_it_will_be(processes: Processes) -> None:
    done = processes.run("import", "plan", "--country", "DE", "--refresh")
    assert done.stdout.startswith("ocm/country:DE/refresh:IMPORT-ID\n")
    assert "IMPORT-ID stands for the id" in done.stderr


WRONG: list[tuple[list[str], str]] = [
    ([], "--country"),
    (["--country", "XX"], "is not a country code"),
    (["--country", "DE", "--source", "ocn"], "Did you mean ocm?"),
    (["--country", "DE", "--since", "yesterday"], "is not a time"),
    (["--country", "DE", "--since", "2026-02-21T00:00:00"], "UTC offset"),
    (["--country", "DE", "--since", UNTIL, "--until", SINCE], "ends before it starts"),
    (["--country", "DE", "--until", UNTIL], "--until needs --since"),
    (["--country", "DE", "--since", SINCE, "--window", "1w"], "choose one of 1h, 1d, 1mo"),
    (["--country", "DE", "--window", "1h"], "--window needs --since"),
    (["--country", "DE", "--since", SINCE, "--until", "2999-01-01T00:00:00Z"], "has not ended yet"),
    (["--country", "DE", "--since", "0001-01-01T00:00:00Z", "--window", "1h"], "more than 100000 shards"),
    (["--country", "DE", "--since", SINCE, "--refresh"], "choose one"),
    (["--bbox", "5.8,47.2,15.1,55.1"], "use --country instead of --bbox"),
    (["--bbox", "1,2,3"], "four numbers"),
]


def refuse(processes: Processes, verb: str, arguments: list[str], hint: str) -> None:
    done = processes.run("import", verb, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert list(processes.folder.iterdir()) == []


@pytest.mark.parametrize(("arguments", "hint"), WRONG)
def test_a_plan_asked_for_wrongly_is_refused(processes: Processes, arguments: list[str], hint: str) -> None:
    refuse(processes, "plan", arguments, hint)


@pytest.mark.parametrize(("arguments", "hint"), WRONG[2::2])
def test_an_import_asked_for_wrongly_leaves_no_folder_behind(
    processes: Processes, arguments: list[str], hint: str
) -> None:
    refuse(processes, "run", arguments, hint)


def test_an_import_by_windows_ends_with_what_a_full_one_has_of_that_time(processes: Processes) -> None:
    provider = processes.simulator("--places", "4000", "--seed", "3")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "500/s", "WAYPOST_IMPORT_PAGE_SIZE": "50"}
    windows = ["import", "run", "--country", "DE,FR", "--since", SINCE, "--until", UNTIL, "--data", "windows"]
    report = processes.json(*windows, env=env)
    assert report["shards"] == {"done": 20}
    assert processes.json("import", "run", "--country", "DE,FR", "--data", "full", env=env)["shards"] == {"done": 2}

    start, end = (datetime.fromisoformat(text).replace(minute=0) for text in (SINCE, UNTIL))
    full = places(processes, "full")
    wanted = {
        number: place
        for number, place in full.items()
        if place["provider_updated_at"] and start <= datetime.fromisoformat(place["provider_updated_at"]) < end
    }
    assert 20 < len(wanted) < len(full)
    assert places(processes, "windows") == wanted
    assert report["added"] == len(wanted)

    again = processes.run(*windows, env=env)
    assert "nothing to do: this scope was imported already" in again.stderr
    # Whoever begins later shares the windows that were done.
    later = [*windows[:5], "2025-11-01T00:00:00Z", *windows[6:]]
    assert processes.json(*later, env=env)["requests"] == 0


def test_a_refresh_asks_again_for_what_was_done_today(processes: Processes) -> None:
    provider = processes.simulator("--places", "300")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "500/s"}
    first = processes.json("import", "run", "--country", "DE", env=env)
    again = processes.json("import", "run", "--country", "DE", "--refresh", env=env)
    assert (again["added"], again["unchanged"]) == (0, first["added"])
    assert again["requests"] == first["requests"] > 0
    keys = {job["shard"] for job in processes.json("job", "list")}
    assert f"ocm/country:DE/refresh:{again['id']}" in keys
