"""There are no links in MongoDB, and no visits, phrase spaces or keys. Whoever asks for them is told where they are."""

from typing import NoReturn

from waypost.kernel.errors import AskedWrongly


class LinksElsewhere(AskedWrongly):
    """Links were asked for, and the store that is configured has none."""

    slug = "links-elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "links are kept in PostgreSQL or SQLite; MongoDB is for importing alone",
            next_step="set WAYPOST_STORE=postgresql://… or sqlite:///… for links",
            parameter="store",
        )


class NoLinks:
    """Stands where a store of links, or of what belongs to them, should be."""

    def __getattr__(self, name: str) -> NoReturn:
        raise LinksElsewhere
