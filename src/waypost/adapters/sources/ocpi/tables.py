"""What the file of an `ocpi` source may say, besides what every source says."""

import base64
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from waypost.adapters.sources.access import Access, read_secret
from waypost.adapters.sources.json_api.tables import check_url
from waypost.importing.definitions import read_table
from waypost.kernel.configuration import Secret

Version = Literal["2.1.1", "2.2", "2.2.1"]


class OcpiTable(msgspec.Struct, frozen=True, kw_only=True):
    """Either the `url` of the locations, or the one of the `versions` that leads to them. `token` names a variable."""

    token: str
    version: Version = "2.2.1"
    url: str | None = None
    versions: str | None = None
    encode_token: bool | None = None
    limit: int | None = None

    @property
    def address(self) -> str:
        return self.url or self.versions or ""


def read(definition: Mapping[str, Any]) -> OcpiTable:
    """Raises ValueError, which names the key that is wrong."""
    table = read_table(definition, OcpiTable)
    if (table.url is None) == (table.versions is None):
        raise ValueError("either url, the address of the locations, or versions, the one of the versions, is needed")
    check_url(table.address)
    if table.limit is not None and table.limit < 1:
        raise ValueError(f"limit should be at least 1, not {table.limit}")
    return table


def access_of(table: OcpiTable, environ: Mapping[str, str]) -> Access:
    """Since version 2.2 the token is sent in base64; for providers that have not noticed, there is `encode_token`."""
    token = read_secret(table.token, environ)
    encoded = base64.b64encode(token.reveal().encode()).decode()
    is_encoded = table.version != "2.1.1" if table.encode_token is None else table.encode_token
    sent = encoded if is_encoded else token.reveal()
    return Access("Authorization", Secret(f"Token {sent}"), table.token, (token, Secret(encoded)))
