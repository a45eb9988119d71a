"""Compares the table of processes with the code, so that nothing is drawn that is not so."""

from collections.abc import Iterator

from tools.pictures.modules import Modules, reached_from
from tools.pictures.process_table import CHILDREN, KINDS, SHARED, THREADS, Kind
from tools.pictures.threads import named_threads, roles, serve_verbs, starting_children

_IN = "tools/pictures/process_table.py"


class TableWrong(Exception):
    """The table of processes and the code differ."""


def differences(modules: Modules) -> list[str]:
    """In sentences, for whoever has to put it right."""
    ways = {kind.title: _ways(kind, modules) for kind in KINDS}
    return [
        *_missing("roles", roles(modules), _drawn_roles()),
        *_missing("threads", set(named_threads(modules)), set(THREADS)),
        *_missing("starters of child processes", starting_children(modules), set(CHILDREN)),
        *(f"{_IN} does not tell of: waypost serve {verb}" for verb in serve_verbs(modules) if verb not in _words()),
        *_wrong_threads(modules),
        *_out_of_reach(ways, named_threads(modules)),
        *_wrong_cells(ways),
    ]


def _missing(what: str, in_code: set[str], in_table: set[str]) -> Iterator[str]:
    if in_code != in_table:
        yield f"{what} in the code: {sorted(in_code)}; in {_IN}: {sorted(in_table)}"


def _drawn_roles() -> set[str]:
    return {module.partition(".")[2] for kind in KINDS for module in kind.modules if module.startswith("roles.")}


def _words() -> set[str]:
    """`serve all` has a frame of its own around the others."""
    return {"all"} | {word.strip(",.;:") for kind in KINDS for word in f"{kind.title} {kind.says}".split()}


def _ways(kind: Kind, modules: Modules) -> set[str]:
    return set[str]().union(*(reached_from(module, modules, lazy=True) for module in kind.modules))


def _wrong_threads(modules: Modules) -> Iterator[str]:
    """A role has the threads of what it loads. The web's rooms are loaded also by those who serve nothing of them."""
    started_by = named_threads(modules)
    for role in roles(modules):
        module = f"roles.{role}"
        loaded = reached_from(module, modules, lazy=False, passing_by="web")
        drawn = {name for kind in KINDS if module in kind.modules for name in kind.threads}
        yield from _missing(f"threads of {role}", {name for name, by in started_by.items() if by in loaded}, drawn)


def _out_of_reach(ways: dict[str, set[str]], started_by: dict[str, str]) -> Iterator[str]:
    for kind in KINDS:
        starters = {*kind.children, *(started_by[name] for name in kind.threads if name in started_by)}
        for module in sorted(starters - ways[kind.title]):
            yield f"{kind.title} has no way to {module}, although {_IN} says so"


def _wrong_cells(ways: dict[str, set[str]]) -> Iterator[str]:
    for shared in SHARED:
        for title in shared.cells:
            if not ways[title].intersection(shared.modules):
                yield f"{title} has no way to the {shared.name}, although {_IN} says so"
