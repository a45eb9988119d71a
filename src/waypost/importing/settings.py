"""What can be set about importing."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count, parse_duration, parse_duration_between, parse_share, parse_size


@dataclass(frozen=True)
class ImportingSettings:
    page_size: int = setting("import.page_size", "1000", "places asked for in one request", parse_count(1, 1000))
    timeout: float = setting(
        "import.timeout", "60s", "longest time for one answer", parse_duration_between("100ms", "1h")
    )
    max_answer: int = setting("import.max_answer", "64m", "largest answer taken from a provider", parse_size)
    max_pages: int = setting(
        "import.max_pages",
        "100",
        "pages after which a shard is split, or given to the next worker",
        parse_count(1, 100_000),
    )
    most_removed: float = setting(
        "import.most_removed",
        "20%",
        "share of a shard's places that a refresh removes without --allow-mass-delete",
        parse_share,
    )
    most_rejected: float = setting(
        "import.most_rejected", "20%", "share of a shard's records that may be rejected before it fails", parse_share
    )
    provider_patience: float = setting(
        "import.provider_patience",
        "6h",
        "how long jobs wait for a provider that is away before their attempts count",
        parse_duration,
    )
