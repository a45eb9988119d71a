"""How a room says what can be configured, and how the values are found.

A room has one frozen dataclass whose fields are made by `setting`. `Configuration` looks each of them up in flags,
then `WAYPOST_*` variables, then `waypost.toml`, then the default, and remembers where it was found.
"""

import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean

PREFIX = "WAYPOST_"
Room = TypeVar("Room")


class SettingError(AskedWrongly):
    """A setting's name or value cannot be used."""

    slug = "setting-invalid"


class Secret:
    """A value that is shown as stars wherever it is printed, logged or raised; `reveal` is the one way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "***" if self._value else ""


class SecretUrl(str):
    """A URL that may have a password in it, which is never shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(redact_url(self))


@dataclass(frozen=True)
class Setting:
    """One setting: `name` is dotted as in waypost.toml; the variable follows from it unless given."""

    name: str
    default: str
    parse: Callable[[str], Any]
    explain: str
    variable: str

    def below(self, table: str) -> "Setting":
        """The same setting inside a table of the file that a person has named."""
        name = f"{table}.{self.name}"
        return dataclasses.replace(self, name=name, variable=PREFIX + re.sub(r"\W", "_", name).upper())

    def read(self, text: str, origin: str) -> Any:
        try:
            return self.parse(text)
        except ValueError as error:
            # A secret's own text must not come back in the complaint about it.
            reason = "its value cannot be used" if self.parse is Secret else redact_url(str(error))
            raise SettingError(f"{self.name} ({origin}): {reason}", parameter=self.name) from None


@dataclass(frozen=True)
class Found:
    """A setting with the value in force and where it came from."""

    setting: Setting
    value: Any
    raw: str = dataclasses.field(repr=False)
    origin: str

    def shown(self) -> str:
        """The value as it was written, except for secrets."""
        return repr(self.value) if isinstance(self.value, Secret) else redact_url(self.raw)


def setting(name: str, default: str, explain: str, parse: Callable[[str], Any] = str, *, variable: str = "") -> Any:
    declared = Setting(name, default, parse, explain, variable or PREFIX + name.replace(".", "_").upper())
    return dataclasses.field(default_factory=lambda: parse(default), metadata={"setting": declared})


def settings_of(room: type) -> Iterator[tuple[str, Setting]]:
    for field in dataclasses.fields(room):
        yield field.name, field.metadata["setting"]


def redact_url(text: str) -> str:
    """The text with any password inside a URL replaced by stars."""
    # A comma may be in a password, stand between hosts, or begin the next URL.
    text = re.sub(r"(\w+://[^/\s:@]*):(?:[^\s,]|,(?![\w+]+://))*@(?=[^@\s,]*(?:[\s,]|$))", r"\1:***@", text)
    return re.sub(r"([?&](?:\w*password|\w*key|\w*token|\w*secret)=)[^&\s#]*", r"\1***", text, flags=re.IGNORECASE)


class Configuration:
    """Where settings are looked up: flags first, then variables, then the file."""

    def __init__(self, flags: Mapping[str, str], environ: Mapping[str, str], file: Path | None) -> None:
        self._flags = flags
        self._environ = environ
        self._path = file
        self._tables = _read_toml(file) if file else {}
        self._file = dict(_flatten(self._tables))
        self.found: dict[str, Found] = {}

    def room(self, room: type[Room], table: str | None = None) -> Room:
        """Reads the settings of a room; with `table`, those in that table of the file, such as `schedule.hourly`."""
        declared = ((field, each.below(table) if table else each) for field, each in settings_of(room))
        return room(**{field: self._find(each) for field, each in declared})

    def tables(self, above: str) -> list[str]:
        """The names of the tables that the file has below this one."""
        found = self._tables.get(above)
        return [name for name, value in found.items() if isinstance(value, dict)] if isinstance(found, dict) else []

    def _find(self, declared: Setting) -> Any:
        raw: Any
        if declared.name in self._flags:
            raw, origin = self._flags[declared.name], "flag"
        elif declared.variable in self._environ:
            raw, origin = self._environ[declared.variable], declared.variable
        elif declared.name in self._file:
            raw, origin = self._file[declared.name], str(self._path)
        else:
            raw, origin = declared.default, "default"
        text = ",".join(map(str, raw)) if isinstance(raw, list) else str(raw)
        value = declared.read(text, origin)
        self.found[declared.name] = Found(declared, value, text, origin)
        return value

    def refuse_unknown_names(self) -> None:
        """A misspelt name in the file would silently do nothing, so it is an error."""
        for name in self._file:
            if name not in self.found:
                raise SettingError(
                    f"{self._path}: there is no setting {name}.{did_you_mean(name, self.found)}",
                    next_step=f"correct the name in {self._path}, or take the line out",
                )

    def unknown_variables(self) -> Iterator[str]:
        """Warnings only: Kubernetes itself injects such variables for a Service called waypost."""
        known = {found.setting.variable for found in self.found.values()}
        for variable in sorted(self._environ):
            if variable.startswith(PREFIX) and variable not in known:
                near = did_you_mean(variable.removeprefix(PREFIX), (name.removeprefix(PREFIX) for name in known))
                yield f"there is no setting {variable}.{near.replace('mean ', f'mean {PREFIX}')}"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} cannot be read: {error}") from None


def _flatten(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{above}{key}.")
        else:
            yield above + key, value
