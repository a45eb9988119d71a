"""Checks a vocabulary, or a vocabulary file, for the person who edits it."""

from pathlib import Path

import msgspec

from waypost.sharing.phrases.language import BadVocabulary, Language
from waypost.sharing.phrases.problems import out_of_order, problems
from waypost.sharing.phrases.vocabulary import read_file


class Checked(msgspec.Struct, frozen=True):
    """What was found. `phrases` counts those of three words, and `themes` how many of them each theme has."""

    language: str
    file: str | None
    problems: tuple[str, ...]
    phrases: int = 0
    themes: dict[str, int] = {}


def check_language(language: Language) -> Checked:
    return _checked(language, None, problems(language))


def check_file(path: Path) -> Checked:
    """Checks a vocabulary file; one that adds to a language we ship is checked together with that language."""
    try:
        own, whole = read_file(path)
    except BadVocabulary as error:
        return Checked(path.stem, str(path), (error.message,))
    # Adding sorts the words, so only the file itself shows whether they were in order.
    unordered = out_of_order(own) if own is not whole else ()
    return _checked(whole, path, [*unordered, *problems(whole)])


def _checked(language: Language, path: Path | None, found: list[str]) -> Checked:
    pairs = len(language.adverbs) * len(language.adjectives)
    return Checked(
        language.code,
        str(path) if path else None,
        tuple(found),
        pairs * sum(map(len, language.nouns.values())),
        {theme: pairs * len(language.nouns[theme]) for theme in language.themes},
    )
