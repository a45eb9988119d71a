"""A space gives every number a phrase of its own, and takes the phrase back however it is written."""

import dataclasses
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import TerminalError
from waypost.sharing.phrases.formats import FORMATS, Format, join
from waypost.sharing.phrases.language import Agreement, Noun, Vocabulary
from waypost.sharing.phrases.matching import check_custom, fold_phrase
from waypost.sharing.phrases.space import Space, SpaceFull
from waypost.sharing.phrases.vocabulary import load, shipped

VOCABULARY = Vocabulary(
    "pl",
    ("cicho", "lekko"),
    ("mglisty", "złoty", "śnieżny"),
    (Noun("bóbr", "masculine"), Noun("sowa", "feminine")),
    Agreement(("masculine", "feminine"), {"y": ("y", "a")}),
)
SMALL = Space("pl", None, VOCABULARY, b"key")
SMALL_LONGER = Space("pl", None, VOCABULARY.longer(), b"key")
SPACES = [
    Space(language, theme, vocabulary, b"a key of the tests")
    for language in shipped().languages
    for theme in (None, "animals")
    for vocabulary in (load(language, theme), load(language, theme).longer())
]
ENGLISH = SPACES[shipped().languages.index("en") * 4]
spaces = st.sampled_from(SPACES)


@st.composite
def numbers_in_spaces(draw: st.DrawFn) -> tuple[Space, int]:
    space = draw(spaces)
    return space, draw(st.integers(0, space.size - 1))


def test_the_size_is_the_number_of_combinations() -> None:
    assert SMALL.size == 12
    assert SMALL_LONGER.size == 24
    assert ENGLISH.size > 100_000_000


def test_every_combination_is_drawn_once() -> None:
    drawn = [" ".join(SMALL.words(number)) for number in range(SMALL.size)]
    assert sorted(drawn) == sorted(
        f"{adverb} {described}"
        for adverb in ("cicho", "lekko")
        for described in (
            *("mglisty bóbr", "złoty bóbr", "śnieżny bóbr"),
            *("mglista sowa", "złota sowa", "śnieżna sowa"),
        )
    )


def test_a_longer_phrase_has_another_adjective_that_agrees() -> None:
    drawn = {SMALL_LONGER.words(number) for number in range(SMALL_LONGER.size)}
    assert drawn == {
        (adverb, one, two, noun)
        for adverb in ("cicho", "lekko")
        for noun, forms in (("bóbr", ("mglisty", "złoty", "śnieżny")), ("sowa", ("mglista", "złota", "śnieżna")))
        for one, two in permutations(forms, 2)
    }


@pytest.mark.parametrize("space", [SMALL, SMALL_LONGER], ids=["three words", "four words"])
def test_every_phrase_of_a_small_space_parses_back(space: Space) -> None:
    assert [space.parse(" ".join(space.words(number))) for number in range(space.size)] == list(range(space.size))


@given(drawn=numbers_in_spaces(), format=st.sampled_from(FORMATS))
def test_what_is_drawn_parses_back(drawn: tuple[Space, int], format: Format) -> None:  # noqa: A002 - it is the word people use for it
    space, number = drawn
    written = join(space.words(number), format)
    assert space.parse(written) == number
    assert space.parse(written.upper()) == number
    assert space.parse(fold_phrase(written)) == number


@given(space=spaces, data=st.data())
def test_two_numbers_never_fold_to_one_phrase(space: Space, data: st.DataObject) -> None:
    one, two = (data.draw(st.integers(0, space.size - 1)) for _ in range(2))
    folded = [fold_phrase("".join(space.words(number))) for number in (one, two)]
    assert (folded[0] == folded[1]) == (one == two)


@given(drawn=numbers_in_spaces(), format=st.sampled_from(FORMATS))
def test_what_is_drawn_could_also_be_chosen_by_hand(drawn: tuple[Space, int], format: Format) -> None:  # noqa: A002 - as above
    space, number = drawn
    phrase = join(space.words(number), format)
    assert check_custom(phrase) == phrase
    assert phrase.isascii() or format == "spaced"


@pytest.mark.parametrize(
    "text",
    [
        *("", "sowa", "cicho-zlota", "cicho-zlota-sowa-bobr", "zlota-cicho-sowa", "日本"),
        *("cicho-zlota-bobr", "cicho-zlota-sniezny-sowa", "cicho-zlota-zlota-sowa"),
    ],
    ids=str,
)
def test_what_is_no_phrase_of_the_space_does_not_parse(text: str) -> None:
    assert SMALL.parse(text) is None
    assert SMALL_LONGER.parse(text) is None


def test_what_can_be_read_in_two_ways_does_not_parse() -> None:
    nouns = (Noun("ants", "any"), Noun("ts", "any"))
    unfit = Space("en", None, Vocabulary("en", ("sun",), ("ny", "nyan"), nouns), b"key")
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
        "lekko-zloty-bobr",
        "cicho-mglisty-bobr",
        "lekko-sniezny-bobr",
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


@pytest.mark.parametrize(
    ("format", "written"),
    [
        ("kebab", "swiezo-zlota-lodz"),
        ("pascal", "SwiezoZlotaLodz"),
        ("snake", "swiezo_zlota_lodz"),
        ("spaced", "świeżo złota łódź"),
    ],
)
def test_only_for_speech_words_keep_their_accents(format: Format, written: str) -> None:  # noqa: A002 - as above
    assert join(("świeżo", "złota", "łódź"), format) == written


def test_there_are_four_formats() -> None:
    assert FORMATS == ("kebab", "pascal", "snake", "spaced")
