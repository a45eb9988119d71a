"""Invented places: the same seed gives the same bytes, and asking for fewer places gives the first of them.

Only the index is made at once. A record is rendered when it is first asked for, and kept while there is room, so that
a million places start in a moment and fit into little memory.
"""

import numpy as np

from waypost.simulator.columns import PlaceColumns, country_number
from waypost.simulator.geography import COUNTRIES
from waypost.simulator.provider import KEPT_BYTES, Provider
from waypost.simulator.reference import Reference, built_in
from waypost.simulator.rendering import Renderer
from waypost.simulator.sketch import ALL_PLUGS, Sketch, sketch

_MICROSECONDS_A_MINUTE = 60_000_000
_COUNTRY_NUMBERS = np.array([country_number(country.code) for country in COUNTRIES], dtype=np.uint16)
_KINDS = np.array([plug.kind for plug in ALL_PLUGS])
_LEVELS = np.array([plug.level for plug in ALL_PLUGS])


def generate(places: int, seed: int, *, room: int = KEPT_BYTES) -> Provider:
    """A provider with this many invented places; `room` is how many bytes of rendered records it keeps."""
    reference = Reference.of(built_in())
    columns = _columns(sketch(seed, np.arange(places, dtype=np.int64)), reference)
    return Provider(columns, Renderer(seed, reference), reference, room=room)


def _columns(drawn: Sketch, reference: Reference) -> PlaceColumns:
    licensed = [entry["ID"] for entry in reference.lists["DataProviders"] if entry["IsOpenDataLicensed"]]
    slots = [np.flatnonzero(drawn.plug_counts > slot) for slot in range(len(drawn.plugs))]
    plugs = np.concatenate([chosen[rows] for chosen, rows in zip(drawn.plugs, slots, strict=True)])
    return PlaceColumns(
        ids=drawn.ids,
        countries=_COUNTRY_NUMBERS[drawn.countries],
        lats=drawn.lats,
        lons=drawn.lons,
        modified=drawn.modified * _MICROSECONDS_A_MINUTE,
        created=drawn.created * _MICROSECONDS_A_MINUTE,
        operators=drawn.operators,
        usages=drawn.usages,
        statuses=drawn.statuses,
        providers=drawn.providers,
        open_data=np.isin(drawn.providers, licensed),
        published=np.ones(len(drawn.ids), dtype=np.bool_),
        plug_rows=np.concatenate(slots),
        plug_kinds=_KINDS[plugs],
        plug_levels=_LEVELS[plugs],
    )
