"""What an import says about what did not go well: places that would go, records that are none, a provider's faults."""

import pytest

from support.moody_provider import moody_provider
from support.processes import Processes

LAMPS = """
name = "lamps"
kind = "files"
paths = ["lamps.csv"]
licence = { name = "CC0 1.0", attribution = "Nobody" }
"""


def write_lamps(processes: Processes, *more: str, count: int) -> None:
    lines = [f"{number},Lamp {number},52.5,13.4" for number in range(count)]
    (processes.folder / "lamps.csv").write_text("\n".join(["id,name,lat,lon", *lines, *more, ""]))
    (processes.folder / "lamps.toml").write_text(LAMPS)


def test_when_too_many_places_would_go_it_says_how_to_allow_that(processes: Processes) -> None:
    write_lamps(processes, count=100)
    run = ("import", "run", "--source", "lamps.toml", "--refresh")
    assert processes.json(*run)["added"] == 100
    write_lamps(processes, count=10)
    stopped = processes.run(*run)
    assert stopped.returncode == 1
    assert "--refresh --allow-mass-delete" in stopped.stderr
    [dead] = processes.json("job", "list", "--status", "dead")
    for arguments in (("list", "--status", "dead"), ("show", dead["id"])):
        assert "waypost import run … --refresh --allow-mass-delete" in processes.run("job", *arguments).stdout
    assert processes.json(*run, "--allow-mass-delete")["removed"] == 90


def test_a_report_shows_which_records_were_rejected_and_why(processes: Processes) -> None:
    write_lamps(processes, "far,Nowhere,95,13", ",No id,52,13", count=3)
    run = processes.run("import", "run", "--source", "lamps.toml")
    assert "2 rejected" in run.stdout
    [known] = processes.json("import", "status")
    assert f"waypost import report {known['id']}" in run.stderr

    report = processes.json("import", "report", known["id"])
    assert report["rejected"] == 2
    by_id = {each["external_id"]: each for each in report["rejects"]}
    assert set(by_id) == {"lamps:far", None}
    assert by_id["lamps:far"].keys() == {"shard", "external_id", "reason"}
    assert by_id["lamps:far"]["shard"] == report["by_shard"][0]["shard"]
    printed = processes.run("import", "report", known["id"]).stdout.splitlines()
    for external_id, each in by_id.items():
        shown = f"rejected  {external_id or 'a record without an id'}  {each['shard']}  {each['reason']}"
        assert shown in printed


def test_when_all_records_are_rejected_the_import_fails_and_removes_nothing(processes: Processes) -> None:
    write_lamps(processes, count=5)
    run = ("import", "run", "--source", "lamps.toml", "--refresh")
    assert processes.json(*run)["added"] == 5
    write_lamps(processes, "0,Nowhere,95,13", "1,Nowhere,95,13", "2,Nowhere,95,13", count=0)
    failed = processes.run(*run)
    assert failed.returncode == 1
    assert "3 of 3 records were rejected" in failed.stderr
    assert processes.run("place", "count").stdout.split()[0] == "5"


def test_a_record_with_the_id_of_another_is_rejected_and_changes_nothing_at_any_refresh(processes: Processes) -> None:
    write_lamps(processes, "7,Another lamp 7,52.5,13.4", count=10)
    run = ("import", "run", "--source", "lamps.toml", "--refresh")
    first = processes.json(*run, env={"WAYPOST_IMPORT_PAGE_SIZE": "4"})
    assert (first["added"], first["unchanged"], first["rejected"]) == (10, 0, 1)
    again = processes.json(*run, env={"WAYPOST_IMPORT_PAGE_SIZE": "4"})
    assert (again["changed"], again["unchanged"], again["rejected"]) == (0, 10, 1)
    [reject] = processes.json("import", "report", again["id"])["rejects"]
    assert reject["reason"] == "record 11 has the same id as record 8, lamps:7; the first stays"


def test_only_some_of_many_rejected_records_are_shown(processes: Processes) -> None:
    write_lamps(processes, *(f"far-{number},Nowhere,95,13" for number in range(50)), count=300)
    import_id = processes.json("import", "run", "--source", "lamps.toml")["id"]
    assert len(processes.json("import", "report", import_id)["rejects"]) == 20
    assert "these are 20 of the rejected records" in processes.run("import", "report", import_id).stderr


@pytest.mark.parametrize("verb", ["run", "start"])
def test_a_fault_that_passes_does_not_keep_an_import_from_starting(processes: Processes, verb: str) -> None:
    with moody_provider((500, {}), (429, {"Retry-After": "0"}), (502, {})) as (url, moods):
        env = {"WAYPOST_OCM_URL": url, "WAYPOST_BUDGET": "50/s"}
        done = processes.run("import", verb, "--country", "DE", env=env)
    assert done.returncode == 0, done.stderr
    assert "failed (500)" in done.stderr
    assert [status for _, status in moods.log][:4] == [500, 429, 502, 200]


@pytest.mark.parametrize(("status", "asked"), [(500, 5), (403, 1), (404, 1)])
def test_a_provider_that_stays_away_or_says_no_is_told_and_nothing_is_enqueued(
    processes: Processes, status: int, asked: int
) -> None:
    with moody_provider(*[(status, {})] * 10) as (url, moods):
        env = {"WAYPOST_OCM_URL": url, "WAYPOST_BUDGET": "50/s"}
        done = processes.run("import", "run", "--country", "DE", env=env)
        assert (done.returncode, len(moods.log)) == (1, asked)
        assert processes.json("job", "list", env=env) == []
    assert f"waypost: the provider at {url} " in done.stderr
    assert f"({status})" in done.stderr
