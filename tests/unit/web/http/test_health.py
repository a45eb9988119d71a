"""Alive, ready, and why not."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from support.asking import assert_problem, get
from support.places import place
from waypost.adapters.errors import StoreFull
from waypost.kernel.errors import TransientError
from waypost.roles.kit.snapshot_watcher import SnapshotWatcher
from waypost.serving.building.builder import build
from waypost.serving.format import FEATURES
from waypost.settings import load_settings
from waypost.web.app import make_app
from waypost.web.http import health
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.health import Probe, softened
from waypost.web.http.local_trust import LocalTrust

NOW = datetime(2026, 2, 21, tzinfo=UTC)
READY = ("/readyz", "/healthz", "/health")


def app_with(**probes: Probe) -> ASGIApp:
    return make_app(probes=probes, guard=WriteGuard(LocalTrust.on("127.0.0.1")))


async def well() -> None:
    pass


async def unwell() -> None:
    raise TransientError("the store does not answer")


@pytest.fixture
def watcher(tmp_path: Path) -> SnapshotWatcher:
    return SnapshotWatcher(load_settings({"data": str(tmp_path)}, environ={}))


def look(watcher: SnapshotWatcher) -> None:
    asyncio.run(watcher.look())


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


def test_a_places_server_is_not_ready_before_a_snapshot_and_ready_after(
    watcher: SnapshotWatcher, tmp_path: Path
) -> None:
    app = app_with(snapshot=watcher.probe)
    look(watcher)
    before = get(app, "/readyz?verbose")
    assert (before.status_code, before.json()["ready"]) == (503, False)
    assert before.json()["checks"]["snapshot"] == "there is no snapshot yet"
    build([place(1)], tmp_path / "snapshots", now=NOW)
    look(watcher)
    after = get(app, "/readyz?verbose")
    assert (after.status_code, after.json()) == (200, {"ready": True, "checks": {"snapshot": "ok"}})


def test_a_snapshot_that_cannot_be_opened_is_the_reason(watcher: SnapshotWatcher, tmp_path: Path) -> None:
    report = build([place(1)], tmp_path / "snapshots", now=NOW)
    (tmp_path / "snapshots" / report.generation / FEATURES).unlink()
    look(watcher)
    answer = get(app_with(snapshot=watcher.probe), "/readyz?verbose")
    assert answer.status_code == 503
    assert f"{FEATURES} is missing" in answer.json()["checks"]["snapshot"]


def test_a_later_snapshot_that_cannot_be_opened_leaves_the_earlier_in_service_and_is_told(
    watcher: SnapshotWatcher, tmp_path: Path
) -> None:
    served = build([place(1)], tmp_path / "snapshots", now=NOW)
    look(watcher)
    broken = build([place(1), place(2)], tmp_path / "snapshots", now=NOW + timedelta(hours=1))
    (tmp_path / "snapshots" / broken.generation / FEATURES).unlink()
    look(watcher)
    answer = get(app_with(snapshot=watcher.probe), "/readyz?verbose")
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


async def full() -> None:
    raise StoreFull("the database /srv/my data/waypost.db: database or disk is full", next_step="free /srv/my data")


def test_what_is_wrong_is_told_without_a_path_of_this_machine() -> None:
    answer = get(app_with(store=full), "/readyz?verbose")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"store": "the store has no room left"}
    assert "/srv" not in answer.text


def test_a_probe_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_PATIENCE_SECONDS", 0.05)

    async def never() -> None:
        await asyncio.Event().wait()

    answer = get(app_with(store=never, snapshot=well), "/readyz?verbose")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"store": "no answer in time", "snapshot": "ok"}


def test_a_soft_probe_tells_what_goes_on_without_it_and_leaves_the_process_ready() -> None:
    answer = get(app_with(store=softened(full, "links are followed from memory")), "/readyz?verbose")
    assert answer.status_code == 200
    told = "links are followed from memory: the store has no room left"
    assert answer.json() == {"ready": True, "checks": {"store": told}}
    assert get(app_with(store=softened(well, "…")), "/readyz?verbose").json()["checks"] == {"store": "ok"}


def test_a_snapshot_that_cannot_be_read_is_told_without_its_folder(watcher: SnapshotWatcher, tmp_path: Path) -> None:
    report = build([place(1)], tmp_path / "snapshots", now=NOW)
    (tmp_path / "snapshots" / report.generation / FEATURES).unlink()
    look(watcher)
    answer = get(app_with(snapshot=watcher.probe), "/readyz?verbose")
    assert str(tmp_path) not in answer.text
