"""The hosts in the URL of a PostgreSQL, as libpq reads them."""

import pytest

from waypost.adapters.postgres.connecting import read_address, with_parameters
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.kernel.configuration import SettingError

HOSTS = {
    "postgresql://ada:secret@db/waypost": [("db", None)],
    "postgresql://ada:secret@db:5433/waypost": [("db", 5433)],
    "postgresql://ada:secret@a:5432,b:5433/waypost": [("a", 5432), ("b", 5433)],
    "postgresql://ada:secret@a,b/waypost": [("a", None), ("b", None)],
    "postgres://a:5432,b:5433,c/waypost?target_session_attrs=primary": [("a", 5432), ("b", 5433), ("c", None)],
    "postgresql://[::1]:5433/waypost": [("::1", 5433)],
    "postgresql://ada:secret@[::1]:5432,[fe80::2]/waypost": [("::1", 5432), ("fe80::2", None)],
    "postgresql://db,[::1]:5433/waypost": [("db", None), ("::1", 5433)],
    "postgresql:///waypost": [(None, None)],
    "postgresql://": [(None, None)],
    "postgresql://:5433/waypost": [(None, 5433)],
    "postgresql:///waypost?host=a,b&port=5433": [("a", 5433), ("b", 5433)],
    "postgresql:///waypost?host=a,b&port=5433,5434": [("a", 5433), ("b", 5434)],
    "postgresql://ignored:1/waypost?host=a&port=2": [("a", 2)],
    "postgresql://%2Frun%2Fpostgresql/waypost": [("/run/postgresql", None)],
    "postgresql:///waypost?host=/run/postgresql": [("/run/postgresql", None)],
}
MISSPELT = (
    "postgresql://ada:very-secret@a:x/waypost",
    "postgresql://ada:very-secret@a:0/waypost",
    "postgresql://ada:very-secret@a:65536/waypost",
    "postgresql://ada:very-secret@a,b,c/waypost?port=1,2",
    "postgresql://ada:very-secret@[::1/waypost",
    "postgresql://ada:very-secret@::1/waypost",
    "postgresql://ada:very-secret@a/waypost?statement_cache_size=x",
)


@pytest.mark.parametrize("url", HOSTS)
def test_hosts_and_ports_are_read(url: str) -> None:
    address, _ = read_address(url)
    assert [(host.name, host.port) for host in address.hosts] == HOSTS[url]


@pytest.mark.parametrize("url", HOSTS)
def test_what_a_message_calls_the_database_has_no_password(url: str) -> None:
    address, _ = read_address(url)
    assert "secret" not in address.name
    assert "secret" not in repr(address)
    assert "ada" not in address.name


def test_a_message_calls_the_database_by_all_its_hosts() -> None:
    address, _ = read_address("postgresql://ada:secret@a:5433,[::1],/waypost")
    assert address.name == "a:5433,[::1]:5432,localhost:5432/waypost"


def test_the_driver_is_told_all_but_the_hosts() -> None:
    address, parameters = read_address("postgresql://ada:se%40cret@a/waypost?host=c&sslmode=require&options=-c%20x")
    assert with_parameters(address, parameters) == "postgresql://ada:se%40cret@/waypost?sslmode=require&options=-c+x"
    address, parameters = read_address("postgresql://a/waypost")
    assert with_parameters(address, parameters) == "postgresql:///waypost"


def test_of_several_hosts_the_one_that_takes_writes_is_meant_unless_the_url_says_otherwise() -> None:
    assert read_address("postgresql://a,b/waypost")[1] == {"target_session_attrs": "read-write"}
    assert read_address("postgresql://a,b/waypost?target_session_attrs=any")[1] == {"target_session_attrs": "any"}
    assert read_address("postgresql://a/waypost")[1] == {}


@pytest.mark.parametrize("url", MISSPELT)
def test_a_misspelt_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingError) as refusal:
        PostgresDatabase(url, pool_size=1)
    assert "very-secret" not in str(refusal.value)
