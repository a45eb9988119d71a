"""The envelope of everything that an OCPI provider says: `{data, status_code, status_message}`."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from waypost.adapters.sources.http import ProviderRejected
from waypost.adapters.sources.reading import Json, decode, decode_part, read_object
from waypost.importing.source import ProviderUnavailable

Data = TypeVar("Data")
_SUCCESS, _CLIENT = 1, 2
_HUNDREDS = 1000


class _Status(msgspec.Struct):
    status_code: int
    status_message: str | None = None


_status = msgspec.json.Decoder(_Status)


def data_of(body: bytes, hide: Callable[[str], str]) -> Json:
    """The data of an answer. What the provider calls our fault is final; what it calls its own is worth another try."""
    fields = read_object(body)
    try:
        status = decode_part(_status, body)
    except ValueError as error:
        raise ProviderUnavailable(hide(f"the provider's answer is not OCPI: {error}")) from None
    said = hide(f"{status.status_code}, {(status.status_message or 'without a message')[:200]}")
    kind = status.status_code // _HUNDREDS
    if kind == _CLIENT:
        raise ProviderRejected(f"the provider does not take this request ({said})")
    if kind != _SUCCESS:
        raise ProviderUnavailable(f"the provider failed ({said})")
    if "data" not in fields:
        raise ProviderUnavailable("the provider's answer has no data")
    return fields["data"]


def read_data(data: Json, decoder: "msgspec.json.Decoder[Data]", what: str) -> Data:
    try:
        return decode(decoder, data)
    except ValueError as error:
        raise ProviderUnavailable(f"the provider's answer is not a {what}: {error}") from None
