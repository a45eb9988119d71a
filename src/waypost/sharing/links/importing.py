"""Reads links from what other shorteners export: Shlink, YOURLS, Bitly and Kutt, as CSV or JSON, and plain CSV.

They are told apart by the names of their columns, in any order and case. Nothing is lost in silence: a line that
cannot become a link is reported as an error with its number.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from waypost.kernel.moments import in_utc
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.rows import BadImport, Numbered, Row, read_rows
from waypost.sharing.phrases.formats import Format

Origin = Literal["shlink", "yourls", "bitly", "kutt", "csv"]

# Columns that identify each kind of file; the first match counts.
_MARKS: tuple[tuple[Origin, frozenset[str]], ...] = (
    ("shlink", frozenset({"shortcode", "longurl"})),
    ("yourls", frozenset({"keyword", "url"})),
    ("yourls", frozenset({"shorturl", "url"})),
    ("bitly", frozenset({"bitlink", "longurl"})),
    ("bitly", frozenset({"link", "longurl"})),
    ("bitly", frozenset({"shortlink", "longurl"})),
    ("kutt", frozenset({"address", "target"})),
    ("csv", frozenset({"target"})),
    ("csv", frozenset({"longurl"})),
    ("csv", frozenset({"url"})),
)
_TARGETS = ("target", "longurl", "url")
_PHRASES = ("phrase", "shortcode", "keyword", "address", "slug")
# Columns of whole addresses, whose path is the phrase. A link with several addresses has several names.
_ADDRESSES: dict[Origin, tuple[str, ...]] = {
    "yourls": ("shorturl",),
    "bitly": ("custombitlinks", "custombitlink", "customlink", "bitlink", "shortlink", "link"),
}
_BEGINNINGS = ("createdat", "datecreated", "created", "timestamp")
_ENDS = ("expiresat", "validuntil", "expirein")
# How Go and MySQL write that there is no time.
_NO_TIME = ("0001-", "0000-00-00")
_LONGEST_NUMBER = 18
_NO = frozenset({"none", "", "0", "false", "no", "off"})


class ImportLine(msgspec.Struct, frozen=True):
    """A line of the file, or an entry of a JSON list, numbered from 1: a draft, or what is wrong with it.

    A link with several names becomes several lines with the same number. `created_at` is when it was first made, if
    the file says so.
    """

    number: int
    phrase: str | None = None
    draft: Draft | None = None
    error: BadImport | None = None
    created_at: datetime | None = None


def read_export(text: str, now: datetime) -> tuple[Origin, Iterator[ImportLine]]:
    """Returns the kind of file, and its lines. Raises BadImport when the kind cannot be told."""
    rows = read_rows(text)
    before: list[Numbered] = []
    for number, row in rows:
        before.append((number, row))
        if not isinstance(row, BadImport):
            origin = _origin(row)
            return origin, chain.from_iterable(_lines(each, origin, now) for each in chain(before, rows))
    raise (
        before[0][1] if before and isinstance(before[0][1], BadImport) else BadImport("there are no links in the file")
    )


def _lines(numbered: Numbered, origin: Origin, now: datetime) -> Iterator[ImportLine]:
    number, row = numbered
    if isinstance(row, BadImport):
        yield ImportLine(number, error=row)
        return
    for phrase in _phrases(row, origin):
        try:
            draft, created_at = _to_draft(row, phrase, origin, now), _moment(_first(row, _BEGINNINGS))
            yield ImportLine(number, phrase, draft, created_at=created_at)
        except BadImport as error:
            yield ImportLine(number, phrase, error=error)


def _origin(row: Row) -> Origin:
    for origin, marks in _MARKS:
        if marks <= row.keys():
            return origin
    raise BadImport(
        f"these are not columns of Shlink, YOURLS, Bitly, Kutt or plain CSV: {', '.join(sorted(row))[:200] or 'none'}",
        next_step="name them in the first line: target, and if you like phrase, title, tags, expires_at, max_visits",
    )


def _to_draft(row: Row, phrase: str | None, origin: Origin, now: datetime) -> Draft:
    _refuse_the_unimportable(row, origin, now)
    target = _first(row, _TARGETS)
    if target is None:
        raise BadImport("there is no target in this line")
    return Draft(
        target=str(target),
        phrase=phrase,
        title=str(_first(row, ("title", "description")) or ""),
        tags=_tags(_first(row, ("tags",))),
        expires_at=_moment(_first(row, _ENDS)),
        max_visits=_number(_first(row, ("maxvisits",))),
        password=_text(_first(row, ("password",))) if origin == "csv" else None,
        forward_query=_is_true(row.get("forwardquery")),
        place_id=_text(_first(row, ("placeid",))),
        language=_text(_first(row, ("language",))),
        theme=_text(_first(row, ("theme",))),
        format=_format(_first(row, ("format",))),
    )


def _refuse_the_unimportable(row: Row, origin: Origin, now: datetime) -> None:
    """Refuses a link that would behave differently here than it did there."""
    if _is_true(row.get("protected")) or (origin == "kutt" and _is_true(row.get("password"))):
        raise BadImport("this link has a password, which is not in the file; make it again with one")
    if _is_true(row.get("disabled")) or _is_true(row.get("banned")):
        raise BadImport("this link is disabled, and would lead somewhere again")
    since = _moment(_first(row, ("validsince",)))
    if since is not None and since > now:
        raise BadImport("this link leads somewhere only later; import it then")


def _first(row: Row, names: Iterable[str]) -> Any:
    for name in names:
        value = row.get(name)
        value = value.strip() if isinstance(value, str) else value
        if value not in (None, "", [], {}):
            return value
    return None


def _phrases(row: Row, origin: Origin) -> list[str | None]:
    """The phrases of a link, each once; None stands for one to be drawn."""
    if (phrase := _first(row, _PHRASES)) is not None:
        return [str(phrase)]
    addresses = [each for name in _ADDRESSES.get(origin, ()) for each in _several(row.get(name))]
    return [*dict.fromkeys(path for each in addresses if (path := _path(each)))] or [None]


def _several(value: Any) -> Iterator[str]:
    """Yields addresses from a list, or from one cell that has several."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield from each.replace(",", " ").replace("|", " ").split()


def _path(address: str) -> str:
    try:
        # bit.ly/abc is as good as https://bit.ly/abc.
        return unquote(urlsplit(address if "//" in address else f"//{address}").path.strip("/"))
    except ValueError:
        # This is not a valid phrase, so it is refused by its name, and the link's other names are not.
        return address


def _tags(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else str(value or "").replace("|", ",").split(",")
    return tuple(str(tag) for tag in parts if str(tag).strip())


def _moment(value: Any) -> datetime | None:
    """Times without an offset are UTC in all of these files."""
    text = str(value).strip()
    if value is None or text.startswith(_NO_TIME):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadImport(f"{text[:40]!r} is not a time; write it like 2026-02-21T00:00:00Z") from None
    try:
        return in_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except ValueError as error:
        raise BadImport(f"{text[:40]!r} is out of bounds: {error}; correct it, or leave it out") from None


def _number(value: Any) -> int | None:
    if value is None:
        return None
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise BadImport(f"{text[:40]!r} is not a number of visits")
    return int(text)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _format(value: Any) -> Format | None:
    try:
        found: Format | None = msgspec.convert(value, Format | None)
    except msgspec.ValidationError:
        raise BadImport(f"{str(value)[:40]!r} is not a format; it is kebab, pascal, snake or spaced") from None
    return found


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() not in _NO
