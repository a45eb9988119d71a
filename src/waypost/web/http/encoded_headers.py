"""Sets of headers of answers, each put into bytes once, because most answers share them."""

from functools import lru_cache

import msgspec

Header = tuple[bytes, bytes]


class Head(msgspec.Struct, frozen=True):
    headers: tuple[Header, ...]
    written: bytes


def new_head(*headers: Header) -> Head:
    return Head(headers, b"".join(b"%b: %b\r\n" % header for header in headers))


head_of = lru_cache(1024)(new_head)
