"""Vocabularies are files: those we ship, and those of a folder that a person keeps."""

import dataclasses
from pathlib import Path

import pytest

from waypost.kernel.errors import AskedWrongly
from waypost.sharing.phrases.language import Agreement, BadVocabulary, Noun, UnknownTheme, Vocabulary
from waypost.sharing.phrases.vocabulary import UnknownLanguage, Vocabularies, load, shipped

THEMES = ("animals", "food", "music", "mythology", "nature", "places", "space")
GENDERS = Agreement(("masculine", "feminine"), {"y": ("y", "a"), "ki": ("ki", "ka")})
VOCABULARY = Vocabulary(
    "pl", ("cicho",), ("wielki", "zielony"), (Noun("bocian", "masculine"), Noun("sowa", "feminine")), GENDERS
)
SMALL = """
name = "Esperanto"
own_name = "Esperanto"

[words]
adverbs = ["bele", "rapide"]
adjectives = ["blua", "verda"]

[nouns.animals]
any = ["lutro", "urso"]

[nouns.general]
any = ["libro"]
"""


@pytest.mark.parametrize("language", shipped().languages)
def test_every_shipped_language_has_the_same_themes(language: str) -> None:
    assert shipped().themes(language) == THEMES


@pytest.mark.parametrize("language", shipped().languages)
def test_phrases_without_a_theme_use_all_nouns(language: str) -> None:
    themes = [set(load(language, theme).nouns) for theme in THEMES]
    assert set.union(*themes) < set(load(language).nouns)
    assert sum(map(len, themes)) == len(set.union(*themes))


def test_a_vocabulary_is_read_once() -> None:
    assert load("en", "animals") is load("en", "animals")


@pytest.mark.parametrize("language", ["xx", "", "EN", "../vocabularies/en", "en.toml", "en\0"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(UnknownLanguage, match=r"there are in .*en") as refused:
        load(language)
    assert refused.value.slug == "unknown-language"
    assert refused.value.parameter == "language"
    assert refused.value.exit_code == 2


def test_a_misspelt_language_gets_a_suggestion() -> None:
    with pytest.raises(UnknownLanguage, match=r"Did you mean en\?"):
        load("eng")


@pytest.mark.parametrize("theme", ["animal", "general", "", "../animals", "any"])
def test_an_unknown_theme_is_refused(theme: str) -> None:
    with pytest.raises(UnknownTheme, match="there is animals, food") as refused:
        load("en", theme)
    assert isinstance(refused.value, AskedWrongly)
    assert refused.value.parameter == "theme"


def test_a_misspelt_theme_gets_a_suggestion() -> None:
    with pytest.raises(UnknownTheme, match=r"Did you mean mythology\?"):
        load("en", "mytology")


def test_the_digest_depends_on_the_content_alone() -> None:
    # Spaces are found again by it: another digest for the same words would leave the rest of each space unused.
    assert VOCABULARY.digest == dataclasses.replace(VOCABULARY).digest == "c9efbb6a51adad34b3ff1b4a3baa85ef"


@pytest.mark.parametrize(
    "change",
    [
        {"language": "cs"},
        {"adverbs": ("cicho", "lekko")},
        {"adverbs": ("cicho", "wielki"), "adjectives": ("zielony",)},
        {"adjectives": ("zielony", "wielki")},
        {"nouns": VOCABULARY.nouns[:1]},
        {"nouns": (Noun("bocian", "masculine"), Noun("sowa", "masculine"))},
        {"agreement": Agreement(GENDERS.classes[::-1], GENDERS.endings)},
        {"agreement": Agreement(GENDERS.classes, {"y": ("y", "a")})},
        {"length": 4},
    ],
    ids=str,
)
def test_any_change_changes_the_digest(change: dict[str, object]) -> None:
    assert dataclasses.replace(VOCABULARY, **change).digest != VOCABULARY.digest  # type: ignore[arg-type]


def test_a_longer_vocabulary_has_the_same_words() -> None:
    longer = VOCABULARY.longer()
    assert longer.length == 4
    assert dataclasses.replace(longer, length=3) == VOCABULARY


def folder_with(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_folder_can_bring_a_new_language(tmp_path: Path) -> None:
    vocabularies = Vocabularies(folder_with(tmp_path, eo=SMALL))
    assert vocabularies.languages == tuple(sorted({*shipped().languages, "eo"}))
    assert vocabularies.themes("eo") == ("animals",)
    assert vocabularies.vocabulary("eo").nouns == (Noun("libro", "any"), Noun("lutro", "any"), Noun("urso", "any"))
    assert "eo" not in shipped().languages


def test_a_file_named_like_a_shipped_one_adds_words_and_themes(tmp_path: Path) -> None:
    text = '[words]\nadverbs = ["ably"]\n[nouns.animals]\nany = ["quokka"]\n[nouns.tools]\nany = ["anvil", "hammer"]\n'
    vocabularies = Vocabularies(folder_with(tmp_path, en=text))
    assert vocabularies.themes("en") == tuple(sorted((*THEMES, "tools")))
    assert set(vocabularies.vocabulary("en", "animals").nouns) - set(load("en", "animals").nouns) == {("quokka", "any")}
    assert vocabularies.vocabulary("en", "tools").nouns == (("anvil", "any"), ("hammer", "any"))
    assert vocabularies.vocabulary("en").adverbs[0] == "ably"
    assert vocabularies.vocabulary("pl") == load("pl")


def test_where_a_word_stands_in_its_file_does_not_matter_to_a_space(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = Vocabularies(folder_with(tmp_path / "one", eo=SMALL))
    two = Vocabularies(folder_with(tmp_path / "two", eo=SMALL.replace('"lutro", "urso"', '"urso", "lutro"')))
    assert one.vocabulary("eo").digest == two.vocabulary("eo").digest


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = ", "eo.toml is not TOML: Invalid value"),
        ("", "needs its name in English and in the language itself"),
        ('theme = "x"\n' + SMALL, "unknown field `theme`"),
        (SMALL.replace('["bele", "rapide"]', '"bele"'), "words.adverbs: Expected `array`, got `str`"),
        (SMALL.replace("nouns.animals", "nouns.Wild-Animals"), "a theme cannot be called 'Wild-Animals'"),
        (SMALL.replace("[nouns.general]\nany", "[nouns.general]\nany2"), "'libro' is a noun of the class 'any2'"),
        (SMALL.replace('["blua", "verda"]', "[]"), "needs adverbs, adjectives and nouns"),
        (SMALL.replace('"bele"', '"быстро"'), "'быстро' is not made of lower-case letters that have a form in a to z"),
        (SMALL.replace('"libro"', '"../.."'), "'../..' is not made of lower-case letters"),
        (SMALL + "[agreement]\nclasses = []\nendings = {}", "needs at least one class of nouns"),
        (SMALL + '[agreement]\nclasses = ["any"]\nendings = {a = ["a", "an"]}', "2 forms for 'a'; it needs one for"),
        (SMALL + "[sounding]\nrules = [['[', 'x']]", r"the rule '\[' in sounding.rules is not a pattern"),
        (SMALL + r"[sounding]" + "\nrules = [['x', '\\9']]", "is not a pattern: invalid group reference"),
        (SMALL + '[sounding]\nblurred = ["ab", "a"]', "need the same number of letters"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_once(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadVocabulary, match=complaint):
        Vocabularies(folder_with(tmp_path, eo=text))


def test_an_addition_cannot_change_a_language(tmp_path: Path) -> None:
    text = '[agreement]\nclasses = ["any"]\nendings = {}\n'
    with pytest.raises(BadVocabulary, match=r"adds to English, .* leave them out"):
        Vocabularies(folder_with(tmp_path, en=text))


def test_a_file_is_named_after_its_language(tmp_path: Path) -> None:
    with pytest.raises(BadVocabulary, match=r"such as pt.toml or pt-br.toml"):
        Vocabularies(folder_with(tmp_path, English=SMALL))


def test_other_files_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("my words")
    assert Vocabularies(tmp_path).languages == shipped().languages


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadVocabulary, match=r"is not a folder; links.vocabularies names"):
        Vocabularies(tmp_path / "nowhere")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "eo.toml").write_bytes(SMALL.replace("libro", "ŝipo").encode("iso8859_3"))
    with pytest.raises(BadVocabulary, match=r"eo.toml cannot be read"):
        Vocabularies(tmp_path)
