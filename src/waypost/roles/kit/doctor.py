"""Everything that `waypost doctor` checks: all at once, each within a time of its own, and none hides another."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from waypost.kernel.clock import monotonic
from waypost.roles.kit import machine_checks as machine
from waypost.roles.kit.finding import Finding, trouble
from waypost.roles.kit.store_checks import check_store, configured_stores, store_advice, store_name
from waypost.settings import Settings

# Longer than any store waits for its own connection: what it says is worth more than that it said nothing.
_PATIENCE_SECONDS = 15.0


class Check:
    """A check at work, in a thread that nobody waits for at the end: a file system that hangs would never let go."""

    def __init__(
        self, name: str, look: Callable[[], Finding | list[Finding]], advice: str = "waypost config show"
    ) -> None:
        self._name = name
        self._look = look
        self._advice = advice
        self._answer: SimpleQueue[list[Finding]] = SimpleQueue()
        threading.Thread(target=self._run, name="check", daemon=True).start()

    def findings(self, until: float, patience: float) -> list[Finding]:
        try:
            return self._answer.get(timeout=max(0.0, until - monotonic()))
        except Empty:
            found = f"no answer in {patience:.0f} seconds"
            return [Finding(name=self._name, ok=False, found=found, advice=self._advice)]

    def _run(self) -> None:
        try:
            found = self._look()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are told too
            found = trouble(self._name, error, self._advice)
        self._answer.put([found] if isinstance(found, Finding) else found)


def examine(settings: Settings, patience: float = _PATIENCE_SECONDS) -> list[Finding]:
    until = monotonic() + patience
    return [finding for check in list(_begin(settings)) for finding in check.findings(until, patience)]


def _begin(settings: Settings) -> Iterator[Check]:
    folder = settings.storage.folder
    yield Check("Python", machine.check_python)
    yield Check("SQLite", machine.check_sqlite)
    yield Check("system", machine.check_system)
    yield Check("time zones", machine.check_time_zones)
    yield Check("open files", partial(machine.check_open_files, settings))
    yield Check("data folder", partial(machine.check_folder, folder))
    yield Check("free disk space", partial(machine.check_free_space, "free disk space", folder))
    if settings.serving.snapshots:
        name = "free space for snapshots"
        yield Check(name, partial(machine.check_free_space, name, settings.snapshots.absolute()))
    for setting, url in configured_stores(settings.storage).items():
        yield Check(store_name(setting), partial(check_store, setting, url), store_advice(setting))
    yield Check("port", partial(machine.check_port, settings))
    yield Check("provider key", partial(machine.check_key, settings))
    yield Check("Chromium", machine.check_browser)


def is_fit(findings: Sequence[Finding]) -> bool:
    return all(finding.ok or not finding.needed for finding in findings)
