"""What drivers raise becomes ours at the border: a failover is trouble of the store, which passes, and no defect."""

import asyncpg
import pytest
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ExecutionTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
)
from redis import exceptions as redis_errors
from redis._parsers.base import BaseParser

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused
from waypost.adapters.mongodb.errors import translate as translate_mongodb
from waypost.adapters.postgres.errors import translated
from waypost.adapters.redis.errors import translate as translate_redis
from waypost.kernel.errors import StoreTrouble, WaypostError

# By SQLSTATE.
POSTGRES: dict[str, type[WaypostError]] = {
    "08006": StoreAway,  # connection_failure
    "08P01": StoreAway,  # protocol_violation: a pooler lost its server
    "25006": StoreAway,  # read_only_sql_transaction: it is a replica now
    "25P03": StoreAway,
    "25P04": StoreAway,
    "28P01": StoreRefused,
    "3D000": StoreRefused,
    "40001": StoreBusy,
    "40003": StoreAway,  # statement_completion_unknown
    "40P01": StoreBusy,
    "42501": StoreRefused,
    "53100": StoreFull,
    "53300": StoreBusy,
    "55P03": StoreBusy,
    "57014": StoreBusy,
    "57P01": StoreAway,  # admin_shutdown
    "57P02": StoreAway,  # crash_shutdown
    "57P03": StoreAway,  # cannot_connect_now
    "58000": StoreAway,  # system_error
    "58030": StoreFull,  # io_error
    "58P01": StoreAway,  # undefined_file
    "XX000": StoreAway,  # internal_error
    "XX001": StoreAway,  # data_corrupted
    "XX002": StoreAway,  # index_corrupted
}
POSTGRES_DEFECTS = ("42601", "42P01", "23505", "22P02")


@pytest.mark.parametrize("state", POSTGRES)
def test_what_postgresql_says_becomes_ours(state: str) -> None:
    with pytest.raises(POSTGRES[state]) as ours, translated("here:5432/waypost"):
        raise asyncpg.PostgresError.new({"C": state, "M": "what it says"})
    assert "here:5432/waypost" in str(ours.value)
    assert isinstance(ours.value, StoreTrouble) == (POSTGRES[state] is not StoreRefused)


@pytest.mark.parametrize("state", POSTGRES_DEFECTS)
def test_a_wrong_statement_is_a_defect_of_ours(state: str) -> None:
    with pytest.raises(asyncpg.PostgresError), translated("here"):
        raise asyncpg.PostgresError.new({"C": state, "M": "what it says"})


def test_hosts_of_which_none_takes_writes_are_away() -> None:
    with pytest.raises(StoreAway, match="takes writes"), translated("here"):
        raise asyncpg.TargetServerAttributeNotMatched("None of the hosts match the target attribute requirement")


# By the server's error code.
MONGODB: dict[int, type[WaypostError]] = {
    6: StoreAway,  # HostUnreachable
    7: StoreAway,  # HostNotFound
    13: StoreRefused,  # Unauthorized
    18: StoreRefused,  # AuthenticationFailed
    24: StoreBusy,  # LockTimeout
    43: StoreAway,  # CursorNotFound
    50: StoreAway,  # MaxTimeMSExpired
    64: StoreAway,  # WriteConcernFailed
    89: StoreAway,  # NetworkTimeout
    91: StoreAway,  # ShutdownInProgress
    112: StoreBusy,  # WriteConflict
    134: StoreAway,  # ReadConcernMajorityNotAvailableYet
    175: StoreBusy,  # QueryPlanKilled
    189: StoreAway,  # PrimarySteppedDown
    237: StoreAway,  # CursorKilled
    251: StoreBusy,  # NoSuchTransaction
    290: StoreBusy,  # TransactionExceededLifetimeLimitSeconds
    388: StoreBusy,  # TransactionTooLargeForCache
    9001: StoreAway,  # SocketException
    10107: StoreAway,  # NotWritablePrimary
    11000: StoreBusy,  # DuplicateKey
    11600: StoreAway,  # InterruptedAtShutdown
    11602: StoreAway,  # InterruptedDueToReplStateChange
    13435: StoreAway,  # NotPrimaryNoSecondaryOk
    13436: StoreAway,  # NotPrimaryOrSecondary
    14031: StoreFull,  # OutOfDiskSpace
}
MONGODB_DEFECTS = (2, 9, 14, 40, 66)


def mongodb_said(code: int) -> PyMongoError:
    if code == 50:
        return ExecutionTimeout("what it says", code)
    return OperationFailure("what it says", code)


@pytest.mark.parametrize("code", MONGODB)
def test_what_mongodb_says_becomes_ours(code: int) -> None:
    in_bulk = BulkWriteError({"writeErrors": [{"code": code}], "writeConcernErrors": []})
    told = [mongodb_said(code)] + ([in_bulk] if code != 50 else [])
    assert {type(translate_mongodb(error)) for error in told} == {MONGODB[code]}


@pytest.mark.parametrize("code", MONGODB_DEFECTS)
def test_a_wrong_command_is_a_defect_of_ours(code: int) -> None:
    assert translate_mongodb(mongodb_said(code)) is None


@pytest.mark.parametrize("error", [AutoReconnect("gone"), NotPrimaryError("stepped down", {"code": 10107})])
def test_a_lost_primary_of_mongodb_is_away(error: PyMongoError) -> None:
    assert isinstance(translate_mongodb(error), StoreAway)


def test_a_write_that_mongodb_says_may_be_tried_again_is_trouble_that_passes() -> None:
    error = OperationFailure("what it says", 999999, {"errorLabels": ["RetryableWriteError"]})
    assert isinstance(translate_mongodb(error), StoreAway)


# As the server sends it.
REDIS: dict[str, type[WaypostError]] = {
    "READONLY You can't write against a read only replica.": StoreAway,
    "ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write": StoreAway,
    "LOADING Redis is loading the dataset in memory": StoreAway,
    "CLUSTERDOWN The cluster is down": StoreAway,
    "CLUSTERDOWN Hash slot not served": StoreAway,
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": StoreAway,
    "NOREPLICAS Not enough good replicas to write.": StoreAway,
    "TRYAGAIN Multiple keys request during rehashing of slot": StoreBusy,
    "BUSY Redis is busy running a script.": StoreBusy,
    "ERR Script attempted to access a non local key in a cluster node script: 1": StoreAway,
    "MISCONF Redis is configured to save RDB snapshots": StoreFull,
    "OOM command not allowed when used memory > 'maxmemory'.": StoreFull,
    "NOAUTH Authentication required.": StoreRefused,
    "WRONGPASS invalid username-password pair or user is disabled.": StoreRefused,
    "NOPERM this user has no permissions to run the 'eval' command": StoreRefused,
    "ERR max number of clients reached": StoreAway,
}


def redis_said(text: str) -> Exception:
    error: Exception = BaseParser.parse_error(text)  # type: ignore[no-untyped-call] # the driver's
    return error


@pytest.mark.parametrize("said", REDIS)
def test_what_redis_says_becomes_ours(said: str) -> None:
    ours = translate_redis(redis_said(said), "here:6379/0")
    assert type(ours) is REDIS[said]
    assert "here:6379/0" in str(ours)


@pytest.mark.parametrize("said", ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"])
def test_a_node_of_a_cluster_that_sends_us_elsewhere_says_which_url_to_use(said: str) -> None:
    ours = translate_redis(redis_said(said), "here")
    assert isinstance(ours, StoreRefused)
    assert "redis+cluster://" in str(ours.next_step)


def test_a_wrong_script_is_a_defect_of_ours() -> None:
    assert translate_redis(redis_said("ERR user_script:1: attempt to index a nil value"), "here") is None


def test_a_cluster_without_a_node_that_answers_is_away_or_refuses_us() -> None:
    away = redis_errors.RedisClusterException("Redis Cluster cannot be connected.")
    assert isinstance(translate_redis(away, "here"), StoreAway)
    away.__cause__ = redis_errors.AuthenticationError("invalid username-password pair")
    assert isinstance(translate_redis(away, "here"), StoreRefused)
    assert isinstance(translate_redis(redis_errors.SlotNotCoveredError("slot 1"), "here"), StoreAway)
