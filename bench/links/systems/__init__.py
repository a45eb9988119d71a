"""Who follows links: each a server of its own on one core, in its best documented form."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bench.places.systems import Serving
from waypost.sharing.links.link import Link


@dataclass(frozen=True)
class System:
    """`links` are those that it is asked for, `path` is where one is; `serve` starts it on a core."""

    name: str
    links: Sequence[Link]
    path: Callable[[Link], str]
    serve: Callable[[int], AbstractContextManager[Serving]]
    # Otherwise it leads everybody to the same place.
    knows_links: bool = True


def by_phrase(link: Link) -> str:
    return f"/{link.phrase}"
