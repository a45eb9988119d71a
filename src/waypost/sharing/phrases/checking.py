"""Checks that words are fit for the phone, and tells the person who edits them, in sentences, what is wrong."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from waypost.kernel.folding import fold
from waypost.sharing.phrases.language import MISSPELT, BadVocabulary, Language, is_spelt_well
from waypost.sharing.phrases.matching import looks
from waypost.sharing.phrases.overlaps import read_alike
from waypost.sharing.phrases.refused import is_brand, is_rude
from waypost.sharing.phrases.vocabulary import read_file

SHORTEST = 3
LONGEST = 12
# The fewest three-word phrases that a language, or a theme, must have.
FEWEST = 100_000_000
FEWEST_OF_THEME = 10_000_000


def problems(language: Language) -> list[str]:
    """Returns a sentence for each problem; an empty list when the language is fit for use."""
    return [
        *_misspelt(language),
        *_twice(language),
        *out_of_order(language),
        *_not_agreeing(language),
        *_alike(language),
        *_running_together(language),
        *_refused(language),
        *_too_few(language),
    ]


def out_of_order(language: Language) -> Iterator[str]:
    for words in _lists(language):
        for before, after in pairwise(words):
            if fold(before) > fold(after):
                yield f"{after!r} stands after {before!r}; words stand in alphabetical order"


def _lists(language: Language) -> Iterator[tuple[str, ...]]:
    yield language.adverbs
    yield language.adjectives
    for nouns in language.nouns.values():
        for kind in dict.fromkeys(noun.kind for noun in nouns):
            yield tuple(noun.word for noun in nouns if noun.kind == kind)


def _words(language: Language) -> Iterator[str]:
    for words in _lists(language):
        yield from words


def _forms(language: Language) -> Iterator[tuple[str, str]]:
    """Yields every form that can stand in a phrase, with the word it is a form of."""
    adjectives = set(language.adjectives)
    for word in _words(language):
        for form in (language.agreement.forms(word) if word in adjectives else None) or (word,):
            yield form, word


def _misspelt(language: Language) -> Iterator[str]:
    for word in _words(language):
        if not is_spelt_well(word):
            yield f"{word!r} {MISSPELT}"
        elif not SHORTEST <= len(fold(word)) <= LONGEST:
            yield f"{word!r} has {len(fold(word))} letters; words have {SHORTEST} to {LONGEST}"


def _twice(language: Language) -> Iterator[str]:
    seen: set[str] = set()
    for word in _words(language):
        if word in seen:
            yield f"{word!r} is there twice; leave one of them out"
        seen.add(word)


def _not_agreeing(language: Language) -> Iterator[str]:
    for adjective in language.adjectives:
        if language.agreement.forms(adjective) is None:
            yield f"no ending in agreement.endings fits the adjective {adjective!r}; add one, or leave the word out"
    classes = language.agreement.classes
    for theme, nouns in language.nouns.items():
        for kind in dict.fromkeys(noun.kind for noun in nouns):
            if kind not in classes:
                yield f"nouns.{theme} has the class {kind!r}, which does not exist; there is {', '.join(classes)}"


def _alike(language: Language) -> Iterator[str]:
    """Yields each pair of similar words once, for the first reason that applies."""
    forms = list(_forms(language))
    # A word is heard in its place, beside others of its kind, so its listed form is enough.
    words = [(word, word) for word in _words(language)]
    told: set[tuple[str, str]] = set()
    for listed, key, verdict in (
        (forms, fold, "are the same word once accents are left out"),
        (forms, looks, "look alike"),
        (words, language.sounding.key, "sound alike"),
    ):
        first: dict[str, tuple[str, str]] = {}
        for form, word in listed:
            other_form, other = first.setdefault(key(form), (form, word))
            if other != word and (other, word) not in told:
                told.add((other, word))
                yield f"{other_form!r} and {form!r} {verdict}; leave one of them out"


def _running_together(language: Language) -> Iterator[str]:
    """Phrases are matched without separators, so two phrases must not fold to one text: "sun-nymph", "sunny-mph".

    That cannot happen while no adverb is the start of another adverb and no adjective the start of another adjective,
    except between forms of the same adjective; those are followed up to the noun.
    """
    forms = list(_forms(language))
    for words in (set(language.adverbs), set(language.adjectives)):
        yield from _beginning((form, word) for form, word in forms if word in words)
    for one, two in read_alike(language):
        yield f"{one!r} and {two!r} are the same when run together; leave one of the nouns out"


def _beginning(forms: Iterable[tuple[str, str]]) -> Iterator[str]:
    known = {fold(form): (form, word) for form, word in forms}
    for folded, (form, word) in known.items():
        for end in range(1, len(folded)):
            shorter, other = known.get(folded[:end], (form, word))
            if other != word:
                yield f"{shorter!r} begins {form!r}, so that words could not be told apart when run together"


def _refused(language: Language) -> Iterator[str]:
    """Also checks listed forms that never stand in a phrase: readers would still recognise the adjective."""
    for text in dict.fromkeys(each for form, word in _forms(language) for each in (word, form)):
        if is_brand(text):
            yield f"{text!r} is a brand name; leave it out"
        if is_rude(text):
            yield f"{text!r} is not a word to say in front of everybody; leave it out"


def _too_few(language: Language) -> Iterator[str]:
    adverbs, adjectives = len(language.adverbs), len(language.adjectives)
    nouns_of = {f"about {theme}": len(language.nouns[theme]) for theme in language.themes}
    nouns_of["without a theme"] = sum(map(len, language.nouns.values()))
    if not adverbs * adjectives * nouns_of["without a theme"]:
        yield "there must be adverbs, adjectives and nouns, some of each"
        return
    for what, nouns in nouns_of.items():
        fewest = FEWEST if what == "without a theme" else FEWEST_OF_THEME
        if (count := adverbs * adjectives * nouns) < fewest:
            yield (
                f"there are {count:,} phrases {what}, {adverbs:,} adverbs by {adjectives:,} adjectives by {nouns:,} "
                f"nouns, and {fewest:,} are needed; add {-(-fewest // (adverbs * adjectives)) - nouns:,} nouns, or "
                "some of each"
            )


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
