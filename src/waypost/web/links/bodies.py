"""What clients send to make and change links, read strictly: unknown fields and wrong types are refused."""

import re
from datetime import datetime
from typing import Annotated, Any, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.sharing.links import editing
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.targets import LONGEST
from waypost.sharing.links.terms import (
    LONGEST_PASSWORD,
    LONGEST_PLACE_ID,
    LONGEST_TAG,
    LONGEST_TITLE,
    MOST_TAGS,
    MOST_VISITS,
)
from waypost.sharing.phrases.formats import Format
from waypost.web.places.parameters import BadParameter

Target = Annotated[
    str, Meta(min_length=1, max_length=LONGEST, description="where it leads", examples=["https://example.org/"])
]
Phrase = Annotated[str, Meta(max_length=200, description="drawn when left out", examples=["summer-party"])]
Title = Annotated[
    str, Meta(max_length=LONGEST_TITLE, description="for its owner, and for the page that shows where it leads")
]
Tag = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=MOST_TAGS, description="to list links by")]
Moment = Annotated[datetime, Meta(tz=True, description="when it ends, with an offset from UTC")]
Visits = Annotated[int, Meta(ge=1, le=MOST_VISITS, description="it leads there so many times, and no more")]
Password = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_PASSWORD, description="whoever follows it is asked for this")
]

# What null leaves of those that are never without a value.
_EMPTY: dict[str, Any] = {"title": "", "tags": (), "forward_query": False}
_HOW = {
    "format": f"it is one of {', '.join(get_args(Format))}",
    "expires_at": "write it like 2027-01-01T00:00:00Z",
}
_PART = re.compile(r" - at `\$\.?(.*?)`$")
_FIELD = re.compile(r"field `(.+?)`")
Body = TypeVar("Body")


class NewLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to make. What is left out, or null, is as the settings say."""

    target: Target
    phrase: (
        Annotated[str, Meta(max_length=200, description="drawn when left out", examples=["summer-party"])] | None
    ) = None
    language: Annotated[str, Meta(max_length=40, description="of a drawn phrase; see /v1/languages")] | None = None
    theme: Annotated[str, Meta(max_length=40, description='of a drawn phrase; see /v1/themes; "" for none')] | None = (
        None
    )
    format: Format | None = None
    title: Title | None = None
    tags: Tags | None = None
    expires_at: Moment | None = None
    max_visits: Visits | None = None
    password: Password | None = None
    forward_query: (
        Annotated[bool, Meta(description="whether the visitor's query is passed on to the target")] | None
    ) = None
    place_id: Annotated[str, Meta(max_length=LONGEST_PLACE_ID, description="the place it is about")] | None = None
    reuse: (
        Annotated[bool, Meta(description="whether your own link to the same target will do, if there is one")] | None
    ) = None

    def draft(self, owner: str | None, idempotency: str | None = None) -> Draft:
        said = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return Draft(**said, owner=owner, idempotency=idempotency)


class Changes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change about a link; what is left out stays, and null clears."""

    target: Target | UnsetType = UNSET
    title: Title | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    expires_at: Moment | UnsetType | None = UNSET
    max_visits: Visits | UnsetType | None = UNSET
    password: Password | UnsetType | None = UNSET
    forward_query: bool | UnsetType | None = UNSET
    disabled: Annotated[bool, Meta(description="a disabled link leads nowhere, at once")] | UnsetType = UNSET

    def changes(self) -> editing.Changes:
        found = msgspec.structs.asdict(self)
        return editing.Changes(**found | {name: empty for name, empty in _EMPTY.items() if found[name] is None})


_new_link = msgspec.json.Decoder(NewLink)
_changes = msgspec.json.Decoder(Changes)


def read_new_link(body: bytes) -> NewLink:
    return _read(_new_link, body)


def read_changes(body: bytes) -> Changes:
    return _read(_changes, body)


def _read(decoder: "msgspec.json.Decoder[Body]", body: bytes) -> Body:
    """Raises BadParameter, which names what is wrong."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        found = _PART.search(str(error)) or _FIELD.search(str(error))
        where = re.split(r"[.\[]", found[1])[0] if found else ""
        said = _PART.sub("", str(error)).replace("`", "")
        how = f"; {_HOW[where]}" if where in _HOW else ""
        raise BadParameter(f"{where or 'body'}: {said}{how}", parameter=where or "body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadParameter("body: it is not JSON, or is not whole", parameter="body") from None
