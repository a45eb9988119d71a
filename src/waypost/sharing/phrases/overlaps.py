"""Finds phrases that only their separators tell apart: "kleine rast" and "kleiner ast"."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from waypost.kernel.folding import fold
from waypost.sharing.phrases.language import Language, Noun


class _Reading(NamedTuple):
    """The words read so far, for a noun of some class."""

    kind: str
    words: str


class _Pair(NamedTuple):
    """Two readings of one text; `ahead` has read `rest` more of it than `behind`."""

    behind: _Reading
    ahead: _Reading
    rest: str


def read_alike(language: Language) -> Iterator[tuple[str, str]]:
    """Yields two readings of one text, starting at the first adjective, which both readings have in some form.

    Readings are followed word by word, adding adjectives until no new pair appears.
    """
    rows = [[*map(fold, language.agreement.forms(adjective) or ())] for adjective in language.adjectives]
    classes = language.agreement.classes
    forms = {kind: [row[position] for row in rows if row] for position, kind in enumerate(classes)}
    nouns = {kind: {fold(noun.word) for noun in _all_nouns(language) if noun.kind == kind} for kind in classes}
    waiting = [pair for row in rows for pair in _pairs(list(zip(classes, row, strict=False)))]
    seen: set[tuple[str, str, str]] = set()
    for pair in waiting:
        behind, ahead, rest = pair
        if (where := (behind.kind, ahead.kind, rest)) in seen:
            continue
        seen.add(where)
        for noun in sorted(nouns[behind.kind]):
            if noun.startswith(rest) and noun.removeprefix(rest) in nouns[ahead.kind]:
                yield f"{behind.words} {noun}", f"{ahead.words} {noun.removeprefix(rest)}"
        # The list grows while it is walked through.
        waiting.extend(_one_adjective_further(pair, forms))


def _all_nouns(language: Language) -> Iterator[Noun]:
    for nouns in language.nouns.values():
        yield from nouns


def _pairs(row: list[tuple[str, str]]) -> Iterator[_Pair]:
    for (kind, form), (other, longer) in product(row, row):
        if form != longer and longer.startswith(form):
            yield _Pair(_Reading(kind, form), _Reading(other, longer), longer.removeprefix(form))


def _one_adjective_further(pair: _Pair, forms: dict[str, list[str]]) -> Iterator[_Pair]:
    behind, ahead, rest = pair
    for one in forms[behind.kind]:
        if not one.startswith(rest):
            continue
        beyond = one.removeprefix(rest)
        now_ahead = _Reading(behind.kind, f"{behind.words} {one}")
        for two in forms[ahead.kind]:
            now_behind = _Reading(ahead.kind, f"{ahead.words} {two}")
            if beyond.startswith(two):
                yield _Pair(now_behind, now_ahead, beyond.removeprefix(two))
            elif two.startswith(beyond):
                yield _Pair(now_ahead, now_behind, two.removeprefix(beyond))
