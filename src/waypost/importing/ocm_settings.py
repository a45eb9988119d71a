"""Where Open Charge Map is, and the key it knows us by."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from waypost.kernel.configuration import Secret, setting


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
