"""A crowd of clients that have asked once and stay connected, from many addresses of this machine."""

import re
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from bench.importing.watching import RunFailed

_ADDRESSES = 20
_PATIENCE = 30.0
_LENGTH = re.compile(rb"^content-length: (\d+)", re.MULTILINE)


def connect(port: int, number: int = 0) -> socket.socket:
    """From 127.0.0.2 and those after it, in turn."""
    here = (f"127.0.0.{2 + number % _ADDRESSES}", 0)
    return socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE, source_address=here)


def ask(sock: socket.socket, request: bytes, status: bytes) -> float:
    """Returns how long the answer took; one that is another than expected ends the run."""
    started = perf_counter()
    sock.sendall(request)
    got = b""
    while not _is_whole(got):
        if not (part := sock.recv(65536)):
            break
        got += part
    if not got.startswith(b"HTTP/1.1 " + status):
        raise RunFailed(f"expected {status!r}, and got {got[:200]!r}")
    return perf_counter() - started


def _is_whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return length is not None and len(body) == int(length[1])


@contextmanager
def idle_crowd(port: int, count: int, request: bytes, status: bytes) -> Iterator[Sequence[socket.socket]]:
    """Each has had one answer, unless nothing is asked."""
    crowd: list[socket.socket] = []
    try:
        for number in range(count):
            crowd.append(connect(port, number))
            if request:
                ask(crowd[-1], request, status)
        yield crowd
    finally:
        for sock in crowd:
            sock.close()


def count_closed(crowd: Sequence[socket.socket]) -> int:
    """How many of them the server has closed."""
    poll = select.poll()
    for sock in crowd:
        poll.register(sock, select.POLLIN)
    return len(poll.poll(0))
