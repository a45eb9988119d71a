"""Driver errors become ours at this border."""

from redis import exceptions as driver
from redis.asyncio.sentinel import MasterNotFoundError

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused, StoreTooNew
from waypost.kernel.errors import WaypostError

# The first word of a script's own refusal; the second is the oldest layout that may still be used.
TOO_NEW = "TOONEW"

# What a driver may raise. The error of a cluster that cannot be asked for its nodes has a family of its own.
DRIVER_ERRORS = (driver.RedisError, driver.RedisClusterException, OSError, RuntimeError)

# In this order: a refused password is a kind of lost connection for the driver.
_KINDS: tuple[tuple[type[Exception], type[WaypostError]], ...] = (
    (driver.AuthenticationError, StoreRefused),
    (driver.AuthorizationError, StoreRefused),
    (driver.AuthenticationWrongNumberOfArgsError, StoreRefused),
    (driver.NoPermissionError, StoreRefused),
    (driver.OutOfMemoryError, StoreFull),
    (driver.TryAgainError, StoreBusy),
    (driver.MaxConnectionsError, StoreBusy),
    # A replica, or a node that lost its slots: a failover is under way, and the next try may find the new primary.
    (driver.ReadOnlyError, StoreAway),
    (driver.ClusterError, StoreAway),
    (driver.RedisClusterException, StoreAway),
    # A cluster's client goes where it is sent; one that was told of a single server cannot.
    (driver.AskError, StoreRefused),
    (driver.ConnectionError, StoreAway),
    (driver.TimeoutError, StoreAway),
    (OSError, StoreAway),
    # How uvloop says that the connection was cut, before the driver has heard of it.
    (RuntimeError, StoreAway),
)
# A script met a key that is on its way to another node.
_NOT_LOCAL = "access a non local key"
_CLOSED = "the handler is closed"
# Replies that the driver has no class for, by their first word.
_WORDS: dict[str, type[WaypostError]] = {
    "BUSY": StoreBusy,
    "MISCONF": StoreFull,
    "UNKILLABLE": StoreBusy,
    "NOREPLICAS": StoreAway,
    "NOMASTERLINK": StoreAway,
    "READONLY": StoreAway,
    "LOADING": StoreAway,
    "MASTERDOWN": StoreAway,
    "CLUSTERDOWN": StoreAway,
    "OOM": StoreFull,
    "WRONGPASS": StoreRefused,
    "NOAUTH": StoreRefused,
}


def translate(error: Exception, address: str) -> WaypostError | None:
    """Our error for one of the driver's, or None for a defect of ours, which should be seen as one."""
    word, _, rest = str(error).partition(" ")
    if word == TOO_NEW:
        return StoreTooNew(
            f"the jobs in Redis at {address} were changed by a newer Waypost (it needs layout {rest})",
            next_step="install the newer release, or use another namespace",
        )
    if isinstance(error, RuntimeError) and not str(error).endswith(_CLOSED):
        return None
    kind = _kind(error)
    return kind(f"Redis at {address}: {_message(error)}", next_step=_next_step(kind, error)) if kind else None


def _message(error: Exception) -> str:
    # What follows are the driver's own objects, one for each sentinel.
    return str(error).partition(" : ")[0] if isinstance(error, MasterNotFoundError) else str(error)


def _kind(error: Exception) -> type[WaypostError] | None:
    cause = error.__cause__
    if isinstance(error, driver.RedisClusterException) and isinstance(cause, driver.RedisError):
        return _kind(cause)  # why none of a cluster's nodes could be asked
    text = str(error)
    if _NOT_LOCAL in text:
        return StoreAway
    # Before Redis 7, a script's error begins with its own words, and what the server said follows a dash.
    word = text.partition(" -")[2].partition(" ")[0] if "Error running script" in text else ""
    kinds = (ours for theirs, ours in _KINDS if isinstance(error, theirs))
    return _WORDS.get(word or text.partition(" ")[0]) or next(kinds, None)


def _next_step(kind: type[WaypostError], error: Exception) -> str | None:
    if isinstance(error, driver.AskError):
        return "this is a node of a cluster: let the URL begin with redis+cluster:// (or rediss+cluster://)"
    if isinstance(error, MasterNotFoundError):
        return "see that the sentinels run and know a master of the name that follows them in the URL"
    if kind is StoreAway:
        return "see that Redis runs and can be reached from here, and that WAYPOST_REDIS or WAYPOST_JOBS names it"
    if kind is StoreRefused:
        return "check the name and password in WAYPOST_REDIS or WAYPOST_JOBS, and that user's rights (ACL)"
    if kind is StoreFull:
        return "give Redis more memory or disk (maxmemory, maxmemory-policy noeviction), or prune what is done"
    return None
