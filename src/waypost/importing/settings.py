"""What can be set about importing; and where Open Charge Map is, and the key it knows us by."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from waypost.kernel.configuration import Secret, setting
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


def parse_provider_url(text: str) -> str:
    parts = urlsplit(text.strip())
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise ValueError("write the provider's address like https://host, without a key in it")
    return text.strip().rstrip("/").removesuffix("/v3")


PUBLIC_URL = "https://api.openchargemap.io"


@dataclass(frozen=True)
class OcmSettings:
    url: str = setting("ocm.url", PUBLIC_URL, "the provider's address, without /v3", parse_provider_url)
    key: Secret = setting("ocm.key", "", "the key the provider gave you", Secret)
    attribution: str = setting(
        "ocm.attribution", "", "whom to name where the places are shown; by the address when empty"
    )
