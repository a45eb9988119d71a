"""JSON records, one per line: NDJSON, JSON Lines, and GeoJSON text sequences, whose lines begin with a separator."""

from pathlib import Path

from waypost.adapters.sources.files.formats import FileBroken, FoundRecord, JsonFormat, Records, decode_json, too_large
from waypost.adapters.sources.files.streams import Line, is_compressed, open_stream, read_lines

_AROUND = b" \t\r\n\x1e"


class Ndjson(JsonFormat):
    def _read(self, path: Path, offset: int) -> Records:
        has_offsets = not is_compressed(path)
        with open_stream(path) as stream:
            if offset:
                stream.seek(offset)
            for line in read_lines(stream, self.bound, offset):
                content = line.content.strip(_AROUND)
                end = line.end if has_offsets else None
                if line.is_cut:
                    yield too_large(content, end, self.bound)
                elif content:
                    _refuse_half(line, content)
                    yield FoundRecord(content, end)


def _refuse_half(line: Line, content: bytes) -> None:
    """A last line may lack its end, but then it has to be whole: otherwise something is missing, perhaps a lot."""
    if not line.is_ended:
        try:
            decode_json(content)
        except ValueError as error:
            raise FileBroken(f"it ends in the middle of a record ({error})") from None
