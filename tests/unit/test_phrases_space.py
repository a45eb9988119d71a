"""A space gives every number a phrase of its own, and takes the phrase back however it is written."""

import dataclasses
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import TerminalError
from waypost.sharing.phrases.formats import FORMATS, Format, join
from waypost.sharing.phrases.matching import check_custom, fold_phrase
from waypost.sharing.phrases.space import Space, SpaceFull
from waypost.sharing.phrases.vocabulary import Vocabulary, load

ENGLISH = Space("en", None, load("en"), b"a key of the tests")
SMALL = Space(
    "en", None, Vocabulary("en", ("boldly", "gently"), ("golden", "misty", "snowy"), ("otter", "river")), b"key"
)
numbers = st.integers(0, ENGLISH.size - 1)


def test_the_size_is_the_number_of_combinations() -> None:
    assert SMALL.size == 12
    assert ENGLISH.size > 16_000_000


def test_every_combination_is_drawn_once() -> None:
    words = SMALL.vocabulary
    drawn = [SMALL.words(number) for number in range(SMALL.size)]
    assert sorted(drawn) == sorted(product(words.adverbs, words.adjectives, words.nouns))


@given(number=numbers, format=st.sampled_from(FORMATS))
def test_what_is_drawn_parses_back(number: int, format: Format) -> None:  # noqa: A002 - it is the word people use for it
    written = join(ENGLISH.words(number), format)
    assert ENGLISH.parse(written) == number
    assert ENGLISH.parse(written.upper()) == number
    assert ENGLISH.parse(fold_phrase(written)) == number


@given(one=numbers, two=numbers)
def test_two_numbers_never_fold_to_one_phrase(one: int, two: int) -> None:
    folded = [fold_phrase("".join(ENGLISH.words(number))) for number in (one, two)]
    assert (folded[0] == folded[1]) == (one == two)


@given(number=numbers)
def test_what_is_drawn_could_also_be_chosen_by_hand(number: int) -> None:
    phrase = join(ENGLISH.words(number), "kebab")
    assert check_custom(phrase) == phrase


@pytest.mark.parametrize(
    "text", ["", "otter", "gently-golden", "gently-golden-otter-river", "golden-gently-otter", "日本"]
)
def test_what_is_no_phrase_of_the_space_does_not_parse(text: str) -> None:
    assert SMALL.parse(text) is None


def test_what_can_be_read_in_two_ways_does_not_parse() -> None:
    unfit = Space("en", None, Vocabulary("en", ("sun",), ("ny", "nyan"), ("ants", "ts")), b"key")
    assert unfit.parse("sun-ny-ants") is None


@pytest.mark.parametrize("number", [-1, 12, 10**9])
def test_a_number_outside_the_space_says_what_to_do(number: int) -> None:
    with pytest.raises(SpaceFull, match="open a new space") as full:
        SMALL.words(number)
    assert full.value.slug == "space-full"
    assert isinstance(full.value, TerminalError)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(ENGLISH, key=b"another key"),
        dataclasses.replace(ENGLISH, theme="space"),
        dataclasses.replace(ENGLISH, language="de"),
        dataclasses.replace(
            ENGLISH, vocabulary=dataclasses.replace(ENGLISH.vocabulary, nouns=ENGLISH.vocabulary.nouns[::-1])
        ),
    ],
    ids=["key", "theme", "language", "vocabulary"],
)
def test_another_space_has_another_order(other: Space) -> None:
    assert [other.words(number) for number in range(5)] != [ENGLISH.words(number) for number in range(5)]


def test_the_phrases_of_a_space_never_change() -> None:
    # Numbers are handed out once and for all: another order would draw phrases that were given away.
    assert [join(SMALL.words(number), "kebab") for number in range(3)] == [
        "boldly-golden-otter",
        "boldly-snowy-otter",
        "boldly-misty-otter",
    ]


def test_the_key_is_not_shown() -> None:
    assert "a key of the tests" not in repr(ENGLISH)


@pytest.mark.parametrize(
    ("format", "written"),
    [
        ("kebab", "gently-golden-otter"),
        ("pascal", "GentlyGoldenOtter"),
        ("snake", "gently_golden_otter"),
        ("spaced", "gently golden otter"),
    ],
)
def test_words_are_joined_in_every_format(format: Format, written: str) -> None:  # noqa: A002 - it is the word people use for it
    assert join(("gently", "golden", "otter"), format) == written


def test_there_are_four_formats() -> None:
    assert FORMATS == ("kebab", "pascal", "snake", "spaced")
