"""Parameters of a route: one table, by which requests are read and from which the API is described."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.web.http.parameter_values import LONGEST_VALUE

MOST_VALUES = 50

Described = dict[str, Any]


class BadParameter(AskedWrongly):
    """A parameter is missing, unknown or out of range."""


@dataclass(frozen=True)
class Parameter:
    """`several`: it may be repeated. `commas`: its values contain no commas, so that commas may separate them."""

    name: str
    explain: str
    schema: Described
    read: Callable[[str], Any]
    several: bool = False
    commas: bool = False
    needed: bool = False

    def described(self) -> Described:
        schema = {"type": "array", "items": self.schema, "minItems": 1, "maxItems": MOST_VALUES}
        found = {"name": self.name, "in": "query", "required": self.needed, "description": self.explain}
        return found | {"schema": schema if self.several else self.schema, "style": "form", "explode": self.several}


class Parameters:
    """What one route takes; everything else is refused, as OGC API Features asks for."""

    def __init__(self, *taken: Parameter) -> None:
        self._taken = {each.name: each for each in taken}
        self._needed = [each.name for each in taken if each.needed]

    def described(self) -> list[Described]:
        return [each.described() for each in self._taken.values()]

    def read(self, query: bytes) -> dict[str, Any]:
        """Values by name; those of a parameter that may be repeated are a tuple."""
        found: dict[str, Any] = {}
        if query:
            for part in _decode(query).split("&"):
                if part:
                    self._take(part, found)
        for name in self._needed:
            if name not in found:
                raise BadParameter(f"{name}: it is needed here", parameter=name)
        return found

    def _take(self, part: str, found: dict[str, Any]) -> None:
        name, _, text = part.partition("=")
        parameter = self._taken.get(name) or self._written_otherwise(name)
        name = parameter.name
        if "%" in text or "+" in text:
            text = _unquote(text, name)
        if len(text) > LONGEST_VALUE:
            raise BadParameter(f"{name}: it has more than {LONGEST_VALUE} characters", parameter=name)
        try:
            if parameter.several:
                self._add(parameter, text, found)
            elif name in found:
                raise ValueError("it is given twice")  # noqa: TRY301 - told like any other mistake
            else:
                found[name] = parameter.read(text)
        except ValueError as error:
            raise BadParameter(f"{name}: {error}", parameter=name) from None

    def _add(self, parameter: Parameter, text: str, found: dict[str, Any]) -> None:
        texts = text.split(",") if parameter.commas else [text]
        values = (*found.get(parameter.name, ()), *map(parameter.read, texts))
        if len(values) > MOST_VALUES:
            raise ValueError(f"there are more than {MOST_VALUES} values")
        found[parameter.name] = values

    def _written_otherwise(self, name: str) -> Parameter:
        plain = _unquote(name, name) if "%" in name or "+" in name else name
        if plain in self._taken:
            return self._taken[plain]
        known = ", ".join(self._taken) or "none"
        raise BadParameter(
            f"there is no parameter {plain[:40]!r} here.{did_you_mean(plain[:40], self._taken)} Known: {known}",
            parameter=plain[:40],
        )


def _decode(query: bytes) -> str:
    try:
        return query.decode()
    except UnicodeDecodeError:
        raise BadParameter("the address is not UTF-8") from None


def _unquote(text: str, name: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise BadParameter(f"{name[:40]}: its value is not UTF-8", parameter=name[:40]) from None
