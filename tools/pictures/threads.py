"""What runs, as the code says: kinds of process, threads with their names, and where child processes are started."""

import ast
from collections.abc import Iterator
from functools import cache

from tools.pictures.modules import Modules, room_of

# What starts a thread, and the argument that names it.
_STARTERS = {"Thread": "name", "ThreadPoolExecutor": "thread_name_prefix"}


class Nameless(Exception):
    """A thread has no name by which a person could tell it from others."""


def roles(modules: Modules) -> set[str]:
    """A file each, beside the kit that they share."""
    return {name.partition(".")[2] for name in modules if room_of(name) == "roles" and name.count(".") == 1} - {"kit"}


def serve_verbs(modules: Modules) -> set[str]:
    """`waypost serve` comes in several kinds."""
    return {name for call in _calls(modules["cli.serve"]) for name in _texts(call.args) if _called(call) == "command"}


def named_threads(modules: Modules) -> dict[str, str]:
    """The module that starts it, by a thread's name."""
    found = {}
    for module, tree in modules.items():
        for call in _calls(tree):
            argument = _STARTERS.get(_called(call))
            if argument is None:
                continue
            named = [name for keyword in call.keywords if keyword.arg == argument for name in _texts([keyword.value])]
            if not named:
                raise Nameless(f"{module}, line {call.lineno}: {ast.unparse(call)}")
            found[named[0]] = module
    return found


def starting_children(modules: Modules) -> set[str]:
    """Modules that start other processes."""
    starters = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "ProcessPoolExecutor", "Process", "fork"}
    return {module for module, tree in modules.items() if any(_called(call) in starters for call in _calls(tree))}


@cache
def _calls(tree: ast.Module) -> tuple[ast.Call, ...]:
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
