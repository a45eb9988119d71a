"""What can be set about links and visits."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_size


@dataclass(frozen=True)
class SharingSettings:
    language: str = setting("links.language", "en", explain="the language that phrases are drawn in")
    spool_max: int = setting(
        "visits.spool_max", "64m", parse=parse_size, explain="most that the local spool of visits may hold"
    )
