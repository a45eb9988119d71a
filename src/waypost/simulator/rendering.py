"""Turns sketched places into the provider's records: the words, and the JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from waypost.simulator.dice import Dice, Ints
from waypost.simulator.geography import COUNTRIES
from waypost.simulator.manners import MANNERS, POSTCODES
from waypost.simulator.reference import FIRST_OPERATOR, OPERATORS, Reference, website
from waypost.simulator.sketch import ALL_PLUGS, MOST_PLUGS, NONE, TOWNS, Sketch, sketch

Entries = dict[int, msgspec.Raw]

_MANNER_OF = tuple(MANNERS[country.manner] for country in COUNTRIES)
_POSTCODE_OF = tuple(POSTCODES.get(country.code, MANNERS[country.manner].postcode) for country in COUNTRIES)
_STREETS = np.array([len(manner.streets) for manner in _MANNER_OF])
_SITES = np.array([len(manner.sites) for manner in _MANNER_OF])
_NULL = msgspec.Raw(b"null")
# Records often say "" where they could say null, and either where there could be a word.
_COSTS = (None, None, None, "", "Free", "0.39/kWh", "0.55/kWh", "Parking fees apply", "Free. Parking fees apply.")
_ACCESS = (None, None, "", "", "24 hours daily", "Opening hours of the building", "Customers only")
_NOTES = (None, None, None, "", "", "Behind the barrier, ask at reception.", "Two bays, marked green.")
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_COUNTRY_MISSING_EVERY, _COUNTRY_MISSING_AT = 700, 311


class Renderer:
    def __init__(self, seed: int, reference: Reference) -> None:
        self._seed = seed
        self._entries = {
            name: {number: msgspec.Raw(msgspec.json.encode(entry)) for number, entry in reference.by_id(name).items()}
            for name in reference.lists
        }
        codes = {entry["ISOCode"]: entry["ID"] for entry in reference.lists["Countries"]}
        self._country_ids = [codes[country.code] for country in COUNTRIES]
        self._encoder = msgspec.json.Encoder()

    def render(self, positions: Ints) -> list[bytes]:
        drawn = sketch(self._seed, positions)
        dice = Dice(self._seed, positions)
        encode, plugs = self._encoder.encode, self._connections(drawn, dice)
        addresses = self._addresses(positions, drawn, dice)
        return [
            encode(self._record(row, address, connections))
            for row, address, connections in zip(_rows(drawn, dice), addresses, plugs, strict=True)
        ]

    def _record(
        self, row: tuple[Any, ...], address: dict[str, Any], connections: list[dict[str, Any]]
    ) -> dict[str, Any]:
        number, operator, usage, status, provider, modified, created, verified, words, low, high = row
        published = 200 if provider == 1 else 100
        return {
            "ID": number,
            "UUID": _uuid(low, high),
            "ParentChargePointID": None,
            "DataProviderID": provider,
            "DataProvidersReference": None if provider == 1 else f"SIM-{number * 7}",
            "OperatorID": _or_none(operator),
            "OperatorsReference": None if words % 3 else "",
            "UsageTypeID": _or_none(usage),
            "UsageCost": _COSTS[words % len(_COSTS)],
            "AddressInfo": address,
            "Connections": connections,
            "NumberOfPoints": sum(plug["Quantity"] or 1 for plug in connections) if words % 4 and connections else None,
            "GeneralComments": _NOTES[words % len(_NOTES)],
            "DatePlanned": None,
            "DateLastConfirmed": None,
            "DateLastVerified": verified,
            "StatusTypeID": _or_none(status),
            "DateLastStatusUpdate": modified,
            "MetadataValues": None,
            "DataQualityLevel": 1 + words % 3,
            "DateCreated": created,
            "SubmissionStatusTypeID": published,
            "DataProvider": self._entry("DataProviders", provider),
            "OperatorInfo": self._entry("Operators", operator),
            "UsageType": self._entry("UsageTypes", usage),
            "StatusType": self._entry("StatusTypes", status),
            "SubmissionStatus": self._entry("SubmissionStatusTypes", published),
            "PercentageSimilarity": None,
        }

    def _entry(self, name: str, number: int) -> msgspec.Raw:
        return self._entries[name].get(number, _NULL)

    def _addresses(self, positions: Ints, drawn: Sketch, dice: Dice) -> Iterator[dict[str, Any]]:
        # A few records have a country's id and not the country itself.
        bare = positions % _COUNTRY_MISSING_EVERY == _COUNTRY_MISSING_AT
        columns = (
            drawn.ids,
            drawn.towns,
            drawn.countries,
            drawn.lats,
            drawn.lons,
            drawn.operators,
            dice.below("street", _STREETS[drawn.countries]),
            dice.below("title", _SITES[drawn.countries]),
            1 + dice.below("number", 180),
            dice.bits("postcode"),
            dice.below("blanks", 1 << 16),
            bare,
        )
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield self._address(*row)

    def _address(
        self,
        number: int,
        town: int,
        country: int,
        lat: float,
        lon: float,
        operator: int,
        street: int,
        site: int,
        house: int,
        digits: int,
        blanks: int,
        bare: bool,  # noqa: FBT001 - a column like the others
    ) -> dict[str, Any]:
        manner, at = _MANNER_OF[country], TOWNS[town]
        road = manner.streets[street]
        blank = (None, None, None, "", "")[blanks % 5]
        return {
            "ID": number + 1,
            "Title": manner.sites[site].format(street=road, town=at.name),
            "AddressLine1": manner.address.format(street=road, number=house),
            "AddressLine2": blank,
            "Town": at.name,
            "StateOrProvince": at.region if blanks % 7 else blank,
            "Postcode": _postcode(_POSTCODE_OF[country], digits) if blanks % 9 else "",
            "CountryID": self._country_ids[country],
            "Country": None if bare else self._entries["Countries"][self._country_ids[country]],
            "Latitude": lat,
            "Longitude": lon,
            "ContactTelephone1": f"000 555 01{blanks % 100:02}" if blanks % 4 == 0 else blank,
            "ContactTelephone2": None,
            "ContactEmail": None if blanks % 3 else "",
            "AccessComments": _ACCESS[blanks % len(_ACCESS)],
            "RelatedURL": _WEBSITES.get(operator, "") if blanks % 2 else blank,
            "Distance": None,
            "DistanceUnit": 0,
            "GeneralComments": None,
        }

    def _connections(self, drawn: Sketch, dice: Dice) -> Iterator[list[dict[str, Any]]]:
        plugs = [column.tolist() for column in drawn.plugs]
        rows = zip(
            drawn.ids.tolist(), drawn.plug_counts.tolist(), dice.bits("connections").tolist(), *plugs, strict=True
        )
        for number, count, bits, *chosen in rows:
            yield [self._connection(number, slot, chosen[slot], bits >> 16 * slot) for slot in range(count)]

    def _connection(self, number: int, slot: int, plug_index: int, bits: int) -> dict[str, Any]:
        plug = ALL_PLUGS[plug_index]
        # Electrical facts are missing together, when nobody read the plate.
        known = bits % 5 > 0
        return {
            "ID": number * MOST_PLUGS + slot,
            "ConnectionTypeID": plug.kind,
            "ConnectionType": self._entries["ConnectionTypes"][plug.kind],
            "Reference": None,
            "StatusTypeID": 50 if bits % 3 else None,
            "StatusType": self._entries["StatusTypes"][50] if bits % 3 else None,
            "LevelID": plug.level,
            "Level": self._entries["ChargerTypes"][plug.level],
            "Amps": plug.amps if known else None,
            "Voltage": plug.volts if known else None,
            "PowerKW": plug.kilowatts if bits % 11 else None,
            "CurrentTypeID": plug.current if known else None,
            "CurrentType": self._entries["CurrentTypes"][plug.current] if known else None,
            "Quantity": (1, 2, 2, 1, 4, 1, 6, None)[bits >> 8 & 7],
            "Comments": None,
        }


_WEBSITES = {FIRST_OPERATOR + index: website(name) for index, name in enumerate(OPERATORS)}


def _rows(drawn: Sketch, dice: Dice) -> Iterator[tuple[Any, ...]]:
    ids = (drawn.ids, drawn.operators, drawn.usages, drawn.statuses, drawn.providers)
    times = (_texts(drawn.modified), _texts(drawn.created), _texts((drawn.modified + drawn.created) // 2))
    words = (dice.below("words", 1 << 20).tolist(), dice.bits("low").tolist(), dice.bits("high").tolist())
    return zip(*(column.tolist() for column in ids), *times, *words, strict=True)


def _texts(minutes: Ints) -> Sequence[str]:
    return [f"{text}:00Z" for text in np.datetime_as_string(minutes.astype("datetime64[m]")).tolist()]


def _or_none(number: int) -> int | None:
    return None if number == NONE else number


def _uuid(low: int, high: int) -> str:
    text = f"{high:016X}{low:016X}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-A{text[17:20]}-{text[20:]}"


def _postcode(pattern: str, digits: int) -> str:
    written = []
    for sign in pattern:
        if sign == "#":
            digits, digit = divmod(digits, 10)
            written.append(str(digit))
        elif sign == "@":
            digits, letter = divmod(digits, len(_LETTERS))
            written.append(_LETTERS[letter])
        else:
            written.append(sign)
    return "".join(written)
