"""How much of everything."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.places.serving import Effort

_SERVED, _LARGEST = 1_000_000, 10_000_000


@dataclass(frozen=True)
class Scale:
    """`links` are there at first, and later. With `served` of them, `followed` are asked for over HTTP, and one has
    `visits`; `asked` are looked up in process.
    """

    links: tuple[int, ...]
    served: int
    asked: int
    followed: int
    times: int
    phrases: int
    bulk: int
    targets: int
    visits: int
    effort: Effort
    with_peers: bool


def whole(cores: Sequence[int], visits: int, *, full: bool) -> Scale:
    return Scale(
        links=(10_000, 100_000, _SERVED, *([_LARGEST] if full else [])),
        served=_SERVED,
        asked=10_000,
        followed=1_000,
        times=1_000,
        phrases=20_000,
        bulk=10_000,
        targets=20_000,
        visits=visits,
        # Visits that are still to be shipped are work as well; a minute is enough for those of a round.
        effort=Effort(connections=(4, 16, 64), seconds=4, rounds=3, held_seconds=4, core=cores[-1], patience=60),
        with_peers=True,
    )


def small(cores: Sequence[int], links: int) -> Scale:
    return Scale(
        links=(links // 2, links),
        served=links,
        asked=links // 4,
        followed=links // 4,
        times=20,
        phrases=200,
        bulk=100,
        targets=100,
        visits=2_000,
        effort=Effort(connections=(8,), seconds=0.1, rounds=1, held_seconds=0.1, core=cores[-1], patience=0),
        with_peers=False,
    )
