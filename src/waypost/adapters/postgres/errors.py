"""Driver errors become ours at this border."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused
from waypost.kernel.errors import WaypostError

# The first that fits counts.
_KINDS: tuple[tuple[type[Exception], type[WaypostError]], ...] = (
    (asyncpg.QueryCanceledError, StoreBusy),
    (asyncpg.StatementCompletionUnknownError, StoreAway),
    (asyncpg.TransactionRollbackError, StoreBusy),  # deadlocks among them
    (asyncpg.LockNotAvailableError, StoreBusy),
    (asyncpg.TooManyConnectionsError, StoreBusy),
    (asyncpg.InsufficientResourcesError, StoreFull),
    (asyncpg.InvalidAuthorizationSpecificationError, StoreRefused),
    (asyncpg.InvalidCatalogNameError, StoreRefused),
    (asyncpg.InsufficientPrivilegeError, StoreRefused),
    (asyncpg.PostgresConnectionError, StoreAway),
    (asyncpg.OperatorInterventionError, StoreAway),  # it shuts down, or is starting up
    (asyncpg.IdleInTransactionSessionTimeoutError, StoreAway),
    (asyncpg.TransactionTimeoutError, StoreAway),
    # After a failover the old primary may answer as a replica.
    (asyncpg.ReadOnlySQLTransactionError, StoreAway),
    # Its disk fails, its files are missing, its own state is not what it should be: another server may take over.
    (asyncpg.PostgresIOError, StoreFull),
    (asyncpg.PostgresSystemError, StoreAway),
    (asyncpg.InternalServerError, StoreAway),
    (asyncpg.TargetServerAttributeNotMatched, StoreAway),
    # Refused, reset, unreachable; and a time-out, after which nobody knows what happened.
    (OSError, StoreAway),
)

# Values that are never taken: of the wrong kind, out of range, too long for an index, or against a rule of the schema.
# What the driver itself refuses, before it sends anything, is a ValueError.
REFUSALS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    ValueError,
)

# The server said goodbye between two statements, and the driver has not seen the end of the connection yet; or it has,
# while the connection was on its way back to the pool.
_LOST = ("cannot switch to state", "called on a free connection holder")


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Whatever the driver raises in here becomes ours; what is a defect of ours stays as it is, to be seen as one."""
    try:
        yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
        kind = _kind(error)
        if kind is None:
            raise
        raise kind(f"the database {name}: {_message(error)}", next_step=_next_step(kind, name)) from error


def why_refused(error: Exception) -> str:
    """What the server says about a value, without its details; the driver would quote the value itself."""
    return str(error.args[0]) if isinstance(error, asyncpg.PostgresError) else type(error).__name__


def _kind(error: Exception) -> type[WaypostError] | None:
    if isinstance(error, asyncpg.InterfaceError):
        # Its subclasses are about wrong arguments; the class itself says that the connection is not there any more.
        return StoreAway if type(error) is asyncpg.InterfaceError and "clos" in str(error) else None
    if isinstance(error, asyncpg.InternalClientError) and any(each in str(error) for each in _LOST):
        return StoreAway
    return next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), None)


def _message(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "no host is what the URL asks for, such as a primary that takes writes"
    return str(error) or type(error).__name__


def _next_step(kind: type[WaypostError], name: str) -> str | None:
    if kind is StoreAway:
        return f"see whether PostgreSQL runs at {name}, and whether WAYPOST_STORE or WAYPOST_ANALYTICS names it rightly"
    if kind is StoreRefused:
        return "check user, password and database in the URL: waypost config show"
    if kind is StoreFull:
        return f"free some space or memory on the server of {name}"
    return None
