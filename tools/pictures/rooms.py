"""The rooms of the code: their layers as the import rules have them, and which room imports which."""

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.pictures.modules import ROOT, Modules, imports_of, room_of


@dataclass(frozen=True)
class Room:
    """`uses` are the rooms that it imports, without those that one of them imports anyway."""

    name: str
    says: str
    uses: tuple[str, ...]
    is_inside: bool


@dataclass(frozen=True)
class House:
    """Layers from top to bottom, and what the rule says about the rooms inside."""

    layers: tuple[tuple[Room, ...], ...]
    rule_inside: str


def read_house(modules: Modules) -> House:
    rules = _contracts()
    inside = {name.removeprefix("waypost.") for name in rules["hexagon"]["source_modules"]}
    uses = reduced(room_imports(modules))
    layers = [
        tuple(
            Room(name, _first_sentence(modules[name]), uses.get(name, ()), name in inside)
            for name in _names(layer)
            if name in modules
        )
        for layer in rules["layers"]["layers"]
    ]
    return House(tuple(layer for layer in layers if layer), rules["hexagon"]["name"])


def room_imports(modules: Modules) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module in modules:
        room = room_of(module)
        used = {room_of(name) for name in imports_of(module, modules)} - {room, ""}
        found[room] = found.get(room, set()) | used
    return found


def reduced(imports: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Without what is reached by way of another room."""
    return {
        room: tuple(
            sorted(name for name in used if not any(name in _reached(other, imports) for other in used - {name}))
        )
        for room, used in imports.items()
    }


def _reached(room: str, imports: Mapping[str, set[str]]) -> set[str]:
    reached = set(imports.get(room, ()))
    return reached.union(*(_reached(name, imports) for name in reached))


def _contracts() -> dict[str, dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in project["tool"]["importlinter"]["contracts"]}


def _names(layer: str) -> list[str]:
    """`adapters | web` are two rooms; one in parentheses need not be there."""
    return re.findall(r"\w+", layer)


def _first_sentence(module: ast.Module) -> str:
    text = " ".join((ast.get_docstring(module) or "").split())
    return re.split(r"(?<=\.) ", text)[0].removesuffix(".")
