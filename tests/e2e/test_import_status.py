"""Imports that others work on can be looked at, at any time."""

from support.processes import Processes


def test_an_import_that_workers_do_is_running_and_then_done(processes: Processes) -> None:
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "300"), "WAYPOST_BUDGET": "100/s"}
    started = processes.json("import", "start", "--country", "DE,FR", env=env)
    assert processes.json("import", "status", started["id"], env=env)["status"] == "running"

    assert processes.run("worker", "run", "--until-done", env=env).returncode == 0
    [found] = processes.json("import", "status", env=env)
    assert (found["id"], found["status"], found["shards"]) == (started["id"], "done", {"done": 2})
    report = processes.json("import", "report", started["id"], env=env)
    assert report["added"] > 0
    assert report["shards"] == {"done": 2}
    assert report["seconds"] > 0
    printed = processes.run("import", "report", started["id"], env=env)
    assert f"{report['added']} added" in printed.stdout
    listed = processes.run("import", "status", env=env)
    assert f"{started['id']}  done" in listed.stdout
    assert "2 of 2 shards" in listed.stdout


def test_an_unknown_import_is_named_with_the_next_step(processes: Processes) -> None:
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "50"), "WAYPOST_BUDGET": "100/s"}
    processes.json("import", "run", "--country", "DE", env=env)
    for verb in ("status", "report"):
        done = processes.run("import", verb, "no-such-import", env=env)
        assert done.returncode == 1
        assert "there is no import 'no-such-import'" in done.stderr
        assert "waypost import status" in done.stderr


def test_without_a_store_nothing_is_made(processes: Processes) -> None:
    done = processes.run("import", "status")
    assert done.returncode == 1
    assert "there is no store at" in done.stderr
    assert not (processes.folder / "waypost-data").exists()


def test_a_report_says_which_shards_took_how_long(processes: Processes) -> None:
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "300"), "WAYPOST_BUDGET": "100/s"}
    countries = "DE,FR,NL,BE,AT,CH,LU,DK,PL,IT,ES,PT"
    import_id = processes.json("import", "run", "--country", countries, env=env)["id"]
    report = processes.json("import", "report", import_id, env=env)
    assert len(report["by_shard"]) == 12
    assert set(report["by_shard"][0]) == {
        *("shard", "status", "seconds", "requests", "retries", "refusals"),
        *("added", "changed", "unchanged", "removed", "rejected", "unsure", "last_error_code", "last_error_message"),
    }
    for name in ("requests", "added", "changed", "unchanged", "removed", "rejected"):
        assert sum(shard[name] for shard in report["by_shard"]) == report[name], name
    assert {shard["status"] for shard in report["by_shard"]} == {"done"}

    brief = processes.run("import", "report", import_id, env=env)
    first, _, *shards = brief.stdout.splitlines()
    assert "0 removed" in first
    assert len(shards) == 10
    assert all(line.startswith("done") and "requests" in line and "places" in line for line in shards)
    assert "and 2 more shards" in brief.stderr
    full = processes.run("import", "report", import_id, "--all-shards", env=env)
    assert {line.split()[-1] for line in full.stdout.splitlines()[2:]} == {
        shard["shard"] for shard in report["by_shard"]
    }
