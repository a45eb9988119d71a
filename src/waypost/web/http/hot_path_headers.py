"""The headers of a request, parsed for hot paths; most clients send the same block of them again and again."""

import httptools

from waypost.kernel.host_header import are_usable_hosts
from waypost.web.http.encoded_headers import Header

_END = b"\r\n\r\n"
# Not for a hot path: a body, a protocol to change to, a connection to close.
_UNUSUAL = {b"content-length", b"transfer-encoding", b"expect", b"upgrade"}
_MOST_BLOCK = 2048


class _Collected:
    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_message_complete(self) -> None:
        self.is_complete = True


def parse_block(block: bytes) -> list[Header] | None:
    """Returns the headers; None if the block is long, incomplete, or has anything that is left to the other paths.

    The block begins with the end of the first line, so that one without headers also ends with two line ends.
    """
    if len(block) > _MOST_BLOCK or not block.endswith(_END) or block.find(_END) != len(block) - len(_END):
        return None
    collected = _Collected()
    try:
        httptools.HttpRequestParser(collected).feed_data(b"GET / HTTP/1.1" + block)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    headers = collected.headers
    usual = all(
        name not in _UNUSUAL and (name != b"connection" or value.lower() == b"keep-alive") for name, value in headers
    )
    usual = usual and are_usable_hosts([value for name, value in headers if name == b"host"])
    return headers if usual and collected.is_complete else None
