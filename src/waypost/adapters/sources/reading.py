"""JSON of a provider, however strange it is: what cannot be read is an error of ours, never a crash."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from waypost.importing.source import ProviderUnavailable

Json = bytes | msgspec.Raw
Read = TypeVar("Read")

# A value in a few bytes of text takes tens of bytes in memory: 64 MiB of zeros would become gigabytes.
_MOST_VALUES = 5_000_000

_array = msgspec.json.Decoder(list[msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_anything: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def read_array(body: Json) -> list[msgspec.Raw]:
    """The items of an array, each still unread. Raises ProviderUnavailable."""
    return _or_unavailable(_array, body, "a JSON array")


def read_object(body: Json) -> Mapping[str, msgspec.Raw]:
    """The fields of an object, each still unread. Raises ProviderUnavailable."""
    return _or_unavailable(_object, body, "a JSON object")


def read_json(body: Json) -> Any:
    """Raises ProviderUnavailable."""
    return _or_unavailable(_anything, body, "JSON")


def read_record(raw: Json) -> Any:
    """One record. Raises ValueError, with the reason."""
    return decode(_anything, raw)


def decode(decoder: "msgspec.json.Decoder[Read]", raw: Json) -> Read:
    """Raises ValueError, with the reason, whatever is wrong."""
    try:
        return decoder.decode(raw)
    except RecursionError:
        reason = "it is nested too deeply"
    except (msgspec.DecodeError, ValueError) as error:
        reason = str(error)[:200]
    # Outside of the handler: the first error may hold on to all of the text.
    raise ValueError(reason)


def _or_unavailable(decoder: "msgspec.json.Decoder[Read]", body: Json, what: str) -> Read:
    # A part of an answer has been counted with all of it.
    if not isinstance(body, msgspec.Raw) and body.count(b",") > _MOST_VALUES:
        raise ProviderUnavailable(f"the provider's answer is not {what}: it has more than {_MOST_VALUES} values")
    try:
        return decode(decoder, body)
    except ValueError as error:
        raise ProviderUnavailable(f"the provider's answer is not {what}: {error}") from None
