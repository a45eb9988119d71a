"""Logs: JSON for machines, a line for people, and no secret in either."""

import io
import json
import logging
from typing import Any

import pytest
import structlog

from waypost.telemetry.logs import configure_logs, get_logger, parse_level

SECRET = "hunter2"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    out, err = capsys.readouterr()
    assert not out
    return [json.loads(line) for line in err.splitlines()]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_away_from_a_terminal_each_line_is_a_json_object_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    get_logger("test").info("a page came", shard="ocm/country:DE", places=7)
    (line,) = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "a page came", "room": "test", "level": "info", "shard": "ocm/country:DE", "places": 7}


def test_on_a_terminal_people_read_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    configure_logs("info")
    get_logger("test").info("a page came", key=SECRET)
    assert "a page came" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")
    assert SECRET not in terminal.getvalue()


def test_what_is_below_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("warning")
    get_logger("test").info("all is well")
    get_logger("test").warning("something is amiss")
    assert [line["event"] for line in lines(capsys)] == ["something is amiss"]


def test_libraries_are_heard_only_when_something_is_amiss(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug")
    logging.getLogger("somebody").info("a connection was made")
    logging.getLogger("somebody").warning("a connection was %s", "lost")
    assert [(line["event"], line["level"]) for line in lines(capsys)] == [("a connection was lost", "warning")]


@pytest.mark.parametrize(
    "name", ["key", "api_key", "X-API-Key", "password", "Authorization", "cookie", "refresh_token", "client_secret"]
)
def test_what_may_be_secret_by_its_name_is_redacted(capsys: pytest.CaptureFixture[str], name: str) -> None:
    configure_logs("info")
    get_logger("test").info("asking", **{name: SECRET})
    (line,) = lines(capsys)
    assert line[name] == "***"


def test_a_secret_is_redacted_also_where_it_was_bound_before(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    with structlog.contextvars.bound_contextvars(api_key=SECRET):
        get_logger("test").bind(password=SECRET).info("asking")
    (line,) = lines(capsys)
    assert (line["api_key"], line["password"]) == ("***", "***")


def test_a_secret_is_redacted_inside_a_record_too(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    get_logger("test").info("asking", headers={"X-API-Key": SECRET, "Accept": "application/json"})
    assert SECRET not in capsys.readouterr().err


def test_a_password_inside_a_url_is_redacted(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    get_logger("test").warning("the store is away", url=f"postgresql://ada:{SECRET}@db/waypost")
    logging.getLogger("driver").warning("cannot connect to redis://:%s@cache", SECRET)
    assert SECRET not in capsys.readouterr().err


def test_a_traceback_says_where_and_not_with_which_values(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(provider: str) -> None:
        headers = provider + SECRET
        raise RuntimeError(f"nobody is there, {len(headers)} times")

    configure_logs("info")
    try:
        ask("the-provider")
    except RuntimeError:
        get_logger("test").exception("asking failed")
        logging.getLogger("somebody").exception("and so did we")
    text = capsys.readouterr().err
    assert text.count("nobody is there") >= 2
    assert '"ask"' in text
    assert SECRET not in text


def test_a_log_level_is_one_of_four() -> None:
    assert parse_level("WARNING") == "warning"
    for wrong in ("loud", "", "notset", "critical"):
        with pytest.raises(ValueError, match="use debug, info, warning or error"):
            parse_level(wrong)
