"""The headers of a request, parsed for hot paths; most clients send the same block of them again and again."""

import httptools

from waypost.kernel.host_header import are_usable_hosts
from waypost.web.http.encoded_headers import Header

_END = b"\r\n\r\n"
# Not for a hot path: a body, or a protocol to change to.
_UNUSUAL = {b"content-length", b"transfer-encoding", b"expect", b"upgrade"}
_MOST_BLOCK = 2048


class _Collected:
    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.keeps_open = self.is_complete = False
        self.parser = httptools.HttpRequestParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        # There are several headers that ask for a close; what counts is how uvicorn would read them.
        self.keeps_open = self.parser.should_keep_alive()

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
        collected.parser.feed_data(b"GET / HTTP/1.1" + block)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    headers = collected.headers
    is_usual = all(name not in _UNUSUAL for name, _ in headers) and are_usable_hosts(
        [value for name, value in headers if name == b"host"]
    )
    return headers if is_usual and collected.keeps_open and collected.is_complete else None
