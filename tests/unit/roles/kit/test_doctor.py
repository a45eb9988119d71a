"""Checks that fail, hang or raise, beside others that must be told all the same."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from waypost.roles.kit import doctor_checks
from waypost.roles.kit.doctor import examine, is_fit
from waypost.roles.kit.doctor_checks import Finding
from waypost.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"data": str(tmp_path / "data")}, environ={})


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A data folder whose file system never answers."""
    released = threading.Event()
    monkeypatch.setattr(doctor_checks, "check_folder", lambda _folder: released.wait())
    yield
    released.set()


@pytest.mark.usefixtures("hanging")
def test_a_check_that_hangs_is_given_up_on_and_the_others_are_told(settings: Settings) -> None:
    findings = {finding.name: finding for finding in examine(settings, patience=3.0)}
    assert not findings["data folder"].ok
    assert "no answer in 3 seconds" in findings["data folder"].found
    assert {"Python", "free disk space", "store", "port"} <= findings.keys()
    assert findings["store"].ok


def test_a_check_that_raises_is_told_as_its_own_failure(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_folder: Path) -> Finding:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(doctor_checks, "check_folder", broken)
    findings = {finding.name: finding for finding in examine(settings)}
    assert (findings["data folder"].ok, findings["data folder"].found) == (False, "Input/output error")
    assert findings["Python"].ok


def test_only_what_is_needed_counts() -> None:
    well, hint = Finding(name="a", ok=True, found=""), Finding(name="b", ok=False, found="", needed=False)
    assert is_fit([well, hint])
    assert not is_fit([well, hint, Finding(name="c", ok=False, found="")])
