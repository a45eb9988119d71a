"""Turns sketched places into the provider's records: the words, and the JSON.

Pieces are picked for many places at once, one column per piece, and a record is a row of them; that is several times
quicker than making objects and encoding them.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from waypost.simulator.dice import Dice, Ints
from waypost.simulator.fields import QUANTITIES, Fields, Table
from waypost.simulator.geography import COUNTRIES
from waypost.simulator.manners import MANNERS, POSTCODES
from waypost.simulator.query import Form
from waypost.simulator.reference import Reference
from waypost.simulator.sketch import MOST_PLUGS, Sketch, sketch

Pieces = list[bytes]

_MANNER_OF = tuple(MANNERS[country.manner] for country in COUNTRIES)
_POSTCODE_OF = tuple(POSTCODES.get(country.code, MANNERS[country.manner].postcode) for country in COUNTRIES)
_STREETS = np.array([len(manner.streets) for manner in _MANNER_OF])
_SITES = np.array([len(manner.sites) for manner in _MANNER_OF])
# Where the titles of a town and the streets of a country begin.
_TITLES_FROM = np.cumsum(np.repeat(_STREETS * _SITES, [len(country.towns) for country in COUNTRIES]))
_TITLES_FROM = np.concatenate(([0], _TITLES_FROM[:-1]))
_STREETS_FROM = np.concatenate(([0], np.cumsum(_STREETS)[:-1]))
_POINTS = np.array([quantity or 1 for quantity in QUANTITIES])
_LETTERS, _DIGITS = "ABCDEFGHJKLMNPRSTUVWXYZ", "0123456789"
_COUNTRY_MISSING_EVERY, _COUNTRY_MISSING_AT = 700, 311
_CONTRIBUTORS, _IMPORTED, _SUBMITTED = 1, 100, 200


class Renderer:
    """Makes records. The same seed and rows give the same bytes, so that nothing needs to be kept."""

    def __init__(self, seed: int, reference: Reference) -> None:
        self._seed = seed
        self._fields = cache(lambda form: Fields(form, reference))

    def take(self, rows: Ints, form: Form) -> list[bytes]:
        drawn, dice, fields = sketch(self._seed, rows), Dice(self._seed, rows), self._fields(form)
        words = dice.below("words", 1 << 20)
        columns = (
            *_head(fields, drawn, dice, words),
            *_address(fields, rows, drawn, dice),
            *_connections(fields, drawn, dice, words),
            *_tail(fields, drawn, words),
        )
        return list(map(b"".join, zip(*columns, strict=True)))


def _head(fields: Fields, drawn: Sketch, dice: Dice, words: Ints) -> list[Pieces]:
    ids, by_contributors = drawn.ids.tolist(), (drawn.providers == _CONTRIBUTORS).tolist()
    uuids = map(uuid_of, dice.bits("low").tolist(), dice.bits("high").tolist())
    references = [
        fields.no_reference if own else b',"DataProvidersReference":"SIM-%d"' % (number * 7)
        for number, own in zip(ids, by_contributors, strict=True)
    ]
    return [
        [b'{"ID":%d,"UUID":"%b"%b' % (number, uuid, fields.parent) for number, uuid in zip(ids, uuids, strict=True)],
        _pick(fields.provider_ids, drawn.providers),
        references,
        _pick(fields.operator_ids, drawn.operators),
        _pick(fields.operators_references, words % 3),
        _pick(fields.usage_ids, drawn.usages),
        _pick(fields.costs, words % len(fields.costs)),
    ]


def _address(fields: Fields, rows: Ints, drawn: Sketch, dice: Dice) -> list[Pieces]:
    countries, blanks = drawn.countries, dice.below("blanks", 1 << 16)
    streets, sites = dice.below("street", _STREETS[countries]), dice.below("title", _SITES[countries])
    lines, houses = _STREETS_FROM[countries] + streets, 1 + dice.below("number", 180)
    titles = _TITLES_FROM[drawn.towns] + streets * _SITES[countries] + sites
    # A few records have a country's id but not the country itself.
    bare = rows % _COUNTRY_MISSING_EVERY == _COUNTRY_MISSING_AT
    return [
        [b',"AddressInfo":{"ID":%d' % (number + 1) for number in drawn.ids.tolist()],
        _pick(fields.titles, titles),
        _pick(fields.before_house, lines),
        [b"%d" % house for house in houses.tolist()],
        _pick(fields.after_house, lines),
        _pick(fields.second_lines, blanks % 5),
        _pick(fields.towns, drawn.towns),
        _either(blanks % 7 > 0, fields.regions[drawn.towns], fields.no_regions[blanks % 5]),
        _postcodes(countries, dice, blanks % 9 > 0),
        _either(bare, fields.bare_countries[countries], fields.countries[countries]),
        [
            b',"Latitude":%r,"Longitude":%r' % point
            for point in zip(drawn.lats.tolist(), drawn.lons.tolist(), strict=True)
        ],
        _pick(fields.contacts, blanks % len(fields.contacts)),
        _either(blanks % 2 > 0, fields.websites[drawn.operators], fields.no_websites[blanks % 5]),
    ]


def _connections(fields: Fields, drawn: Sketch, dice: Dice, words: Ints) -> list[Pieces]:
    columns: list[Pieces] = []
    bits, points = dice.bits("connections"), np.zeros(len(words), dtype=np.int64)
    for slot in range(MOST_PLUGS):
        there = drawn.plug_counts > slot
        own = (bits >> np.uint64(16 * slot)).astype(np.uint64)
        quantities = (own >> np.uint64(8) & np.uint64(7)).astype(np.int64)
        kinds = drawn.plugs[slot] * len(QUANTITIES) + quantities
        for remainder in (5, 3, 11):
            kinds = kinds * 2 + (own % np.uint64(remainder) > 0)
        points += np.where(there, _POINTS[quantities], 0)
        columns += (
            _openings(slot, drawn.ids * MOST_PLUGS + slot, there),
            # The last entry is empty.
            _pick(fields.plugs, np.where(there, kinds, -1)),
        )
    counted = ((words % 4 > 0) & (drawn.plug_counts > 0)).tolist()
    totals = [
        b'],"NumberOfPoints":%d' % total if count else b"]" + fields.no_points
        for total, count in zip(points.tolist(), counted, strict=True)
    ]
    return [*columns, totals]


def _openings(slot: int, ids: Ints, there: NDArray[np.bool_]) -> Pieces:
    opening, nothing = (b',{"ID":%d', b"") if slot else (b',"Connections":[{"ID":%d', b',"Connections":[')
    return [
        opening % number if is_there else nothing for number, is_there in zip(ids.tolist(), there.tolist(), strict=True)
    ]


def _tail(fields: Fields, drawn: Sketch, words: Ints) -> list[Pieces]:
    published = np.where(drawn.providers == _CONTRIBUTORS, _SUBMITTED, _IMPORTED)
    return [
        _pick(fields.notes, words % len(fields.notes)),
        _times(b"DateLastVerified", (drawn.modified + drawn.created) // 2),
        _pick(fields.status_ids, drawn.statuses),
        _times(b"DateLastStatusUpdate", drawn.modified),
        _pick(fields.qualities, words % 3),
        _times(b"DateCreated", drawn.created),
        _pick(fields.published_ids, published),
        _pick(fields.providers, drawn.providers),
        _pick(fields.operators, drawn.operators),
        _pick(fields.usages, drawn.usages),
        _pick(fields.statuses, drawn.statuses),
        _pick(fields.published, published),
    ]


def _pick(table: Table, numbers: Ints) -> Pieces:
    picked: Pieces = table[numbers].tolist()
    return picked


def _either(condition: NDArray[np.bool_], one: Table, other: Table) -> Pieces:
    chosen: Pieces = np.where(condition, one, other).tolist()
    return chosen


def _times(name: bytes, minutes: Ints) -> Pieces:
    texts = np.datetime_as_string(minutes.astype("datetime64[m]")).astype("S16").tolist()
    field = b',"' + name + b'":"%b:00Z"'
    return [field % text for text in texts]


def uuid_of(low: int, high: int) -> bytes:
    """A UUID of version 4, in capitals as the provider writes them."""
    parts = (high >> 32, high >> 16 & 0xFFFF, high & 0xFFF, low >> 48 & 0xFFF, low & 0xFFFF_FFFF_FFFF)
    return b"%08X-%04X-4%03X-A%03X-%012X" % parts


def _postcodes(countries: Ints, dice: Dice, known: NDArray[np.bool_]) -> Pieces:
    rows = zip(countries.tolist(), dice.bits("postcode").tolist(), known.tolist(), strict=True)
    return [
        b',"Postcode":"%b"' % _postcode(_POSTCODE_OF[country], digits) if is_known else b',"Postcode":""'
        for country, digits, is_known in rows
    ]


def _postcode(pattern: str, digits: int) -> bytes:
    if pattern == "#####":
        return (b"%05d" % (digits % 100_000))[::-1]
    written = []
    for sign in pattern:
        if sign == "#":
            digits, digit = divmod(digits, 10)
            written.append(_DIGITS[digit])
        elif sign == "@":
            digits, letter = divmod(digits, len(_LETTERS))
            written.append(_LETTERS[letter])
        else:
            written.append(sign)
    return "".join(written).encode()
