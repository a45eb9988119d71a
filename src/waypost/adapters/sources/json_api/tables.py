"""What the file of a `json-api` source may say, besides what every source says."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlsplit

import msgspec

from waypost.adapters.sources.access import AuthTable
from waypost.importing.definitions import read_table

PagingKind = Literal["none", "page", "offset", "cursor", "keyset", "link"]

# Besides `kind`, `size` and `size_parameter`, which go with all.
_KEYS: Mapping[PagingKind, tuple[str, ...]] = {
    "none": ("limit",),
    "page": ("parameter", "start", "total", "more", "limit"),
    "offset": ("parameter", "start", "total", "more", "limit"),
    "cursor": ("parameter", "token", "next"),
    "keyset": ("parameter", "start", "more"),
    "link": (),
}


class PaginationTable(msgspec.Struct, frozen=True, kw_only=True):
    """How one page leads to the next."""

    kind: PagingKind = "none"
    parameter: str | None = None
    start: int | None = None
    size: int | None = None
    size_parameter: str | None = None
    token: str | None = None
    next: str | None = None
    total: str | None = None
    more: str | None = None
    limit: int | None = None


class ScopeTable(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the parameters that take what is asked for."""

    country: str | None = None
    box: str | None = None
    box_format: str = "{west},{south},{east},{north}"
    since: str | None = None
    until: str | None = None
    time_format: str = "iso"


class JsonApiTable(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    fields: dict[str, Any]
    records: str = ""
    params: dict[str, str | int | float | bool] = {}
    auth: AuthTable | None = None
    pagination: PaginationTable = PaginationTable()
    scope: ScopeTable = ScopeTable()


def read(definition: Mapping[str, Any]) -> JsonApiTable:
    """Raises ValueError, which names the key that is wrong."""
    table = read_table(definition, JsonApiTable)
    check_url(table.url)
    _check_pagination(table.pagination)
    _check_scope(table.scope)
    _check_names(table)
    return table


def check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
        parts = urlsplit("")
    if not is_fit or "@" in parts.netloc or parts.fragment or not url.isprintable() or " " in url:
        raise ValueError("url: write it like https://host/path, without a key or a password in it")


def to_text(moment: datetime, form: str) -> str:
    """A time as the provider wants it: ISO 8601, seconds or milliseconds since 1970, or a format such as %Y-%m-%d."""
    if form == "iso":
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if form == "epoch":
        return str(int(moment.timestamp()))
    if form == "epoch-ms":
        return str(int(moment.timestamp() * 1000))
    return moment.astimezone(UTC).strftime(form)


def _check_pagination(table: PaginationTable) -> None:
    allowed = {"kind", "size", "size_parameter", *_KEYS[table.kind]}
    for name in table.__struct_fields__:
        if name not in allowed and getattr(table, name) is not None:
            kinds = " or ".join(kind for kind in get_args(PagingKind) if name in _KEYS[kind])
            raise ValueError(f"pagination.{name} goes with kind {kinds}, not with {table.kind}")
    if table.kind in {"page", "offset", "keyset"} and not table.parameter:
        raise ValueError(f"pagination.parameter is missing: the name of the parameter that takes the {table.kind}")
    if table.kind == "cursor" and (table.token is None) == (table.next is None):
        raise ValueError("pagination needs either token, the path of the next page's token, or next, that of its URL")
    if (table.token is None) != (table.kind != "cursor" or table.parameter is None):
        raise ValueError("pagination.token and pagination.parameter go together: where it is found, and what takes it")
    for name in ("size", "limit"):
        value = getattr(table, name)
        if value is not None and value < 1:
            raise ValueError(f"pagination.{name} should be at least 1, not {value}")
    if table.start is not None and table.start < 0:
        raise ValueError(f"pagination.start should be at least 0, not {table.start}")


def _check_names(table: JsonApiTable) -> None:
    """A provider that is given a parameter twice takes one of them, and nobody knows which."""
    pages, scope = table.pagination, table.scope
    told: dict[str, str] = {}
    for where, names in (
        ("url", {name for name, _ in parse_qsl(urlsplit(table.url).query, keep_blank_values=True)}),
        ("params", set(table.params)),
        ("pagination.parameter", {pages.parameter}),
        ("pagination.size_parameter", {pages.size_parameter}),
        ("scope.country", {scope.country}),
        ("scope.box", {scope.box}),
        ("scope.since", {scope.since}),
        ("scope.until", {scope.until}),
    ):
        for name in filter(None, names):
            if name in told:
                raise ValueError(f"the parameter {name} is in {told[name]} and in {where}: leave one of them out")
            told[name] = where


def _check_scope(table: ScopeTable) -> None:
    if table.country and table.box:
        raise ValueError("scope has a country and a box: a source is asked along one of them")
    if table.until and not table.since:
        raise ValueError("scope.until needs scope.since: a window has two ends")
    if table.time_format not in {"iso", "epoch", "epoch-ms"} and "%" not in table.time_format:
        raise ValueError('scope.time_format should be iso, epoch, epoch-ms, or a format such as "%Y-%m-%d"')
    try:
        table.box_format.format(west=0.0, south=0.0, east=0.0, north=0.0)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        raise ValueError(
            'scope.box_format should be made of {west}, {south}, {east} and {north}: "{west},{south},{east},{north}"'
        ) from None
