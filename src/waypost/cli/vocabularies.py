"""The command `waypost vocabulary`, and its verbs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, print_json, print_line, with_json

if TYPE_CHECKING:
    from waypost.sharing.phrases.checking import Checked

group = Group(
    "vocabulary",
    help="The words that phrases are made of.",
    examples=("waypost vocabulary check", "waypost vocabulary check words/pt.toml"),
)


@group.command(
    "check",
    examples=(
        "waypost vocabulary check",
        "waypost vocabulary check en",
        "waypost vocabulary check words/en.toml words/pt.toml --json",
    ),
)
@click.argument("what", metavar="[FILE|LANGUAGE]...", nargs=-1)
@with_json
def check(load: Load, what: tuple[str, ...], *, as_json: bool) -> int:
    """Say what is wrong with the words of a FILE or a LANGUAGE; without either, of all that there are.

    A file that is named like a language that we ship adds to it, and is checked together with it. Ends with 1 when
    something is wrong.
    """
    folder = load().sharing.vocabularies
    checked = list(_check(what, Path(folder) if folder else None))
    if as_json:
        print_json({"vocabularies": checked})
    else:
        for each in checked:
            _print(each)
    return 1 if any(each.problems for each in checked) else 0


def _check(what: Iterable[str], folder: Path | None) -> Iterator["Checked"]:
    from waypost.sharing.phrases.checking import check_file, check_language
    from waypost.sharing.phrases.vocabulary import files_in, shipped

    files = files_in(folder) if folder else {}
    for each in what or sorted({*shipped().languages, *files}):
        if each in files:
            yield check_file(files[each])
        elif Path(each).suffix or len(Path(each).parts) > 1:
            yield check_file(Path(each))
        else:
            yield check_language(shipped().language(each))


def _print(checked: "Checked") -> None:
    name = checked.file or checked.language
    if not checked.problems:
        themes = ", ".join(f"{theme} {count:,}" for theme, count in checked.themes.items())
        print_line(f"{name}: nothing is wrong; {checked.phrases:,} phrases of three words; with a theme: {themes}")
        return
    count = len(checked.problems)
    print_line(f"{name}: {count} {'problem' if count == 1 else 'problems'}")
    for problem in checked.problems:
        print_line(f"  {problem}")
