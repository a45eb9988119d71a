"""Sources that are described in files: what every such file says, whatever its kind, and how it is read."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from waypost.importing.settings import ImportingSettings
from waypost.importing.source import Source
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import OURSELVES
from waypost.scaling.ratelimit.limits import parse_limits

# Names that our own shard keys begin with, which no file may use.
BUILT_IN = ("ocm", OURSELVES)
DEFAULT_BUDGET = "2/s"

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_AT = re.compile(r"(.*) - at `(?:key in )?\$\.?(.*)`", re.DOTALL)
Table = TypeVar("Table")


class BadDefinition(AskedWrongly):
    """The file of a source cannot be used."""

    slug = "bad-source"


class CommonTable(msgspec.Struct, frozen=True, kw_only=True):
    """What every source's file says; its kind decides what else it has."""

    name: str
    kind: str
    licence: Licence
    budget: str = DEFAULT_BUDGET


@dataclass(frozen=True)
class Definition:
    """One source as its file describes it. `rest` is what its kind reads; `budget` is what each key may ask for."""

    name: str
    kind: str
    licence: Licence
    budget: str
    path: Path
    rest: Mapping[str, Any] = field(repr=False)


class SourceKind(msgspec.Struct, frozen=True):
    """A kind of source, the package that provides it, and why it cannot be used, if it cannot."""

    name: str
    package: str
    error: str | None = None


@dataclass(frozen=True)
class SourceContext:
    """What a source is made with besides its own definition. `folder` is where its file is."""

    name: str
    licence: Licence
    importing: ImportingSettings
    folder: Path
    environ: Mapping[str, str] = field(repr=False)


# What an entry point of the group `waypost.sources` leads to. A ValueError is reported with the name of the file.
Make = Callable[[Mapping[str, Any], SourceContext], Source]


def read_definition(path: Path) -> Definition:
    """Raises BadDefinition, which names the file and what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadDefinition(f"{path} cannot be read: {reason}") from None
    try:
        common = read_table({name: table[name] for name in _common_names() if name in table}, CommonTable)
        _check_name(common.name)
        parse_limits(common.budget)
    except ValueError as error:
        raise BadDefinition(f"{path}: {error}") from None
    rest = {name: value for name, value in table.items() if name not in _common_names()}
    return Definition(common.name, common.kind, common.licence, common.budget, path, rest)


def load_definitions(patterns: Iterable[str]) -> dict[str, Definition]:
    """Returns definitions by name. A pattern may match nothing; a path must exist. Raises BadDefinition."""
    found: dict[str, Definition] = {}
    for path in dict.fromkeys(path for pattern in patterns for path in _paths(pattern)):
        definition = read_definition(path)
        other = found.setdefault(definition.name, definition)
        if other is not definition and other.path.resolve() != path.resolve():
            raise BadDefinition(f"{path}: {other.path} has the name {definition.name!r} already; choose another one")
    return found


def read_table(table: Mapping[str, Any], kind: type[Table]) -> Table:
    """A struct from a table. Raises ValueError, which names the key that is unknown, missing or of the wrong kind."""
    _refuse_unknown_keys(table, kind)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        match = _AT.fullmatch(str(error))
        if not match or not match[2]:
            raise ValueError(match[1] if match else str(error)) from None
        choices = _choices(kind, match[2].split("."))
        raise ValueError(f"{match[2]}: {match[1]}{f'; write one of {choices}' if choices else ''}") from None


def keys_of(kind: Any, above: str = "") -> Iterator[str]:
    """Every key that a table of this kind may have, including those of tables inside it: `pagination.size`."""
    for each in msgspec.structs.fields(kind):
        yield above + each.encode_name
        for inner in _structs_in(each.type):
            yield from keys_of(inner, f"{above}{each.encode_name}.")


def _choices(kind: Any, steps: Sequence[str]) -> str:
    """The texts that a key accepts, if it accepts only certain ones."""
    types = [each.type for each in msgspec.structs.fields(kind) if each.encode_name == steps[0]]
    if steps[1:]:
        return "".join(_choices(inner, steps[1:]) for each in types for inner in _structs_in(each))
    literals = [each for found in types for each in (found, *get_args(found)) if get_origin(each) is Literal]
    return ", ".join(choice for each in literals for choice in get_args(each))


def _refuse_unknown_keys(table: Mapping[str, Any], kind: Any, above: str = "") -> None:
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    for key, value in table.items():
        if key not in fields:
            known = ", ".join(fields)
            raise ValueError(f"there is no key {above}{key}; there is {known}.{did_you_mean(key, fields)}")
        if isinstance(value, Mapping):
            for inner in _structs_in(fields[key].type):
                _refuse_unknown_keys(value, inner, f"{above}{key}.")


def _structs_in(kind: Any) -> Sequence[Any]:
    """The structs that a field's type allows: the type itself, or some of a union's members."""
    return [each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, msgspec.Struct)]


def _common_names() -> tuple[str, ...]:
    return CommonTable.__struct_fields__


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name: {name[:60]!r} is not a name; it has up to 40 lower-case letters, digits and hyphens, a letter first"
        )
    if name in BUILT_IN:
        raise ValueError(f"name: {name!r} is the name of a source that is built in; choose another one")


def _paths(pattern: str) -> list[Path]:
    if any(character in pattern for character in "*?["):
        return [Path(found) for found in sorted(glob(pattern, recursive=True))]  # noqa: PTH207 - a Path takes no absolute pattern
    return [Path(pattern)]
