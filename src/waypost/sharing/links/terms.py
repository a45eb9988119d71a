"""The fields of a link other than its target and its phrase, and their bounds."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.moments import in_utc
from waypost.kernel.text import is_text

LONGEST_TARGET = 2048
LONGEST_TITLE = 200
MOST_TAGS = 20
LONGEST_TAG = 40
MOST_VISITS = 10**9
LONGEST_PASSWORD = 200
LONGEST_PLACE_ID = 100
# These reverse the text after them, so that it reads as something else.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


class LinkInvalid(AskedWrongly):
    """A field of a link is out of bounds."""


def check_title(text: str) -> str:
    title = " ".join(text.split(" ")).strip()
    if len(title) > LONGEST_TITLE:
        raise LinkInvalid(f"the title is longer than {LONGEST_TITLE} characters", parameter="title")
    _refuse_letters(title, "title")
    return title


def fold_tag(text: str) -> str:
    """A text that is equal for tags that differ only in case and spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def check_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the folded tags, each once, in order."""
    tags = tuple(dict.fromkeys(fold_tag(text) for text in texts))
    if len(tags) > MOST_TAGS:
        raise LinkInvalid(f"a link has at most {MOST_TAGS} tags", parameter="tags")
    for tag in tags:
        if not 1 <= len(tag) <= LONGEST_TAG:
            raise LinkInvalid(f"a tag has 1 to {LONGEST_TAG} characters", parameter="tags")
        if "," in tag or "|" in tag:
            raise LinkInvalid("a tag cannot contain a comma or a bar: they separate tags", parameter="tags")
        _refuse_letters(tag, "tags")
    return tags


def check_max_visits(number: int | None) -> int | None:
    if number is not None and not 1 <= number <= MOST_VISITS:
        raise LinkInvalid(f"a limit of visits is from 1 to {MOST_VISITS}", parameter="max_visits")
    return number


def check_expires_at(moment: datetime | None, now: datetime) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise LinkInvalid("the time has no UTC offset; write it like 2026-02-21T00:00:00Z", parameter="expires_at")
    if moment <= now:
        raise LinkInvalid("a link cannot end in the past; choose a later time", parameter="expires_at")
    try:
        return in_utc(moment)
    except ValueError as error:
        raise LinkInvalid(f"{error}; leave the time out for a link that does not end", parameter="expires_at") from None


def check_password(text: str) -> str:
    if not 1 <= len(text) <= LONGEST_PASSWORD:
        raise LinkInvalid(f"a password has 1 to {LONGEST_PASSWORD} characters", parameter="password")
    if not is_text(text):
        raise LinkInvalid("the password has half a character in it, which nobody can type", parameter="password")
    return text


def check_place_id(text: str | None) -> str | None:
    if text is not None and not (1 <= len(text) <= LONGEST_PLACE_ID and text.isascii() and text.isprintable()):
        raise LinkInvalid("this is not the id of a place", parameter="place_id")
    return text


def check_terms(said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Returns the fields, by name, as they will be kept. Raises LinkInvalid."""
    checks: dict[str, Callable[[Any], Any]] = {
        "title": check_title,
        "tags": check_tags,
        "expires_at": lambda moment: check_expires_at(moment, now),
        "max_visits": check_max_visits,
        "place_id": check_place_id,
    }
    return {name: checks[name](value) if name in checks else value for name, value in said.items()}


def _refuse_letters(text: str, parameter: str) -> None:
    if any(letter in _TURNING or unicodedata.category(letter) in {"Cc", "Cs"} for letter in text):
        raise LinkInvalid(f"there are control characters in the {parameter}; leave them out", parameter=parameter)
