"""Checks a vocabulary, or a file of one, for a person who edits it."""

from pathlib import Path

import msgspec

from waypost.sharing.phrases.language import BadVocabulary, Language
from waypost.sharing.phrases.problems import out_of_order, problems
from waypost.sharing.phrases.vocabulary import read_file


class Checked(msgspec.Struct, frozen=True):
    """What was found. `phrases` are those of three words, and `themes` how many of them each theme has."""

    language: str
    file: str | None
    problems: tuple[str, ...]
    phrases: int = 0
    themes: dict[str, int] = {}


def check_language(language: Language) -> Checked:
    return _checked(language, None, problems(language))


def check_file(path: Path) -> Checked:
    """Together with what it adds to, when it adds to a language that we ship."""
    try:
        own, whole = read_file(path)
    except BadVocabulary as error:
        return Checked(path.stem, str(path), (error.message,))
    # Adding puts words in order, so that only the file itself can show that they were not.
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
