"""The words we ship are fit for the phone, and what would not be is noticed and explained."""

import dataclasses
from collections.abc import Mapping

import pytest

from waypost.sharing.phrases.checking import problems
from waypost.sharing.phrases.language import Agreement, Language, Noun
from waypost.sharing.phrases.vocabulary import shipped

ENGLISH = shipped().language("en")


def language(
    adverbs: tuple[str, ...] = ("boldly", "gently"),
    adjectives: tuple[str, ...] = ("golden", "misty"),
    nouns: tuple[str, ...] = ("otter", "river"),
    agreement: Agreement | None = None,
    classes: Mapping[str, tuple[str, ...]] | None = None,
) -> Language:
    by_class = classes or {"any": nouns}
    return dataclasses.replace(
        ENGLISH,
        adverbs=adverbs,
        adjectives=adjectives,
        nouns={"general": tuple(Noun(word, kind) for kind, words in by_class.items() for word in words)},
        agreement=agreement or Agreement(),
    )


def german(adjectives: tuple[str, ...], *, masculine: str, feminine: str) -> Language:
    classes = {"masculine": (masculine,), "feminine": (feminine,)}
    endings = Agreement(("masculine", "feminine"), {"": ("er", "e")})
    return language(adjectives=adjectives, agreement=endings, classes=classes)


def flaws(flawed: Language) -> list[str]:
    """Without the complaint that there are too few words, as there are in every test."""
    return [problem for problem in problems(flawed) if "are needed" not in problem]


@pytest.mark.parametrize("code", shipped().languages)
def test_a_shipped_vocabulary_has_no_problems(code: str) -> None:
    assert problems(shipped().language(code)) == []


def test_a_sound_vocabulary_has_no_flaws() -> None:
    assert flaws(language()) == []


def test_letters_with_accents_are_welcome() -> None:
    assert flaws(language(adjectives=("śnieżny", "złoty"), nouns=("łódź", "żuraw"))) == []


@pytest.mark.parametrize(
    ("flawed", "complaint"),
    [
        (language(nouns=("Otter",)), "'Otter' is not made of lower-case letters that have a form in a to z"),
        (language(nouns=("sea-lion",)), "'sea-lion' is not made of lower-case letters that have a form in a to z"),
        (language(nouns=("выдра",)), "'выдра' is not made of lower-case letters that have a form in a to z"),
        (language(nouns=("ox",)), "'ox' has 2 letters; words have 3 to 12"),
        (language(nouns=("hippopotamuses",)), "'hippopotamuses' has 14 letters; words have 3 to 12"),
        (language(nouns=("otter", "otter")), "'otter' is there twice; leave one of them out"),
        (language(nouns=("golden",)), "'golden' is there twice; leave one of them out"),
        (language(nouns=()), "there must be adverbs, adjectives and nouns, some of each"),
        (language(nouns=("river", "otter")), "'otter' stands after 'river'; words stand in alphabetical order"),
        (language(nouns=("żaba", "kot")), "'kot' stands after 'żaba'; words stand in alphabetical order"),
        (
            language(nouns=("cafe", "café")),
            "'cafe' and 'café' are the same word once accents are left out; leave one of them out",
        ),
        (language(nouns=("flour", "flower")), "'flour' and 'flower' sound alike; leave one of them out"),
        (language(nouns=("cornet", "comet")), "'cornet' and 'comet' look alike; leave one of them out"),
        (language(adverbs=("clearly", "dearly")), "'clearly' and 'dearly' look alike; leave one of them out"),
        (
            language(adjectives=("sun", "sunlit")),
            "'sun' begins 'sunlit', so that words could not be told apart when run together",
        ),
        (
            language(adverbs=("always", "alwaysly")),
            "'always' begins 'alwaysly', so that words could not be told apart when run together",
        ),
        (language(nouns=("porsche",)), "'porsche' is a brand name; leave it out"),
        (language(nouns=("farts",)), "'farts' is not a word to say in front of everybody; leave it out"),
        (language(nouns=("bekanie",)), "'bekanie' is not a word to say in front of everybody; leave it out"),
        (language(nouns=("pipi",)), "'pipi' is not a word to say in front of everybody; leave it out"),
        (
            german(("klein", "nazi"), masculine="otter", feminine="maus"),
            "'nazi' is not a word to say in front of everybody; leave it out",
        ),
        (
            language(agreement=Agreement(("any",), {"y": ("y",)})),
            "no ending in agreement.endings fits the adjective 'golden'; add one, or leave the word out",
        ),
        (
            language(classes={"neuter": ("otter",)}),
            "nouns.general has the class 'neuter', which does not exist; there is any",
        ),
        (
            german(("klein",), masculine="ast", feminine="rast"),
            "'kleine rast' and 'kleiner ast' are the same when run together; leave one of the nouns out",
        ),
        (
            german(("klein", "otet", "rot"), masculine="kat", feminine="terkat"),
            "'kleine rote terkat' and 'kleiner oteter kat' are the same when run together; leave one of the nouns out",
        ),
        (
            german(("klein", "kleineo"), masculine="otter", feminine="maus"),
            "'kleine' begins 'kleineoer', so that words could not be told apart when run together",
        ),
    ],
)  # fmt: skip
def test_a_flaw_is_named(flawed: Language, complaint: str) -> None:
    assert complaint in flaws(flawed)


def test_two_words_are_named_once_for_one_reason() -> None:
    assert flaws(language(nouns=("cafe", "café"))) == [
        "'cafe' and 'café' are the same word once accents are left out; leave one of them out"
    ]


def test_forms_of_one_adjective_may_begin_one_another() -> None:
    assert flaws(german(("klein",), masculine="otter", feminine="maus")) == []


def test_a_noun_may_begin_another_noun() -> None:
    assert flaws(language(nouns=("star", "starfish"))) == []


def test_too_few_words_are_counted() -> None:
    assert problems(language())[-1] == (
        "there are 8 phrases without a theme, 2 adverbs by 2 adjectives by 2 nouns, and 100,000,000 are needed; "
        "add 24,999,998 nouns, or some of each"
    )


def test_a_theme_with_few_nouns_is_named() -> None:
    small = dataclasses.replace(ENGLISH, nouns={**ENGLISH.nouns, "tools": (Noun("hammer", "any"),)})
    found = problems(small)
    assert len(found) == 1
    assert "phrases about tools" in found[0]
    assert "10,000,000 are needed" in found[0]


@pytest.mark.parametrize(
    "pair",
    [
        "flour flower", "night knight", "sail sale", "bear bare", "deer dear", "hare hair", "sun son", "rose rows",
        "plum plumb", "mussel muscle", "whale wail", "cereal serial", "leek leak", "thyme time", "fir fur",
        "moose mousse", "pail pale", "blue blew", "new gnu", "hole whole", "grate great", "quarts quartz",
        "symbol cymbal", "rain reign", "knot not", "right write", "phase faze", "idol idle", "metal medal",
        "scent cent", "lynx links", "chilly jelly", "canyon cannon", "sheep ship", "bat pad", "palm pam", "tern turn",
        "warm worm", "boulder bolder", "pearl purl", "fawn phone",
    ],
)  # fmt: skip
def test_words_that_would_be_confused_on_the_phone_sound_alike(pair: str) -> None:
    one, two = pair.split()
    assert ENGLISH.sounding.key(one) == ENGLISH.sounding.key(two)


@pytest.mark.parametrize(
    "pair",
    ["otter river", "ant tin", "lemon lime", "ship chip", "papaya pay", "oak coke", "swan sun", "golden gold",
     "goat kite", "sheep shop"],
)  # fmt: skip
def test_words_that_differ_by_ear_do_not_sound_alike(pair: str) -> None:
    one, two = pair.split()
    assert ENGLISH.sounding.key(one) != ENGLISH.sounding.key(two)
