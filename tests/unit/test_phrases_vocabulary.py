"""The words we ship are fit for the phone, and what would not be is noticed."""

import pytest

from waypost.sharing.phrases.sounding import sound
from waypost.sharing.phrases.vocabulary import UnknownLanguage, Vocabulary, languages, load, problems


def vocabulary(
    adverbs: tuple[str, ...] = ("boldly", "gently"),
    adjectives: tuple[str, ...] = ("golden", "misty"),
    nouns: tuple[str, ...] = ("otter", "river"),
    language: str = "en",
) -> Vocabulary:
    return Vocabulary(language, adverbs, adjectives, nouns)


@pytest.mark.parametrize("language", languages())
def test_a_shipped_vocabulary_has_no_problems(language: str) -> None:
    assert problems(load(language)) == []


def test_the_english_vocabulary_is_large() -> None:
    english = load("en")
    assert len(english.adverbs) >= 110
    assert len(english.adjectives) >= 170
    assert len(english.nouns) >= 200


def test_a_vocabulary_is_read_once() -> None:
    assert load("en") is load("en")


@pytest.mark.parametrize("language", ["xx", "", "EN", "../vocabularies/en", "en.toml", "en\0"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(UnknownLanguage, match="there are in en") as refused:
        load(language)
    assert refused.value.slug == "unknown-language"
    assert refused.value.parameter == "language"
    assert refused.value.exit_code == 2


def test_a_misspelt_language_gets_a_suggestion() -> None:
    with pytest.raises(UnknownLanguage, match=r"Did you mean en\?"):
        load("eng")


def test_a_sound_vocabulary_has_no_problems() -> None:
    assert problems(vocabulary()) == []


@pytest.mark.parametrize(
    ("flawed", "complaint"),
    [
        (vocabulary(nouns=("café",)), "'café' is not made of the lower-case letters a to z"),
        (vocabulary(nouns=("Otter",)), "'Otter' is not made of the lower-case letters a to z"),
        (vocabulary(nouns=("sea-lion",)), "'sea-lion' is not made of the lower-case letters a to z"),
        (vocabulary(nouns=("ox",)), "'ox' has 2 letters; words have 3 to 9"),
        (vocabulary(nouns=("lighthouse",)), "'lighthouse' has 10 letters; words have 3 to 9"),
        (vocabulary(nouns=("otter", "otter")), "'otter' is there twice"),
        (vocabulary(nouns=("golden",)), "'golden' is there twice"),
        (vocabulary(nouns=()), "a list has no words"),
        (vocabulary(nouns=("river", "otter")), "'otter' stands after 'river'; words stand in alphabetical order"),
        (vocabulary(nouns=("cafe", "café")), "'cafe' and 'café' are the same word once folded"),
        (vocabulary(nouns=("flour", "flower")), "'flour' and 'flower' sound alike"),
        (vocabulary(nouns=("mystery", "mister")), "'mystery' and 'mister' sound alike"),
        (
            vocabulary(adjectives=("sun", "sunlit")),
            "'sun' begins 'sunlit', so that words could not be told apart when run together",
        ),
    ],
)
def test_a_flaw_is_named(flawed: Vocabulary, complaint: str) -> None:
    assert complaint in problems(flawed)


def test_a_noun_may_begin_another_noun() -> None:
    assert problems(vocabulary(nouns=("star", "starfish"))) == []


@pytest.mark.parametrize(
    "pair",
    [
        "flour flower", "night knight", "sail sale", "bear bare", "deer dear", "hare hair", "sun son", "rose rows",
        "plum plumb", "mussel muscle", "whale wail", "berry bury", "cereal serial", "leek leak", "thyme time",
        "moose mousse", "pail pale", "blue blew", "new gnu", "hole whole", "grate great", "quarts quartz",
        "symbol cymbal", "rain reign", "knot not", "right write", "phase faze", "idol idle", "metal medal",
        "scent cent", "lynx links", "chilly jelly", "canyon cannon", "sheep shop", "bat pad", "palm pam", "talk tack",
    ],
)  # fmt: skip
def test_words_that_would_be_confused_on_the_phone_sound_alike(pair: str) -> None:
    one, two = pair.split()
    assert sound(one) == sound(two)


@pytest.mark.parametrize(
    "pair", ["otter river", "ant tin", "lemon lime", "ship chip", "papaya pay", "oak coke", "swan sun", "golden gold"]
)
def test_words_that_differ_by_ear_do_not_sound_alike(pair: str) -> None:
    one, two = pair.split()
    assert sound(one) != sound(two)


def test_the_digest_depends_on_the_content_alone() -> None:
    assert vocabulary().digest == vocabulary().digest == "085ef1e8ae2c795ccf633d3924d450af"


@pytest.mark.parametrize(
    "other",
    [
        vocabulary(language="de"),
        vocabulary(nouns=("otter",)),
        vocabulary(nouns=("river", "otter")),
        vocabulary(adverbs=("boldly",), adjectives=("gently", "golden", "misty")),
        vocabulary(adjectives=("golden",), nouns=("misty", "otter", "river")),
    ],
)
def test_any_change_changes_the_digest(other: Vocabulary) -> None:
    assert other.digest != vocabulary().digest
