"""The tour of the code leads to places that exist: every hop of its stories, and every file of its recipes."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from waypost.adapters.queries import load_queries

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "waypost"
TOUR = (ROOT / "docs" / "explanation" / "code-tour.md").read_text(encoding="utf-8")
STORIES, RECIPES = TOUR.split("\n## Recipes\n")
_HOP = re.compile(r"^(\d+)\. `([^`]+)` · ((?:`[^`]+`(?:, )?)+): \S", re.MULTILINE)
_A_FILE = re.compile(r"`([\w./-]+(?:/|\.(?:md|py|sql|toml)))`")


@dataclass(frozen=True)
class Hop:
    number: int
    file: str
    names: tuple[str, ...]


def hops_of(story: str) -> list[Hop]:
    return [
        Hop(int(number), file, tuple(re.findall(r"`([^`]+)`", names))) for number, file, names in _HOP.findall(story)
    ]


TOLD = {title: story for title, _, story in (part.partition("\n") for part in STORIES.split("\n## ")[1:])}
HOPS = sorted({(hop.file, name) for story in TOLD.values() for hop in hops_of(story) for name in hop.names})


def defined_in(file: Path) -> set[str]:
    """Functions, classes and methods, or the statements of an SQL file."""
    if file.suffix == ".sql":
        package = ".".join(("waypost", *file.parent.relative_to(SOURCE).parts))
        return set(load_queries(package, file.name))
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


def test_there_are_five_stories() -> None:
    assert list(TOLD) == [
        "Import a page",
        "Answer a box of places",
        "Follow a link",
        "Make a link over HTTP",
        "`waypost up`",
    ]


@pytest.mark.parametrize("title", TOLD)
def test_every_line_of_a_story_is_a_hop_and_they_are_numbered(title: str) -> None:
    numbered = re.findall(r"^(\d+)\. ", TOLD[title], re.MULTILINE)
    hops = hops_of(TOLD[title])
    assert len(hops) == len(numbered) > 5
    assert [hop.number for hop in hops] == list(range(1, len(hops) + 1))


@pytest.mark.parametrize(("file", "name"), HOPS)
def test_what_a_hop_names_is_defined_there(file: str, name: str) -> None:
    assert name in defined_in(SOURCE / file)


def test_files_in_recipes_exist() -> None:
    named = _A_FILE.findall(RECIPES)
    assert len(named) > 30
    assert [file for file in named if not (SOURCE / file).exists() and not (ROOT / file).exists()] == []
