"""Reads the package's modules, and which of them imports which."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "waypost"
_PACKAGE = "waypost."

# By their names without the package's: `adapters.sqlite.jobs`, and for a folder `adapters.sqlite`.
Modules = Mapping[str, ast.Module]


def read_modules(source: Path = SOURCE) -> Modules:
    return {_name(path.relative_to(source)): ast.parse(path.read_bytes()) for path in sorted(source.rglob("*.py"))}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imports_of(module: str, modules: Modules, *, lazy: bool = True) -> set[str]:
    """Modules of ours that this one imports; unless `lazy`, only when it is loaded itself."""
    named = _imported(modules[module], lazy=lazy)
    return {found for name in named for found in _existing(name, modules)} - {module}


def reached_from(module: str, modules: Modules, *, lazy: bool, passing_by: str = "") -> set[str]:
    """What this module imports, and those in turn, but not by way of the room `passing_by`."""
    reached, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in reached and room_of(name) != passing_by:
            reached.add(name)
            waiting += imports_of(name, modules, lazy=lazy)
    return reached


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _imported(tree: ast.Module, *, lazy: bool) -> frozenset[str]:
    """Asked for again and again while imports are followed."""
    named: list[str] = []
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named += [f"{node.module}.{alias.name}" for alias in node.names]
    return frozenset(name.removeprefix(_PACKAGE) for name in named if name.startswith(_PACKAGE))


def _existing(name: str, modules: Modules) -> Iterator[str]:
    """A name is a module, or something in one."""
    if name in modules:
        yield name
    elif (parent := name.rpartition(".")[0]) in modules:
        yield parent
