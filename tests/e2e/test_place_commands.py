"""Looking at single places from the command line."""

import json

from support.processes import Processes


def test_a_place_is_shown_to_people_with_everything_that_scripts_get(processes: Processes) -> None:
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "50"), "WAYPOST_BUDGET": "100/s"}
    processes.json("import", "run", "--country", "DE", env=env)
    exported = processes.run("place", "export", env=env).stdout.splitlines()[0]
    expected = json.loads(exported)

    by_external_id = processes.run("place", "show", expected["external_id"], env=env)
    assert by_external_id.returncode == 0, by_external_id.stderr
    assert processes.run("place", "show", expected["id"], env=env).stdout == by_external_id.stdout
    shown = dict(line.split(maxsplit=1) for line in by_external_id.stdout.splitlines())
    assert list(shown) == list(expected)
    for name, value in expected.items():
        if value is None:
            assert shown[name] == "-"
        else:
            assert shown[name] == value if isinstance(value, str) else json.loads(shown[name]) == value
