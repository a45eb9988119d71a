"""`waypost config show` tells all settings and where they come from, and no command tells a secret."""

import pytest

from support.processes import Processes
from waypost.settings import load_settings

SECRET = "hunter2"
STORE = f"postgresql://ada:{SECRET}@db/waypost"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_config_show_has_every_setting_and_no_secret(processes: Processes, more: tuple[str, ...]) -> None:
    environ = {"WAYPOST_OCM_KEY": SECRET, "WAYPOST_STORE": STORE}
    shown = processes.run("config", "show", *more, env=environ)
    assert shown.returncode == 0
    assert SECRET not in shown.stdout + shown.stderr
    assert [name for name in load_settings(environ={}).found if name not in shown.stdout] == []


def test_config_show_says_what_is_in_force_and_where_it_came_from(processes: Processes) -> None:
    (processes.folder / "waypost.toml").write_text('lease = "1m"')
    shown = processes.json("config", "show", env={"WAYPOST_OCM_KEY": SECRET, "WAYPOST_STORE": STORE})
    assert shown["lease"] == {"value": "1m", "origin": "waypost.toml", "variable": "WAYPOST_LEASE"}
    assert shown["ocm.key"] == {"value": "***", "origin": "WAYPOST_OCM_KEY", "variable": "WAYPOST_OCM_KEY"}
    assert shown["store"]["value"] == "postgresql://ada:***@db/waypost"
    assert shown["data"]["origin"] == "default"


def test_a_store_that_cannot_be_used_is_told_without_its_password(processes: Processes) -> None:
    told = processes.run("job", "list", env={"WAYPOST_STORE": STORE.replace("postgresql", "mysql")})
    assert told.returncode == 2
    assert "store: there is no adapter for 'mysql'" in told.stderr
    assert SECRET not in told.stdout + told.stderr
