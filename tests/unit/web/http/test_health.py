"""Alive, ready, and why not."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from support.asking import assert_problem, get
from support.places import place
from waypost.kernel.errors import TransientError
from waypost.roles.kit.live_places import LivePlaces
from waypost.serving.building.builder import build
from waypost.serving.format import FEATURES
from waypost.settings import load_settings
from waypost.web.app import make_app
from waypost.web.http.guard import WriteGuard
from waypost.web.http.health import Probe

NOW = datetime(2026, 2, 21, tzinfo=UTC)
READY = ("/readyz", "/healthz", "/health")


def app_with(**probes: Probe) -> ASGIApp:
    return make_app(probes=probes, guard=WriteGuard("127.0.0.1"))


async def well() -> None:
    pass


async def unwell() -> None:
    raise TransientError("the store does not answer")


@pytest.fixture
def role(tmp_path: Path) -> LivePlaces:
    return LivePlaces(load_settings({"data": str(tmp_path)}, environ={}))


def look(role: LivePlaces) -> None:
    asyncio.run(role.look())


def test_a_process_that_answers_is_alive_whatever_else_is_wrong() -> None:
    answer = get(app_with(store=unwell), "/livez")
    assert (answer.status_code, answer.text) == (200, "ok\n")


@pytest.mark.parametrize("path", READY)
def test_a_process_is_ready_when_all_its_probes_are_well(path: str) -> None:
    answer = get(app_with(snapshot=well, store=well), path)
    assert (answer.status_code, answer.text) == (200, "ok\n")


@pytest.mark.parametrize("path", READY)
def test_one_probe_that_is_not_well_is_enough_to_be_not_ready(path: str) -> None:
    app = app_with(snapshot=well, store=unwell)
    assert (get(app, path).status_code, get(app, path).text) == (503, "not ready\n")
    verbose = get(app, f"{path}?verbose")
    assert verbose.status_code == 503
    assert verbose.json() == {"ready": False, "checks": {"snapshot": "ok", "store": "the store does not answer"}}


@pytest.mark.parametrize("path", [*READY, "/livez", "/metrics"])
def test_a_probe_may_ask_with_head(path: str) -> None:
    assert get(app_with(store=well), path, "HEAD").status_code == 200


def test_a_places_server_is_not_ready_before_a_snapshot_and_ready_after(role: LivePlaces, tmp_path: Path) -> None:
    app = app_with(snapshot=role.probe)
    look(role)
    before = get(app, "/readyz?verbose")
    assert (before.status_code, before.json()["ready"]) == (503, False)
    assert before.json()["checks"]["snapshot"] == "there is no snapshot yet"
    build([place(1)], tmp_path / "snapshots", now=NOW)
    look(role)
    after = get(app, "/readyz?verbose")
    assert (after.status_code, after.json()) == (200, {"ready": True, "checks": {"snapshot": "ok"}})


def test_a_snapshot_that_cannot_be_opened_is_the_reason(role: LivePlaces, tmp_path: Path) -> None:
    report = build([place(1)], tmp_path / "snapshots", now=NOW)
    (tmp_path / "snapshots" / report.generation / FEATURES).unlink()
    look(role)
    answer = get(app_with(snapshot=role.probe), "/readyz?verbose")
    assert answer.status_code == 503
    assert f"{FEATURES} is missing" in answer.json()["checks"]["snapshot"]


def test_a_later_snapshot_that_cannot_be_opened_leaves_the_earlier_in_service_and_is_told(
    role: LivePlaces, tmp_path: Path
) -> None:
    served = build([place(1)], tmp_path / "snapshots", now=NOW)
    look(role)
    broken = build([place(1), place(2)], tmp_path / "snapshots", now=NOW + timedelta(hours=1))
    (tmp_path / "snapshots" / broken.generation / FEATURES).unlink()
    look(role)
    answer = get(app_with(snapshot=role.probe), "/readyz?verbose")
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert f"still serving {served.generation}" in answer.json()["checks"]["snapshot"]
    assert f"{FEATURES} is missing" in answer.json()["checks"]["snapshot"]


def test_metrics_are_in_the_prometheus_format() -> None:
    answer = get(app_with(), "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "# TYPE waypost_http_requests_total counter" in answer.text


def test_only_what_a_role_has_is_served() -> None:
    for path in ("/v1/places", "/v1/links/otter", "/otter", "/-/status"):
        answer = get(app_with(), path)
        assert answer.status_code == 404
    assert_problem(get(app_with(), "/v1/places"), 404, "not-found")
