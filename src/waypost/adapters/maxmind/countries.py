"""Countries of addresses, from a file in MaxMind's format; several providers have one, and name things differently."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maxminddb

from waypost.kernel.configuration import SettingError

# A file that knows countries has one among its first networks.
_LOOK_AT = 1000
_CODE_LETTERS = 2


class MaxMindCountries:
    """Looks countries up in a mapped file, which takes a few microseconds and does not block."""

    def __init__(self, path: Path) -> None:
        try:
            self._reader = maxminddb.open_database(path)
            first = [record for _, record in itertools.islice(self._reader, _LOOK_AT)]
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            raise _unusable(f"{path} cannot be read as a file of countries: {error}") from error
        if not any(map(_code, first)):
            kind = str(self._reader.metadata().database_type)[:80]
            raise _unusable(f"{path} is a file of {kind!r}, in which there are no countries")

    def country(self, address: str) -> str:
        try:
            return _code(self._reader.get(address))
        except ValueError:
            # Not an address, or one of IPv6 where the file knows only IPv4.
            return ""


def _code(record: object) -> str:
    """The ISO 3166-1 code, wherever this provider has put it."""
    if not isinstance(record, Mapping):
        return ""
    country: Any = record.get("country_code") or record.get("country")
    if isinstance(country, Mapping):
        country = country.get("iso_code")
    return country if isinstance(country, str) and len(country) == _CODE_LETTERS and country.isalpha() else ""


def _unusable(message: str) -> SettingError:
    return SettingError(
        f"visits.countries: {message}",
        next_step="name a file such as GeoLite2-Country.mmdb or dbip-country-lite.mmdb, or leave the setting empty",
        parameter="visits.countries",
    )
