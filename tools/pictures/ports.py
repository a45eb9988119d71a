"""The ports of the inner rooms, and the backends behind each: found by name and by what their classes can do."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.pictures.modules import Modules, room_of

_ADAPTERS = "adapters"
# As people write them; other backends are called as their folders are.
_WRITTEN = {
    "http": "HTTP",
    "maxmind": "MaxMind",
    "mongodb": "MongoDB",
    "postgres": "PostgreSQL",
    "redis": "Redis",
    "sqlite": "SQLite",
}
_ORDER = ("SQLite", "PostgreSQL", "MongoDB", "Redis")


@dataclass(frozen=True)
class Port:
    name: str
    room: str
    backends: tuple[str, ...]


@dataclass(frozen=True)
class _Class:
    module: str
    node: ast.ClassDef

    @property
    def bases(self) -> list[str]:
        return [ast.unparse(base).partition("[")[0] for base in self.node.bases]

    @property
    def members(self) -> set[str]:
        """Methods and attributes, also those that `self` is given."""
        named = {node.name for node in self.node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        for node in ast.walk(self.node):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    named.add(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    named.add(name)
        return named


def read_ports(modules: Modules, inside: set[str]) -> list[Port]:
    """Protocols of the rooms inside that a class of an adapter fulfils, sorted by name."""
    classes = {each.node.name: each for each in _classes(modules)}
    found = []
    for name, each in sorted(classes.items()):
        if "Protocol" in each.bases and room_of(each.module) in inside:
            backends = {_written(_folder(adapter.module)) for adapter in _behind(each, classes)}
            if backends:
                found.append(Port(name, room_of(each.module), tuple(sorted(backends, key=_rank))))
    return found


def _classes(modules: Modules) -> Iterator[_Class]:
    for name, tree in modules.items():
        yield from (_Class(name, node) for node in tree.body if isinstance(node, ast.ClassDef))


def _behind(port: _Class, classes: Mapping[str, _Class]) -> list[_Class]:
    """Adapters are named after their port, with the backend first; what others derive from is none itself."""
    wanted = port.members
    derived_from = {base for each in classes.values() for base in each.bases}
    return [
        each
        for name, each in classes.items()
        if room_of(each.module) == _ADAPTERS and name.endswith(port.node.name) and name not in derived_from
        if wanted <= _all_members(each, classes)
    ]


def _all_members(each: _Class, classes: Mapping[str, _Class]) -> set[str]:
    return each.members.union(*(_all_members(classes[base], classes) for base in each.bases if base in classes))


def _folder(module: str) -> str:
    """`adapters.sqlite.jobs` is of `sqlite`, and `adapters.sources.ocm.source` of `ocm`."""
    return module.split(".")[-2]


def _written(folder: str) -> str:
    return _WRITTEN.get(folder, folder.replace("_", "-"))


def _rank(backend: str) -> tuple[int, str]:
    """The stores in the order in which we speak of them."""
    return (_ORDER.index(backend) if backend in _ORDER else len(_ORDER)), backend
