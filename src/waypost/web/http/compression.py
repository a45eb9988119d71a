"""Compressing answers: zstd for clients that take it, else gzip, each at its quickest; only where it pays."""

import zlib
from typing import Protocol

from zstandard import ZstdCompressor

from waypost.web.http.accept_headers import weight

# Below this the bytes saved fit into the packets that are sent anyway.
LEAST = 4096
ENCODINGS = ("zstd", "gzip")
_LEVEL = 1
_GZIP_FRAME = 31


class Compressor(Protocol):
    def compress(self, data: bytes | memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...


def compressor(encoding: str) -> Compressor:
    if encoding == "zstd":
        return ZstdCompressor(level=_LEVEL).compressobj()
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_FRAME)


def compress(encoding: str, data: bytes) -> bytes:
    """Compresses all data in one step; a frame of zstd then also says how long its content is."""
    if encoding == "zstd":
        return ZstdCompressor(level=_LEVEL).compress(data)
    packing = compressor(encoding)
    return packing.compress(data) + packing.flush()


def choose(accepted: bytes) -> str | None:
    """The encoding to use for what a client accepts; None unless it names one of ours."""
    if b"zstd" not in accepted and b"gzip" not in accepted:
        return None
    taken = dict(_read(part) for part in accepted.decode("latin-1").lower().split(","))
    weighed = [(taken[name], name) for name in ENCODINGS if taken.get(name, 0) > 0]
    # With equal weights the first of ours wins.
    return max(weighed, key=lambda pair: pair[0])[1] if weighed else None


def _read(part: str) -> tuple[str, float]:
    name, _, parameters = part.partition(";")
    return name.strip(), weight(parameters)
