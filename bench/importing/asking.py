"""What everybody asks the provider: the same pages in the same form. Nothing else of ours is needed to ask."""

from typing import NamedTuple

PAGE_SIZE = 1000
# As many questions as a worker process of Waypost has under way.
AT_ONCE = 4


class Ask(NamedTuple):
    """The page of a country after an id."""

    country: str
    after: int


def parameters(ask: Ask) -> dict[str, str]:
    return {
        "client": "bench",
        "countrycode": ask.country,
        "sortby": "id_asc",
        "greaterthanid": str(ask.after),
        "maxresults": str(PAGE_SIZE),
        "verbose": "false",
    }
