"""The settings for snapshots."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count


@dataclass(frozen=True)
class ServingSettings:
    snapshots: str = setting("snapshots", "", explain="where snapshots are kept; in the data folder when empty")
    keep: int = setting("snapshot.keep", "3", parse=parse_count(1, 1_000_000), explain="how many generations are kept")
    box_limit: int = setting(
        "serving.max_limit",
        "10000",
        parse=parse_count(1, 1_000_000),
        explain="the most places that one answer may have",
    )
