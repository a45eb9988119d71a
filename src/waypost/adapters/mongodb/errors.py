"""Driver errors become ours at this border, and nothing crosses it without a time-out."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pymongo
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import WaypostError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Server error codes, as its error_codes.yml names them.
_WRITE_CONFLICT = 112
_DUPLICATE_KEY = 11000
_OUT_OF_DISK_SPACE = 14031
_REFUSALS = {13, 18}  # Unauthorized, AuthenticationFailed
_TOO_LARGE_FOR_CACHE = 388
# The server, or one it needs, is away, starting, stopping, or no longer the primary. After a write, what was written
# may be rolled back; after a read, the rest of the answer is lost.
_NOT_SERVING = {
    6,  # HostUnreachable
    7,  # HostNotFound
    43,  # CursorNotFound
    64,  # WriteConcernFailed
    89,  # NetworkTimeout
    91,  # ShutdownInProgress
    100,  # UnsatisfiableWriteConcern
    133,  # FailedToSatisfyReadPreference
    134,  # ReadConcernMajorityNotAvailableYet
    189,  # PrimarySteppedDown
    202,  # NetworkInterfaceExceededTimeLimit
    237,  # CursorKilled
    9001,  # SocketException
    10058,  # LegacyNotPrimary
    10107,  # NotWritablePrimary
    11600,  # InterruptedAtShutdown
    11601,  # Interrupted
    11602,  # InterruptedDueToReplStateChange
    13388,  # StaleConfig
    13435,  # NotPrimaryNoSecondaryOk
    13436,  # NotPrimaryOrSecondary
}
_CONTENDED = {
    24,  # LockTimeout
    46,  # LockBusy
    112,  # WriteConflict
    175,  # QueryPlanKilled
    244,  # TransactionAborted
    251,  # NoSuchTransaction
    262,  # ExceededTimeLimit
    290,  # TransactionExceededLifetimeLimitSeconds
    11000,  # DuplicateKey
}


def at_the_border(
    patience: float,
) -> Callable[[Callable[Parameters, Awaitable[Result]]], Callable[Parameters, Coroutine[Any, Any, Result]]]:
    """For a method that talks to MongoDB: all its commands together may take `patience` seconds, retries included."""

    def decorate(
        method: Callable[Parameters, Awaitable[Result]],
    ) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
        @wraps(method)
        async def bordered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            try:
                with pymongo.timeout(patience):
                    return await method(*args, **kwargs)
            except PyMongoError as error:
                ours = translate(error)
                if ours is None:
                    raise
                raise ours from error

        return bordered

    return decorate


def translate(error: PyMongoError) -> WaypostError | None:
    """Our error for one of the driver's, or None for a defect of ours, which should be seen as one."""
    # What the driver says after its first sentence lists every server and its state; passwords are not in it.
    said = str(error)[:300]
    codes = codes_of(error)
    if isinstance(error, ConfigurationError):
        return bad_url(said)
    return _for_want_of_room(codes, said) or _for_now(error, codes, said)


def _for_want_of_room(codes: set[int], said: str) -> WaypostError | None:
    if _TOO_LARGE_FOR_CACHE in codes:
        return StoreBusy(
            f"MongoDB's memory is too small for one transaction: {said}",
            next_step="give it more (storage.wiredTiger.engineConfig.cacheSizeGB), or lower import.max_pages",
        )
    if _OUT_OF_DISK_SPACE in codes:
        return StoreFull("MongoDB's disk is full", next_step="free some space on the server, then try again")
    return None


def _for_now(error: PyMongoError, codes: set[int], said: str) -> WaypostError | None:
    if _is_away(error, codes):
        return StoreAway(f"MongoDB does not answer: {said}")
    if codes & _REFUSALS:
        return StoreRefused(
            f"MongoDB refuses us: {said}", next_step="check user, password and rights in the store's URL"
        )
    if error.has_error_label("TransientTransactionError") or codes & _CONTENDED:
        return StoreBusy(f"others kept changing the same documents: {said}")
    return None


def _is_away(error: PyMongoError, codes: set[int]) -> bool:
    labels = ("UnknownTransactionCommitResult", "RetryableWriteError")
    return (
        isinstance(error, ConnectionFailure | WriteConcernError)
        or error.timeout
        or any(map(error.has_error_label, labels))
        or bool(codes & _NOT_SERVING)
    )


def bad_url(said: str) -> SettingError:
    return SettingError(
        f"store: this is not a usable MongoDB URL: {said}; write it like mongodb://host:27017/waypost?replicaSet=rs0",
        parameter="store",
    )


def is_duplicate(error: PyMongoError) -> bool:
    return _DUPLICATE_KEY in codes_of(error)


def is_write_conflict(error: PyMongoError) -> bool:
    return _WRITE_CONFLICT in codes_of(error)


def codes_of(error: PyMongoError) -> set[int]:
    if isinstance(error, BulkWriteError):
        details = error.details or {}
        failures = [*details.get("writeErrors", []), *details.get("writeConcernErrors", [])]
        return {failure["code"] for failure in failures}
    return {error.code} if isinstance(error, OperationFailure) and error.code is not None else set()
