"""The links that are followed, made as a person would make them: over HTTP."""

import httpx
import msgspec


class Link(msgspec.Struct, frozen=True):
    """As the API shows it."""

    id: str
    phrase: str
    target: str


def make_links(url: str, count: int) -> list[Link]:
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        return [_make(client, number) for number in range(count)]


def _make(client: httpx.Client, number: int) -> Link:
    answer = client.post("/v1/links", json={"target": f"https://example.org/page/{number}"})
    return msgspec.json.decode(answer.raise_for_status().content, type=Link)
