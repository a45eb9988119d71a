"""What drivers raise becomes ours at the border: a failover is trouble of the store, which passes, and no defect."""

import asyncpg
import pytest

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused
from waypost.adapters.postgres.errors import translated
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
