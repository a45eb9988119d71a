"""A provider's JSON, however strange it is: what cannot be read is an error of ours, never a crash."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from waypost.adapters.sources.halves import Marked, first_half, mark_halves
from waypost.importing.source import ProviderUnavailable

Json = bytes | bytearray | msgspec.Raw
Read = TypeVar("Read")

# A value in a few bytes of text takes tens of bytes in memory: 64 MiB of zeros would become gigabytes.
_MOST_VALUES = 5_000_000

_array = msgspec.json.Decoder(list[msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_anything: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def read_array(body: Json) -> list[msgspec.Raw]:
    """The items of an array, each still unread. Raises ProviderUnavailable."""
    return _or_unavailable(_items, body, "a JSON array")


def read_object(body: Json) -> Mapping[str, msgspec.Raw]:
    """The fields of an object, each still unread. Raises ProviderUnavailable."""
    return _or_unavailable(_fields, body, "a JSON object")


def read_json(body: Json) -> Any:
    """Reads the whole text. Raises ProviderUnavailable."""
    return _or_unavailable(read_record, body, "JSON")


def read_record(raw: Json) -> Any:
    """One record. Raises ValueError, with the reason."""
    return decode(_anything, raw)


def read_roughly(raw: Json) -> Any:
    """A record in which some text cannot be read, with � in its place: enough to know its id. Raises ValueError."""
    marked = mark_halves(bytes(raw))
    text = marked.text if marked else raw
    return decode(_anything, bytes(text).decode(errors="replace").encode())


def decode(decoder: "msgspec.json.Decoder[Read]", raw: Json) -> Read:
    """Raises ValueError, with the reason, whatever is wrong."""
    half = None
    try:
        return decoder.decode(raw)
    except RecursionError:
        reason = "it is nested too deeply"
    except (msgspec.DecodeError, ValueError) as error:
        reason = str(error)[:200]
        half = first_half(bytes(raw))
    # Outside of the handler: the first error may hold on to all of the text.
    raise ValueError(f"it has {half}, which is half of a character" if half else reason)


def decode_part(decoder: "msgspec.json.Decoder[Read]", raw: Json) -> Read:
    """Like `decode`, for a decoder that leaves parts unread: those may have halves of characters."""
    return _decode_part(decoder, raw)[0]


def _decode_part(decoder: "msgspec.json.Decoder[Read]", raw: Json) -> tuple[Read, Marked | None]:
    try:
        return decode(decoder, raw), None
    except ValueError:
        marked = mark_halves(bytes(raw))
        if marked is None:
            raise
    return decode(decoder, marked.text), marked


def _items(body: Json) -> list[msgspec.Raw]:
    items, marked = _decode_part(_array, body)
    return [marked.original(item) for item in items] if marked else items


def _fields(body: Json) -> dict[str, msgspec.Raw]:
    fields, marked = _decode_part(_object, body)
    return {name: marked.original(value) for name, value in fields.items()} if marked else fields


def _or_unavailable(read: Callable[[Json], Read], body: Json, what: str) -> Read:
    # A part of an answer has been counted with the whole.
    if not isinstance(body, msgspec.Raw) and body.count(b",") > _MOST_VALUES:
        raise ProviderUnavailable(f"the provider's answer is not {what}: it has more than {_MOST_VALUES} values")
    try:
        return read(body)
    except ValueError as error:
        raise ProviderUnavailable(f"the provider's answer is not {what}: {error}") from None
