"""GeoJSON: the features of a FeatureCollection, one after the other, however many there are."""

from pathlib import Path
from typing import BinaryIO

import msgspec

from waypost.adapters.sources.files.formats import FileBroken, FoundRecord, JsonFormat, Records, too_large
from waypost.adapters.sources.files.json_scanner import JsonScanner
from waypost.adapters.sources.files.streams import is_compressed, open_stream

_LONGEST_NAME = 1 << 16


class GeoJson(JsonFormat):
    def _read(self, path: Path, offset: int) -> Records:
        has_offsets = not is_compressed(path)
        with open_stream(path) as stream:
            for found in read_features(stream, self.bound, offset):
                yield found if has_offsets else FoundRecord(found.content, None, found.reason)


def read_features(stream: BinaryIO, bound: int, offset: int = 0) -> Records:
    """Yields features from the beginning, or after the one that ended at `offset`. Raises FileBroken.

    The last one comes before the text has been read to its end: only a caller that asks for another knows that all is
    well.
    """
    if offset:
        stream.seek(offset)
    scanner = JsonScanner(stream, offset)
    if not offset:
        _find_features(scanner)
    yield from _features(scanner, bound, is_first=not offset)
    _check_the_rest(scanner)


def _find_features(scanner: JsonScanner) -> None:
    """Goes to just after the bracket with which the list of features begins."""
    if scanner.peek() != b"{":
        raise FileBroken("it is not a GeoJSON FeatureCollection, which begins with '{'")
    scanner.take(b"{")
    while scanner.peek() == b'"':
        name = _name(scanner)
        scanner.take(b":")
        if name == "features":
            scanner.take(b"[")
            return
        scanner.value(0)
        if scanner.take(b",}") == b"}":
            break
    raise FileBroken("it has no features, and is not a GeoJSON FeatureCollection")


def _features(scanner: JsonScanner, bound: int, *, is_first: bool) -> Records:
    if is_first and scanner.peek() == b"]":
        scanner.take(b"]")
        return
    while is_first or scanner.take(b",]") == b",":
        is_first = False
        content, is_whole = scanner.value(bound)
        yield FoundRecord(content, scanner.offset) if is_whole else too_large(content, scanner.offset, bound)


def _check_the_rest(scanner: JsonScanner) -> None:
    """Reads the file to its end: without this, a file that was cut off would look complete."""
    while scanner.take(b",}") == b",":
        if _name(scanner) == "features":
            raise FileBroken("it has two lists of features")
        scanner.take(b":")
        scanner.value(0)
    if scanner.peek():
        raise FileBroken(f"at byte {scanner.offset} it has something after its end")


def _name(scanner: JsonScanner) -> str:
    if scanner.peek() != b'"':
        raise FileBroken(f"at byte {scanner.offset} the name of a member is due")
    content, is_whole = scanner.value(_LONGEST_NAME)
    try:
        return msgspec.json.decode(content, type=str) if is_whole else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise FileBroken(f"at byte {scanner.offset} there is a name that cannot be read") from None
