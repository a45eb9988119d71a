"""One use of a link, as it is spooled and shipped. Nobody's address is in it."""

from datetime import datetime

import msgspec


class Visit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The id is made where the visit happened: shipped twice, it counts once.

    For a visitor who asked not to be tracked, all but the first three fields are empty.
    """

    id: str
    link_id: str
    at: datetime
    # A keyed hash of address and agent; the key is new each day, and thrown away afterwards.
    visitor: str = ""
    referrer_host: str = ""
    referrer_path: str = ""
    agent: str = ""
    language: str = ""
    country: str = ""
