"""Reads vocabulary files; docs/how-to/extend-a-vocabulary.md has their format."""

import re
import tomllib
from dataclasses import replace
from typing import Any

import msgspec

from waypost.kernel.folding import fold
from waypost.sharing.phrases.language import Agreement, BadVocabulary, Language, Noun, Sounding

_THEME = re.compile(r"[a-z]+(-[a-z]+)*")


class _AgreementTable(msgspec.Struct, forbid_unknown_fields=True):
    classes: tuple[str, ...]
    endings: dict[str, tuple[str, ...]]


class _SoundingTable(msgspec.Struct, forbid_unknown_fields=True):
    rules: tuple[tuple[str, str], ...] = ()
    blurred: tuple[str, str] = ("", "")


class _WordsTable(msgspec.Struct, forbid_unknown_fields=True):
    adverbs: tuple[str, ...] = ()
    adjectives: tuple[str, ...] = ()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    name: str = ""
    own_name: str = ""
    agreement: _AgreementTable | None = None
    sounding: _SoundingTable | None = None
    words: _WordsTable = msgspec.field(default_factory=_WordsTable)
    nouns: dict[str, dict[str, tuple[str, ...]]] = {}


def read_language(code: str, text: str, file: str) -> Language:
    """Reads a language from the text of its file. Raises BadVocabulary, which names the file and what is wrong."""
    table = _read(text, file)
    if not (table.name and table.own_name):
        raise BadVocabulary(
            f'{file}: the language needs its name in English and in the language itself: name = "Polish" and '
            'own_name = "polski"'
        )
    return Language(
        code,
        table.name,
        table.own_name,
        _agreement(table.agreement, file),
        _sounding(table.sounding or _SoundingTable(), file),
        table.words.adverbs,
        table.words.adjectives,
        _nouns(table, file),
    )


def read_addition(language: Language, text: str, file: str) -> Language:
    """Reads what a file adds to an existing language: only words and themes, in the file's own order."""
    table = _read(text, file)
    if table.agreement or table.sounding:
        raise BadVocabulary(
            f"{file} adds to {language.name}, which has its [agreement] and [sounding] already; leave them out"
        )
    return replace(language, adverbs=table.words.adverbs, adjectives=table.words.adjectives, nouns=_nouns(table, file))


def add(language: Language, addition: Language) -> Language:
    """Returns the language with the addition, all words sorted."""
    nouns = {
        theme: language.nouns.get(theme, ()) + addition.nouns.get(theme, ())
        for theme in dict.fromkeys((*language.nouns, *addition.nouns))
    }
    return replace(
        language,
        adverbs=tuple(sorted(language.adverbs + addition.adverbs, key=fold)),
        adjectives=tuple(sorted(language.adjectives + addition.adjectives, key=fold)),
        nouns={theme: tuple(sorted(each, key=lambda noun: fold(noun.word))) for theme, each in nouns.items()},
    )


def _read(text: str, file: str) -> _File:
    try:
        table: dict[str, Any] = tomllib.loads(text)
        return msgspec.convert(table, _File)
    except tomllib.TOMLDecodeError as error:
        raise BadVocabulary(f"{file} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        where, _, path = str(error).partition(" - at `$")
        raise BadVocabulary(f"{file}: {path.strip('.`')}: {where}" if path else f"{file}: {where}") from None


def _agreement(table: _AgreementTable | None, file: str) -> Agreement:
    if table is None:
        return Agreement()
    if not table.classes:
        raise BadVocabulary(f"{file}: agreement.classes needs at least one class of nouns, or leave [agreement] out")
    for ending, forms in table.endings.items():
        if len(forms) != len(table.classes):
            raise BadVocabulary(
                f"{file}: agreement.endings has {len(forms)} forms for {ending!r}; "
                f"it needs one for each class: {', '.join(table.classes)}"
            )
    return Agreement(table.classes, table.endings)


def _sounding(table: _SoundingTable, file: str) -> Sounding:
    for pattern, heard in table.rules:
        try:
            re.compile(pattern).sub(heard, "")
        except (re.error, IndexError) as error:
            raise BadVocabulary(f"{file}: the rule {pattern!r} in sounding.rules is not a pattern: {error}") from None
    if len(table.blurred[0]) != len(table.blurred[1]):
        raise BadVocabulary(f"{file}: the two texts of sounding.blurred need the same number of letters")
    return Sounding(table.rules, table.blurred)


def _nouns(table: _File, file: str) -> dict[str, tuple[Noun, ...]]:
    for theme in table.nouns:
        if not _THEME.fullmatch(theme):
            raise BadVocabulary(f"{file}: a theme cannot be called {theme!r}; use the letters a to z and hyphens")
    return {
        theme: tuple(Noun(word, kind) for kind, words in classes.items() for word in words)
        for theme, classes in table.nouns.items()
    }
