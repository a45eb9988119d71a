"""What can be configured about snapshots."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting


def _at_least_one(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


@dataclass(frozen=True)
class ServingSettings:
    snapshots: str = setting("snapshots", "", explain="Where snapshots are kept; in the data folder when empty.")
    keep: int = setting("snapshot.keep", "3", parse=_at_least_one, explain="How many generations of it are kept.")
    box_limit: int = setting(
        "serving.max_limit", "10000", parse=_at_least_one, explain="The most places that one answer may have."
    )
