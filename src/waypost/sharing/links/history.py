"""How a link is written into its history: whole, except its password, of which only its existence is kept."""

import msgspec

from waypost.sharing.links.link import Link

HIDDEN = "***"
_link = msgspec.json.Decoder(Link)


def write_down(link: Link) -> str:
    hidden = None if link.password is None else HIDDEN
    return msgspec.json.encode(msgspec.structs.replace(link, password=hidden)).decode()


def read_back(text: str) -> Link:
    return _link.decode(text)
