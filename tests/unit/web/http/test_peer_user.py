"""Whose process a client on this machine is."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from waypost.web.http import peer_user
from waypost.web.http.peer_user import End, is_own_user


@contextmanager
def connected(family: socket.AddressFamily, host: str, client_host: str) -> Iterator[tuple[socket.socket, End, End]]:
    """The client's socket, and both ends as a server sees them."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((host, 0), family=family))
        client_family = socket.AF_INET6 if ":" in client_host else socket.AF_INET
        client = stack.enter_context(socket.socket(client_family, socket.SOCK_STREAM))
        client.connect((client_host, listening.getsockname()[1]))
        accepted = stack.enter_context(listening.accept()[0])
        yield client, accepted.getpeername()[:2], accepted.getsockname()[:2]


@pytest.fixture(params=["kernel", "tables"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where it is looked up: a reader of the tables may miss a row, and some kernels cannot be asked."""
    if request.param == "kernel":
        empty = tmp_path / "tcp"
        empty.touch()
        monkeypatch.setattr(peer_user, "_TABLES", (empty,))
    else:
        monkeypatch.setattr(peer_user, "_SOCK_DIAG", -1)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("family", "host", "client_host"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "127.0.0.1", "::ffff:127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
    ],
)
def test_a_process_of_our_user_is_told_from_others(family: socket.AddressFamily, host: str, client_host: str) -> None:
    with connected(family, host, client_host) as (_, client, server):
        assert is_own_user(client, server)
        assert not is_own_user(client, server, user=os.geteuid() + 1)
        assert not is_own_user(server, client, user=os.geteuid() + 1)


@pytest.mark.usefixtures("way")
def test_a_client_that_has_closed_its_end_is_nobody() -> None:
    """The kernel then calls it root's."""
    with connected(socket.AF_INET, "127.0.0.1", "127.0.0.1") as (socket_, client, server):
        socket_.close()
        assert not is_own_user(client, server, user=0)
        assert not is_own_user(client, server)


def test_a_connection_that_never_was_is_nobodys() -> None:
    assert not is_own_user(("127.0.0.1", 1), ("127.0.0.1", 2))
