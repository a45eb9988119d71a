"""What a shard asks of Open Charge Map.

country "/" ( full | refresh | window ) [ "/" ids ]
"""

from dataclasses import dataclass
from datetime import date, datetime

from waypost.importing.cuts import IdRange
from waypost.importing.windows import Window
from waypost.places.countries import NAMES
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

_PERIODS = ("full", "refresh", "window")
_FORMS = {("country", period, *more) for period in _PERIODS for more in ((), ("ids",))}


@dataclass(frozen=True, slots=True)
class OcmQuestion:
    country: str
    window: Window | None
    ids: IdRange

    @classmethod
    def read(cls, shard: ShardKey) -> "OcmQuestion":
        """Raises BadShardKey for what this source cannot ask: it would bring too much, or the wrong things."""
        axes = shard.axes
        if shard.source != "ocm" or axes not in _FORMS:
            raise BadShardKey(
                f"{shard} is not a shard of the ocm source, which has a country, then {', '.join(_PERIODS)}, then ids"
            )
        if shard["country"] not in NAMES:
            # The provider would ignore the code and send the whole world.
            raise BadShardKey(f"{shard}: {shard['country']!r} is not a country code")
        if "full" in axes:
            _check_day(shard)
        return cls(
            shard["country"],
            Window.parse(shard["window"]) if "window" in axes else None,
            IdRange.parse(shard["ids"]) if "ids" in axes else IdRange(),
        )

    @property
    def before_first(self) -> int:
        """The id after which the first page begins; the provider's ids begin with 1."""
        return max(self.ids.start - 1, 0)

    def parameters(self) -> dict[str, str]:
        """Without an offset the provider takes a time as UTC; with one it may answer in its server's own zone."""
        asked = {"countrycode": self.country}
        if self.window:
            asked["modifiedsince"] = self.window.asks_from.replace(tzinfo=None).isoformat()
        return asked

    def holds(self, updated_at: datetime | None) -> bool:
        """Whether a record's time is asked for: the provider knows a window's start, and its end is cut here."""
        return self.window is None or (updated_at is not None and self.window.reaches(updated_at))


def _check_day(shard: ShardKey) -> None:
    try:
        is_day = date.fromisoformat(shard["full"]).isoformat() == shard["full"]
    except ValueError:
        is_day = False
    if not is_day:
        raise BadShardKey(f"{shard}: {shard['full']!r} is not a day like 2026-02-21")
