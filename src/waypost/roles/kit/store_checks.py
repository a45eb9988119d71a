"""Are the stores that somebody has configured there, and fit to be used?"""

import asyncio
from collections.abc import Iterator

from waypost.bootstrap.inspecting import ClockDifference, StoreState, inspect_store
from waypost.roles.kit.finding import Finding
from waypost.settings import StorageSettings

# What we compare with the store's clock (what a day or an hour is, when a link ends) bears no more.
_MOST_SECONDS = 5.0
_KEEPS_ALL = "noeviction"
_NAMES = {"store": "store", "jobs": "jobs", "analytics": "analytics", "redis": "Redis"}


def configured_stores(storage: StorageSettings) -> dict[str, str]:
    """The address of each store that is in use, by the name of its setting."""
    urls = {"store": storage.store_url, "jobs": storage.jobs, "analytics": storage.analytics, "redis": storage.redis}
    return {setting: url for setting, url in urls.items() if url}


def store_name(setting: str) -> str:
    return _NAMES[setting]


def store_advice(setting: str) -> str:
    return f"see that it runs and can be reached from here, and WAYPOST_{setting.upper()}: waypost config show"


def check_store(setting: str, url: str) -> list[Finding]:
    return list(judge_store(store_name(setting), asyncio.run(inspect_store(url, setting))))


def judge_store(name: str, state: StoreState) -> Iterator[Finding]:
    yield judge_schema(name, state)
    if state.clock:
        yield judge_clock(name, state.clock)
    if state.eviction != ():
        yield judge_eviction(name, state.eviction)


def judge_schema(name: str, state: StoreState) -> Finding:
    found = "answers" if state.schema is None else f"schema {state.schema}" if state.schema else "not made yet"
    if state.schema and state.pending:
        found += f", without {', '.join(state.pending)}"
    # A file's schema is brought up to date by the next process that opens it; on a server a person does that.
    ok = state.migrates_itself or not state.pending
    return Finding(name=name, ok=ok, found=found, advice="waypost db migrate")


def judge_clock(name: str, clock: ClockDifference) -> Finding:
    return Finding(
        name=f"clock of the {name}",
        ok=abs(clock.ahead) - clock.unsure <= _MOST_SECONDS,
        found=f"{abs(clock.ahead):.1f} s {'ahead of' if clock.ahead > 0 else 'behind'} ours",
        advice="set both clocks by NTP: timedatectl set-ntp true",
    )


def judge_eviction(name: str, policies: tuple[str, ...] | None) -> Finding:
    named = f"eviction at the {name}"
    if policies is None:
        advice = "let this user use INFO, or see to maxmemory-policy noeviction yourself"
        return Finding(name=named, ok=False, found="we may not ask", advice=advice, needed=False)
    if policies == (_KEEPS_ALL,):
        return Finding(name=named, ok=True, found=_KEEPS_ALL)
    found = f"{', '.join(policies)}: when its memory is full, it forgets budgets and jobs"
    advice = "on its server: redis-cli config set maxmemory-policy noeviction"
    return Finding(name=named, ok=False, found=found, advice=advice)
