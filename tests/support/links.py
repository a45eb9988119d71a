"""Links for tests."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from waypost.bootstrap.stores import open_sharing_stores
from waypost.settings import load_settings
from waypost.sharing.links.link import Link
from waypost.sharing.phrases.drawing import Drawing
from waypost.sharing.phrases.vocabulary import Vocabularies

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
TARGET = "https://example.org/page"


def a_link(phrase: str = "gently-golden-otter", number: int = 1, **more: Any) -> Link:
    """The later its number, the newer."""
    at = NOON + timedelta(minutes=number)
    given = {"target": TARGET, "language": "en", "theme": None, "format": "kebab", "created_at": at, "updated_at": at}
    return Link(id=f"link-{number:05}", phrase=phrase, **given | more)


def draw_many(folder: str, count: int) -> list[str]:
    """Phrases as a process draws them that knows of no other."""

    async def draw() -> list[str]:
        async with open_sharing_stores(load_settings({"data": folder}, environ={})) as stores:
            drawing = Drawing(stores.spaces, Vocabularies(), block=500, fill=0.01)
            return ["-".join(await drawing.draw("en")) for _ in range(count)]

    return asyncio.run(draw())
