"""Drops visits that have been kept long enough; their counts stay."""

from datetime import timedelta

from waypost.kernel.clock import utc_now
from waypost.scaling.repeating import repeat
from waypost.sharing.visits.store import VisitStore
from waypost.telemetry.logs import get_logger

log = get_logger("visits")

_EVERY_SECONDS = 3600.0
# Few enough that processes counting visits meanwhile hardly wait.
_AT_ONCE = 1000


async def forget_old(store: VisitStore, kept: timedelta) -> int:
    before, forgotten = utc_now() - kept, 0
    while dropped := await store.forget(before, _AT_ONCE):
        forgotten += dropped
    return forgotten


async def keep_forgetting(store: VisitStore, kept: timedelta) -> None:
    """Drops old visits every hour until cancelled. Several processes may do it at once: each finds less to do."""

    async def forget() -> None:
        if forgotten := await forget_old(store, kept):
            log.info("old visits are dropped", visits=forgotten)

    await repeat(forget, _EVERY_SECONDS, log=log, failing="old visits stay for now")
