"""Fields of invented records, written as JSON beforehand: a record is mostly assembled from such pieces."""

from collections.abc import Iterable, Sequence
from itertools import product, repeat
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.simulator.geography import COUNTRIES
from waypost.simulator.manners import MANNERS
from waypost.simulator.plugs import Plug
from waypost.simulator.query import Form
from waypost.simulator.reference import FIRST_OPERATOR, OPERATORS, Entry, Reference, website
from waypost.simulator.shapes import without_nulls
from waypost.simulator.sketch import ALL_PLUGS, TOWNS

# Pieces to be picked by arrays of their numbers; a negative number picks from the end.
Table = NDArray[np.object_]

QUANTITIES = (1, 2, 2, 1, 4, 1, 6, None)
# Records often say "" where they could say null, and either where there could be a word.
_COSTS = (None, None, None, "", "Free", "0.39/kWh", "0.55/kWh", "Parking fees apply", "Free. Parking fees apply.")
_ACCESS = (None, None, "", "", "24 hours daily", "Opening hours of the building", "Customers only")
_NOTES = (None, None, None, "", "", "Behind the barrier, ask at reception.", "Two bays, marked green.")
_BLANKS = (None, None, None, "", "")
# After this many, everything that depends on a number's remainders by 4, 100, 5, 3 and 7 repeats.
_CONTACTS = 2100


class Pen:
    """Writes fields, each with a comma before it; some forms leave out nulls or objects."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def field(self, name: str, value: Any) -> bytes:
        if value is None and not self._form.verbose:
            return b""
        return b',"%b":%b' % (name.encode(), msgspec.json.encode(value))

    def each(self, name: str, values: Iterable[Any]) -> Table:
        return table([self.field(name, value) for value in values])

    def entry(self, name: str, value: Entry | None) -> bytes:
        """Writes the reference entry that the id beside it stands for."""
        if self._form.compact:
            return b""
        return self.field(name, value if self._form.verbose else without_nulls(value))


class Fields:
    """All pieces of one form, indexed by the numbers that are drawn for a place."""

    def __init__(self, form: Form, reference: Reference) -> None:
        pen = self._pen = Pen(form)
        self._lists = {name: reference.by_id(name) for name in reference.lists}
        self.operator_ids, self.operators = self._entered("OperatorID", "OperatorInfo", "Operators")
        self.usage_ids, self.usages = self._entered("UsageTypeID", "UsageType", "UsageTypes")
        self.status_ids, self.statuses = self._entered("StatusTypeID", "StatusType", "StatusTypes")
        self.provider_ids, self.providers = self._entered("DataProviderID", "DataProvider", "DataProviders")
        self.published_ids, self.published = self._entered(
            "SubmissionStatusTypeID", "SubmissionStatus", "SubmissionStatusTypes"
        )
        self.parent = pen.field("ParentChargePointID", None)
        self.no_reference = pen.field("DataProvidersReference", None)
        self.operators_references = pen.each("OperatorsReference", ("", None, None))
        self.costs = pen.each("UsageCost", _COSTS)
        self.no_points = pen.field("NumberOfPoints", None)
        dates = pen.field("DatePlanned", None) + pen.field("DateLastConfirmed", None)
        self.notes = table([note + dates for note in pen.each("GeneralComments", _NOTES)])
        self.qualities = table(
            [pen.field("MetadataValues", None) + pen.field("DataQualityLevel", 1 + n) for n in range(3)]
        )
        end = pen.field("PercentageSimilarity", None) + b"}"
        self.published = table([each + end for each in self.published])
        self._write_addresses(pen)
        # By plug, quantity, and whether its plate was read, its status is known and its power is known.
        kinds = product(ALL_PLUGS, QUANTITIES, (False, True), (False, True), (False, True))
        self.plugs = table([*(self._plug(*kind) for kind in kinds), b""])

    def _entered(self, name: str, object_name: str, list_name: str) -> tuple[Table, Table]:
        """Tables of ids and of the objects they stand for, both indexed by id; the last entry is for none."""
        entries = self._lists[list_name]
        numbers = [*range(max(entries) + 1), None]
        return (
            self._pen.each(name, numbers),
            table([self._pen.entry(object_name, None if each is None else entries.get(each)) for each in numbers]),
        )

    def _write_addresses(self, pen: Pen) -> None:
        self.second_lines = pen.each("AddressLine2", _BLANKS)
        self.towns = pen.each("Town", (town.name for town in TOWNS))
        self.regions = pen.each("StateOrProvince", (town.region for town in TOWNS))
        self.no_regions = pen.each("StateOrProvince", _BLANKS)
        self.countries = table([self._country(country.code, bare=False) for country in COUNTRIES])
        self.bare_countries = table([self._country(country.code, bare=True) for country in COUNTRIES])
        self.contacts = table([self._contact(number) for number in range(_CONTACTS)])
        # By town, then street, then kind of site; and by country, then street, before and after the house's number.
        self.titles = pen.each("Title", _titles())
        lines = [pen.field("AddressLine1", line).partition(b"#") for line in _address_lines()]
        self.before_house, self.after_house = table([line[0] for line in lines]), table([line[2] for line in lines])
        # By operator; the first ones are not real operators, and the last one stands for none.
        websites = [*repeat("", FIRST_OPERATOR), *map(website, OPERATORS), ""]
        end = b"".join(
            (pen.field("Distance", None), pen.field("DistanceUnit", 0), pen.field("GeneralComments", None), b"}")
        )
        self.websites = table([each + end for each in pen.each("RelatedURL", websites)])
        self.no_websites = table([each + end for each in pen.each("RelatedURL", _BLANKS)])

    def _country(self, code: str, *, bare: bool) -> bytes:
        entry = next(entry for entry in self._lists["Countries"].values() if entry["ISOCode"] == code)
        return self._pen.field("CountryID", entry["ID"]) + self._pen.entry("Country", None if bare else entry)

    def _contact(self, number: int) -> bytes:
        telephone = f"000 555 01{number % 100:02}" if number % 4 == 0 else _BLANKS[number % 5]
        return b"".join(
            (
                self._pen.field("ContactTelephone1", telephone),
                self._pen.field("ContactTelephone2", None),
                self._pen.field("ContactEmail", None if number % 3 else ""),
                self._pen.field("AccessComments", _ACCESS[number % len(_ACCESS)]),
            )
        )

    def _plug(self, plug: Plug, quantity: int | None, *facts: bool) -> bytes:
        """The rest of a connection, after its own id."""
        # Electrical facts are missing together, when nobody read the plate.
        is_known, has_status, has_power = facts
        field, entry, lists = self._pen.field, self._pen.entry, self._lists
        pieces = (
            field("ConnectionTypeID", plug.kind),
            entry("ConnectionType", lists["ConnectionTypes"][plug.kind]),
            field("Reference", None),
            field("StatusTypeID", 50 if has_status else None),
            entry("StatusType", lists["StatusTypes"][50] if has_status else None),
            field("LevelID", plug.level),
            entry("Level", lists["ChargerTypes"][plug.level]),
            field("Amps", plug.amps if is_known else None),
            field("Voltage", plug.volts if is_known else None),
            field("PowerKW", plug.kilowatts if has_power else None),
            field("CurrentTypeID", plug.current if is_known else None),
            entry("CurrentType", lists["CurrentTypes"][plug.current] if is_known else None),
            field("Quantity", quantity),
            field("Comments", None),
            b"}",
        )
        return b"".join(pieces)


def table(pieces: Sequence[bytes]) -> Table:
    return np.array(pieces, dtype=np.object_)


def _titles() -> list[str]:
    return [
        site.format(street=street, town=town.name)
        for country in COUNTRIES
        for town in country.towns
        for street in MANNERS[country.manner].streets
        for site in MANNERS[country.manner].sites
    ]


def _address_lines() -> list[str]:
    """Address lines of all countries, with # for the house number."""
    return [
        MANNERS[country.manner].address.format(street=street, number="#")
        for country in COUNTRIES
        for street in MANNERS[country.manner].streets
    ]
