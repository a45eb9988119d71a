"""The settings for snapshots."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count


@dataclass(frozen=True)
class ServingSettings:
    snapshots: str = setting("snapshots", "", "where snapshots are kept; in the data folder when empty")
    keep: int = setting("snapshot.keep", "3", "how many generations are kept", parse_count(1, 1_000_000))
    box_limit: int = setting(
        "serving.max_limit", "10000", "the most places that one answer may have", parse_count(1, 1_000_000)
    )
