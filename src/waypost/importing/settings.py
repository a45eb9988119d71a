"""What can be set about importing."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count, parse_duration, parse_duration_between, parse_share, parse_size


@dataclass(frozen=True)
class ImportingSettings:
    page_size: int = setting(
        "import.page_size", "1000", parse=parse_count(1, 1000), explain="places asked for in one request"
    )
    timeout: float = setting(
        "import.timeout", "60s", parse=parse_duration_between("100ms", "1h"), explain="longest time for one answer"
    )
    max_answer: int = setting(
        "import.max_answer", "64m", parse=parse_size, explain="largest answer taken from a provider"
    )
    max_pages: int = setting(
        "import.max_pages",
        "100",
        parse=parse_count(1, 100_000),
        explain="pages after which a shard is split, or given to the next worker",
    )
    most_removed: float = setting(
        "import.most_removed",
        "20%",
        parse=parse_share,
        explain="share of a shard's places that a refresh removes without --allow-mass-delete",
    )
    most_rejected: float = setting(
        "import.most_rejected",
        "20%",
        parse=parse_share,
        explain="share of a shard's records that may be rejected before it fails",
    )
    provider_patience: float = setting(
        "import.provider_patience",
        "6h",
        parse=parse_duration,
        explain="how long jobs wait for a provider that is away before their attempts count",
    )
