"""`waypost source` and imports from sources that files describe, as a person gives the commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.lighthouses import FIELDS, Lighthouses, light
from support.processes import Processes
from support.told_provider import Provider, http, serving

KEY = "hunter2"


def describe(processes: Processes, provider: Provider, text: str = "", **more: str) -> str:
    """Writes the file of a source for this provider; returns its name."""
    values = {"name": "lights", "kind": "json-api", "budget": "200/s", "fields": FIELDS} | more
    (processes.folder / "lights.toml").write_text(
        f'name = "{values["name"]}"\nkind = "{values["kind"]}"\nbudget = "{values["budget"]}"\n'
        f'url = "{provider.url}/lights"\nrecords = "data.items"\n{text}\n'
        f'[licence]\nname = "CC0"\nattribution = "The keepers"\n{values["fields"]}'
    )
    return "lights.toml"


PAGED = '[pagination]\nkind = "offset"\nparameter = "offset"\nsize = 10\nsize_parameter = "limit"'
AUTH = '[auth]\nvalue = "Token {LIGHTS_KEY}"'


def test_a_check_says_what_will_be_asked_without_asking_it(processes: Processes) -> None:
    with serving(Lighthouses([])) as provider:
        file = describe(processes, provider, f"{AUTH}\n{PAGED}")
        found = processes.json("source", "check", file, env={"LIGHTS_KEY": KEY})
        assert provider.requests == []
    assert found["first_request"] == f"{provider.url}/lights?limit=10&offset=0"
    assert (found["source"]["name"], found["source"]["plans"], found["asked"]) == ("lights", ["all"], False)
    assert not (processes.folder / "waypost-data").exists()


def test_a_check_with_ask_shows_how_records_are_understood(processes: Processes) -> None:
    with serving(Lighthouses([light(number) for number in range(1, 6)])) as provider:
        file = describe(processes, provider, f"{AUTH}\n{PAGED}")
        told = processes.run("source", "check", file, "--ask", env={"LIGHTS_KEY": KEY})
        found = processes.json("source", "check", file, "--ask", env={"LIGHTS_KEY": KEY})
        assert provider.header("Authorization") == [f"Token {KEY}"] * 2
    assert told.returncode == 0
    assert "the provider sent 5 records" in told.stdout
    assert "lights:3" in told.stdout
    assert "lights:4" not in told.stdout
    assert "lamps: 1" in told.stdout
    assert KEY not in told.stdout + told.stderr
    assert [place["external_id"] for place in found["places"]] == ["lights:1", "lights:2", "lights:3"]
    assert found["places"][0]["attributes"] == {"lamps": 1}


def test_a_check_tells_which_field_of_which_record_is_wrong(processes: Processes) -> None:
    with serving(Lighthouses([light(7)])) as provider:
        file = describe(processes, provider, fields=FIELDS.replace("position.lat", "pos.lat"))
        told = processes.run("source", "check", file, "--ask")
    assert told.returncode == 2
    assert "lights:7 is not a place: it has no lat: there is nothing in its field pos.lat" in told.stdout
    assert "id, title, position, country, lamps" in told.stdout


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (http(b"", status=500), 1, "failed (500)"),
        (http(b"", status=403), 1, "refuses our key"),
        (http({"lights": []}), 1, "has nothing at `data.items`; its top has the keys lights"),
    ],
)
def test_a_provider_that_fails_ends_a_check_with_1(
    processes: Processes, answer: bytes, code: int, message: str
) -> None:
    with serving(answer) as provider:
        told = processes.run("source", "check", describe(processes, provider), "--ask")
    assert (told.returncode, message in told.stderr) == (code, True)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", {"kind": "json"}, "there is no kind 'json'"),
        ("", {"name": "ocm"}, "built in"),
        ('[pagination]\nknd = "page"', {}, "there is no key pagination.knd"),
        (AUTH, {}, "the variable LIGHTS_KEY is not set"),
    ],
)
def test_a_file_that_is_wrong_ends_a_check_with_2(
    processes: Processes, text: str, more: dict[str, str], message: str
) -> None:
    file = describe(processes, Provider("http://127.0.0.1:1"), text, **more)
    told = processes.run("source", "check", file)
    assert (told.returncode, message in told.stderr, file in told.stderr) == (2, True, True)


def test_the_list_has_every_source_and_what_is_wrong_with_it(processes: Processes) -> None:
    describe(processes, Provider("http://127.0.0.1:1"), AUTH)
    env = {"WAYPOST_SOURCES": "*.toml"}
    good = processes.json("source", "list", env=env | {"LIGHTS_KEY": KEY})
    assert [source["name"] for source in good["sources"]] == ["ocm", "lights"]
    assert good["sources"][1] == {
        "name": "lights",
        "kind": "json-api",
        "licence": {"name": "CC0", "attribution": "The keepers", "url": None},
        "budget": "200/s",
        "file": "lights.toml",
        "provider": "http://127.0.0.1:1/lights",
        "plans": ["all"],
        "error": None,
    }
    assert {kind["name"] for kind in good["kinds"]} >= {"json-api", "ocpi", "files"}
    bad = processes.json("source", "list", env=env)
    assert "LIGHTS_KEY" in bad["sources"][1]["error"]
    assert "LIGHTS_KEY" in processes.run("source", "list", env=env).stdout


def places(processes: Processes) -> dict[str, Any]:
    lines = processes.run("place", "export").stdout.splitlines()
    return {place["external_id"]: place for place in map(json.loads, lines)}


def test_a_source_is_imported_again_and_what_is_gone_is_removed(processes: Processes) -> None:
    lights = Lighthouses([light(number) for number in range(1, 31)])
    with serving(lights) as provider:
        file = describe(processes, provider, PAGED)
        first = processes.json("import", "run", "--source", file)
        assert (first["added"], first["removed"], first["requests"]) == (30, 0, 4)
        del lights.lights[3:5]
        lights.lights[0] = light(1, title="Another name")
        second = processes.json("import", "run", "--source", file, "--refresh")
        assert (second["added"], second["changed"], second["removed"], second["unchanged"]) == (0, 1, 0, 27)
        # It tells no total, so that a list which moves would look like this too: it takes another look.
        third = processes.json("import", "run", "--source", file, "--refresh")
        assert (third["added"], third["changed"], third["removed"], third["unchanged"]) == (0, 0, 2, 28)
    found = places(processes)
    assert len(found) == 28
    assert found["lights:1"]["name"] == "Another name"
    assert found["lights:2"]["attributes"] == {"lamps": 2}


def test_pages_by_id_find_deletions_too(processes: Processes) -> None:
    lights = Lighthouses([light(number * 3) for number in range(1, 31)])
    paged = PAGED.replace('"offset"\n', '"after"\n', 2).replace('kind = "after"', 'kind = "keyset"')
    with serving(lights) as provider:
        file = describe(processes, provider, paged)
        assert processes.json("import", "run", "--source", file)["added"] == 30
        del lights.lights[10]
        assert processes.json("import", "run", "--source", file, "--refresh")["removed"] == 1


def test_a_box_that_is_too_full_is_cut_until_all_of_it_is_there(processes: Processes) -> None:
    lights = [light(number, position={"lat": 50 + number / 50, "lon": 8 + number / 40}) for number in range(1, 101)]
    with serving(Lighthouses(lights, most=20)) as provider:
        file = describe(processes, provider, '[pagination]\nlimit = 20\n[scope]\nbox = "bbox"')
        report = processes.json("import", "run", "--source", file, "--bbox", "0,45,20,56")
        assert (report["added"], report["shards"].get("dead", 0)) == (100, 0)
        again = processes.json("import", "run", "--source", file, "--bbox", "0,45,20,56", "--refresh")
        assert (again["removed"], again["added"], again["changed"]) == (0, 0, 0)
        provider_lights = [each for each in lights if each["id"] != 50]
    with serving(Lighthouses(provider_lights, most=20)) as provider:
        file = describe(processes, provider, '[pagination]\nlimit = 20\n[scope]\nbox = "bbox"')
        gone = processes.json("import", "run", "--source", file, "--bbox", "0,45,20,56", "--refresh")
        assert gone["removed"] == 1


def test_the_budget_of_a_source_is_its_own(processes: Processes) -> None:
    with serving(Lighthouses([light(1)])) as provider:
        file = describe(processes, provider, budget="7/min")
        assert "at 7/min" in processes.run("import", "plan", "--source", file).stdout
        env = {"WAYPOST_BUDGET": "90/s"}
        assert "at 90/s" in processes.run("import", "plan", "--source", file, env=env).stdout
        assert processes.json("import", "run", "--source", file, env=env)["added"] == 1
        shown = processes.json("budget", "show", "--source", file, env=env)
        assert (shown["provider"], [limit["limit"] for limit in shown["limits"]]) == ("lights", ["90/s"])


def test_workers_elsewhere_need_the_file_too(processes: Processes) -> None:
    with serving(Lighthouses([light(1)])) as provider:
        file = describe(processes, provider)
        processes.json("import", "start", "--source", file)
        worker = processes.run("worker", "run", "--until-done", env={"WAYPOST_SOURCES": file})
        assert worker.returncode == 0
    assert set(places(processes)) == {"lights:1"}


def test_a_source_that_is_misspelt_is_told_with_what_there_is(processes: Processes) -> None:
    told = processes.run("import", "plan", "--source", "lihgts", env={"WAYPOST_SOURCES": ""})
    assert told.returncode == 2
    assert "there is no source 'lihgts'" in told.stderr
    missing = processes.run("import", "plan", "--source", "lights.toml")
    assert (missing.returncode, "lights.toml cannot be read" in missing.stderr) == (2, True)
    assert not Path(processes.folder / "waypost-data").exists()
