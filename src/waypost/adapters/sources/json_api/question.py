"""What a shard asks of a JSON API, and what of the answer belongs to it.

[ country | box ] "/" ( full | refresh | window ) [ "/" ids ]
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from waypost.adapters.sources.json_api.tables import ScopeTable, to_text
from waypost.importing.cuts import IdRange
from waypost.importing.geography import Cell
from waypost.importing.source import OutsideScope
from waypost.importing.windows import Window
from waypost.places.countries import NAMES
from waypost.places.place import Place
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

# A provider may round; what lies further outside than this (about 100 m) shows that it did not understand the box.
_NEAR = 0.001


@dataclass(frozen=True, slots=True)
class JsonApiQuestion:
    country: str | None = None
    cell: Cell | None = None
    window: Window | None = None
    ids: IdRange = field(default_factory=IdRange)

    @classmethod
    def read(cls, shard: ShardKey, forms: Collection[tuple[str, ...]], source: str) -> "JsonApiQuestion":
        """Raises BadShardKey for what this source cannot ask."""
        axes = shard.axes
        if shard.source != source or axes not in forms:
            known = ", ".join(sorted("/".join(form) for form in forms))
            raise BadShardKey(f"{shard} is not a shard of the source {source}, which has {known}")
        if "country" in axes and shard["country"] not in NAMES:
            raise BadShardKey(f"{shard}: {shard['country']!r} is not a country code")
        return cls(
            shard["country"] if "country" in axes else None,
            Cell.parse(shard["box"]) if "box" in axes else None,
            Window.parse(shard["window"]) if "window" in axes else None,
            IdRange.parse(shard["ids"]) if "ids" in axes else IdRange(),
        )

    def parameters(self, table: ScopeTable) -> dict[str, str]:
        asked = {}
        if self.country and table.country:
            asked[table.country] = self.country
        if self.cell and table.box:
            box = self.cell.bounds
            asked[table.box] = table.box_format.format(west=box.west, south=box.south, east=box.east, north=box.north)
        if self.window and table.since:
            asked[table.since] = to_text(self.window.asks_from, table.time_format)
        if self.window and table.until:
            asked[table.until] = to_text(self.window.end, table.time_format)
        return asked

    def holds(self, place: Place) -> bool:
        """Whether a place is the shard's own. Raises OutsideScope for what shows that the question was not understood.

        A window's end is cut here too; what has no time may belong to any window. On a cell's edges providers differ:
        what belongs to the neighbour is left to it.
        """
        if self.country and place.country not in {None, self.country}:
            where = place.country if place.country in NAMES else "an unknown country"
            raise OutsideScope(f"asked for {self.country}, the provider sent a place in {where}")
        if self.cell and not self._is_near(place.lat, place.lon):
            raise OutsideScope(f"asked for {self.cell}, the provider sent a place at {place.lat}, {place.lon}")
        return self._is_in_time(place.provider_updated_at) and (
            self.cell is None or self.cell.holds(place.lat, place.lon)
        )

    def _is_in_time(self, moment: datetime | None) -> bool:
        return self.window is None or moment is None or self.window.reaches(moment)

    def _is_near(self, lat: float, lon: float) -> bool:
        assert self.cell
        box = self.cell.bounds
        return (
            box.south - _NEAR <= lat <= box.north + _NEAR
            # At the antimeridian, a place a little further east has a longitude from the other end.
            and any(box.west - _NEAR <= lon + turn <= box.east + _NEAR for turn in (-360.0, 0.0, 360.0))
        )
