"""The one request before an import: a fault that may pass is tried again, and all else is told at once."""

import asyncio
import random
from pathlib import Path

import pytest

from support.told_provider import Told, http, provider
from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.sources import open_source
from waypost.importing import start as starting
from waypost.importing.source import AccessDenied, ProviderRefused, ProviderUnavailable
from waypost.settings import load_settings

FINE = http([])
FAILED = http(status=500)
BROKEN = http(b"no gzip", headers={"Content-Encoding": "gzip"})
REFUSED = http(status=429, headers={"Retry-After": "0"})


class NoJitter(random.Random):
    """Tries again at once."""

    def uniform(self, a: float, b: float) -> float:
        return a


def requests(folder: Path, *answers: Told, error: type[Exception] | None = None) -> int:
    """How often a provider is asked that gives these answers, and the last of them for ever; and how that ends."""

    async def check() -> int:
        async with provider(*answers) as told:
            environ = {"WAYPOST_OCM_URL": told.url, "WAYPOST_BUDGET": "99/s"}
            settings = load_settings({"data": str(folder)}, environ=environ)
            async with open_source("ocm", settings) as source, open_budget(settings) as budget:
                checked = starting.check_provider(source, budget, max_wait=20, rng=NoJitter())
                if error is None:
                    await checked
                else:
                    with pytest.raises(error):
                        await checked
            return len(told.requests)

    return asyncio.run(check())


def test_a_provider_that_answers_is_asked_once(tmp_path: Path) -> None:
    assert requests(tmp_path, FINE) == 1


def test_faults_that_pass_are_tried_again(tmp_path: Path) -> None:
    assert requests(tmp_path, FAILED, REFUSED, BROKEN, REFUSED, FINE) == 5


@pytest.mark.parametrize(("answer", "error"), [(FAILED, ProviderUnavailable), (REFUSED, ProviderRefused)])
def test_a_fault_that_stays_is_told_after_some_tries(tmp_path: Path, answer: Told, error: type[Exception]) -> None:
    assert requests(tmp_path, answer, error=error) == 5


def test_a_wrong_key_is_told_at_once(tmp_path: Path) -> None:
    assert requests(tmp_path, http(status=403), error=AccessDenied) == 1
    assert requests(tmp_path, FAILED, http(status=401), error=AccessDenied) == 2


def test_a_pause_that_is_longer_than_we_wait_is_told_at_once(tmp_path: Path) -> None:
    assert requests(tmp_path, http(status=429, headers={"Retry-After": "3600"}), error=ProviderRefused) == 1


def test_nobody_waits_again_and_again_for_a_provider_that_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_SLOW_SECONDS", 0.0)
    assert requests(tmp_path, FAILED, error=ProviderUnavailable) == 1
