"""Everything that `waypost doctor` checks: all at once, each within a time of its own, and none hides another."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from waypost.kernel.clock import monotonic
from waypost.roles.kit import doctor_checks as checks
from waypost.roles.kit.doctor_checks import Finding, trouble
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
    yield Check("Python", checks.check_python)
    yield Check("SQLite", checks.check_sqlite)
    yield Check("system", checks.check_system)
    yield Check("time zones", checks.check_time_zones)
    yield Check("open files", partial(checks.check_open_files, settings))
    yield Check("data folder", partial(checks.check_folder, folder))
    yield Check("free disk space", partial(checks.check_free_space, "free disk space", folder))
    if settings.serving.snapshots:
        name = "free space for snapshots"
        yield Check(name, partial(checks.check_free_space, name, settings.snapshots.absolute()))
    for setting, url in checks.configured_stores(settings.storage).items():
        yield Check(checks.store_name(setting), partial(checks.check_store, setting, url), checks.store_advice(setting))
    if settings.keys.file or settings.keys.bootstrap:
        yield Check("configured keys", partial(checks.check_configured_keys, settings))
    yield Check("port", partial(checks.check_port, settings))
    yield Check("provider key", partial(checks.check_key, settings))
    yield Check("Chromium", checks.check_browser)


def is_fit(findings: Sequence[Finding]) -> bool:
    return all(finding.ok or not finding.needed for finding in findings)
