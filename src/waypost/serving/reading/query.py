"""Questions to a generation: what may be asked, and what is refused before any work is done."""

import math
from datetime import datetime

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.folding import words
from waypost.serving.format import LONGEST_WORD
from waypost.serving.reading.boxes import Bounds, check_box, on_earth

# People type less than this into a search field; each word costs a search.
MOST_TEXT, MOST_TEXT_WORDS = 200, 10
# The most values of one field that a query may have.
MOST_VALUES = 100

FIELDS = ("country", "operator", "category", "status", "source")


class BadQuery(AskedWrongly):
    """The question cannot be understood, or would take too much work."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the places that meet all conditions; of several values of one field, any will do."""

    # West, south, east and north; a west greater than the east crosses the antimeridian.
    box: Bounds | None = None
    # Latitude and longitude: the nearest come first.
    near: tuple[float, float] | None = None
    # Metres around `near`.
    radius: float | None = None
    # Each of its words begins one of the words of the place's name and town.
    text: str | None = None
    country: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    # At least this many kilowatts; a place without a known power does not match.
    power_from: float | None = None
    # Both inclusive; a place without a known time is in no period.
    updated_from: datetime | None = None
    updated_to: datetime | None = None

    def values(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The fields that the query restricts, with the wanted values."""
        if not (self.country or self.operator or self.category or self.status or self.source):
            return ()
        return tuple((field, values) for field in FIELDS if (values := getattr(self, field)))


def check_query(query: Query) -> None:
    if query.box is not None:
        check_box(*query.box)
    if query.near is not None and not on_earth(query.near[1], query.near[0]):
        raise BadQuery(
            f"latitudes go from -90 to 90 and longitudes from -180 to 180; near has {query.near[0]}, {query.near[1]}",
            parameter="near",
            next_step="write it as latitude,longitude: near=52.52,13.4",
        )
    if query.radius is not None:
        _check_radius(query.radius, query.near)
    if query.power_from is not None and not math.isfinite(query.power_from):
        raise BadQuery("the power must be a number of kilowatts", parameter="power_from")
    if query.updated_from is not None:
        _check_moment(query.updated_from)
    if query.updated_to is not None:
        _check_moment(query.updated_to)
    for field, values in query.values():
        if len(values) > MOST_VALUES:
            raise BadQuery(f"at most {MOST_VALUES} values can be asked for at once", parameter=field)


def _check_moment(moment: datetime) -> None:
    if moment.tzinfo is None:
        raise BadQuery(f"{moment.isoformat()} does not say its time zone", parameter="datetime")


def _check_radius(radius: float, near: tuple[float, float] | None) -> None:
    if near is None:
        raise BadQuery("a radius needs a point around which it lies", parameter="radius", next_step="add near=lat,lon")
    if not (math.isfinite(radius) and radius >= 0):
        raise BadQuery("the radius must be a number of metres, not below 0", parameter="radius")


def prefixes(text: str) -> list[str]:
    """The words of a text, as prefixes of a place's words, without those that are themselves prefixes of another."""
    if len(text) > MOST_TEXT:
        raise BadQuery(f"a text has at most {MOST_TEXT} characters, and this one has {len(text):,}", parameter="q")
    found = list(dict.fromkeys(word[:LONGEST_WORD] for word in words(text)))
    if not found:
        raise BadQuery("there is no letter and no digit in the text", parameter="q")
    if len(found) > MOST_TEXT_WORDS:
        raise BadQuery(f"a text has at most {MOST_TEXT_WORDS} words, and this one has {len(found)}", parameter="q")
    return [word for word in found if not any(other != word and other.startswith(word) for other in found)]
