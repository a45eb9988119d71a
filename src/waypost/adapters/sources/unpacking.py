"""An answer's bytes as they come, unpacked by ourselves, so that a small answer cannot become a huge one in memory."""

import io
import zlib

_GZIP = 16 + zlib.MAX_WBITS
# Each part of a packed answer takes time, even one with nothing in it.
_MOST_PARTS = 1000
KNOWN = ("", "identity", "gzip", "x-gzip")


class TooLarge(Exception):
    """There is more than was allowed, packed or unpacked."""


class BadlyPacked(Exception):
    """The bytes are not what they claim to be."""


class Unpacker:
    """Takes chunks and keeps at most `most` bytes of what is in them. Raises TooLarge and BadlyPacked."""

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._packed = 0
        self._parts = 1
        self._body = io.BytesIO()
        self._gzip = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None

    def feed(self, chunk: bytes) -> None:
        # Packed bytes that unpack to nothing count too, or they could come for ever.
        self._packed += len(chunk)
        if self._packed > self._most:
            raise TooLarge
        if self._gzip:
            self._unpack(chunk)
        else:
            self._body.write(chunk)

    def finish(self) -> bytes:
        if self._gzip and self._packed and not self._gzip.eof:
            raise BadlyPacked("it breaks off")
        return self._body.getvalue()

    def _begin_another(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise BadlyPacked(f"it has more than {_MOST_PARTS} parts")
        self._gzip = zlib.decompressobj(_GZIP)

    def _unpack(self, chunk: bytes) -> None:
        assert self._gzip
        while chunk:
            if self._gzip.eof:  # several gzips in a row are one text
                self._begin_another()
            try:
                # Zero would mean without a bound.
                self._body.write(self._gzip.decompress(chunk, self._most - self._body.tell() + 1))
            except zlib.error as error:
                raise BadlyPacked(str(error)) from None
            if self._body.tell() > self._most:
                raise TooLarge
            chunk = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
