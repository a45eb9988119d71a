"""Text as people type it: folding, quantities and suggestions."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.folding import fold, slug
from waypost.kernel.quantities import parse_count, parse_duration, parse_duration_between, parse_size
from waypost.kernel.suggesting import did_you_mean


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Łódź", "lodz"),
        ("ŁÓDŹ", "lodz"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("Đakovo", "dakovo"),
        ("Ísafjörður", "isafjordur"),
        ("Þingvellir", "thingvellir"),
        ("Tromsø", "tromso"),
        ("Ærøskøbing", "aeroskobing"),
        ("Œuvre", "oeuvre"),
        ("Ħamrun", "hamrun"),
        ("DİYARBAKIR \N{LATIN SMALL LETTER DOTLESS I}l\N{LATIN SMALL LETTER DOTLESS I}ca", "diyarbakirilica"),
        ("Cafe\N{COMBINING ACUTE ACCENT}", "cafe"),
        ("ﬁne №7", "fineno7"),
        ("gently-golden_otter 9!", "gentlygoldenotter9"),
        ("日本", ""),
        ("", ""),
    ],
)
def test_letters_fold_to_what_a_person_would_type(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize("letter", "ℋ№™Ⓐᴬ𝐀㎅℃")  # noqa: RUF001 - letters that look alike are the point
def test_a_letter_that_only_looks_special_is_folded_once_and_for_all(letter: str) -> None:
    assert fold(letter) == fold(fold(letter)) != ""


@given(st.text())
def test_a_folded_text_has_small_ascii_letters_and_digits_alone(text: str) -> None:
    assert set(fold(text)) <= set("abcdefghijklmnopqrstuvwxyz0123456789")


@given(st.text())
def test_case_and_composition_do_not_count(text: str) -> None:
    assert fold(text.upper()) == fold(text)
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == fold(text)


@given(st.text(), st.text())
def test_words_run_together(one: str, two: str) -> None:
    assert fold(f"{one} {two}") == fold(one) + fold(two)


@given(st.text())
def test_a_slug_has_the_folded_words_of_the_text(text: str) -> None:
    assert slug(text).split("-") == ([fold(word) for word in text.split() if fold(word)] or [""])
    assert slug(slug(text).replace("-", " ")) == slug(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("30s", 30), ("10m", 600), ("10min", 600), ("1.5h", 5400), (" 2 d ", 172_800), ("1day", 86_400)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@given(st.integers(1, 10_000), st.sampled_from([("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]))
def test_a_duration_is_its_number_times_its_unit(number: int, unit: tuple[str, float]) -> None:
    name, seconds = unit
    assert parse_duration(f"{number}{name}") == pytest.approx(number * seconds)


@pytest.mark.parametrize(
    "text", ["", "30", "s", "0s", "0.0h", "-1s", "1e3s", "30 seconds", "30S", "nan", "9" * 400 + "d"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write it like 30s"):
        parse_duration(text)


def test_a_duration_out_of_its_bounds_is_refused_and_they_are_named() -> None:
    read = parse_duration_between("100ms", "1h")
    assert read("100ms") == pytest.approx(0.1)
    assert read("60m") == pytest.approx(3600)
    for text in ("99ms", "61m"):
        with pytest.raises(ValueError, match=f"'{text}' is not from 100ms to 1h"):
            read(text)
    with pytest.raises(ValueError, match="is not a duration"):
        read("soon")


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("64k", 65_536), ("64KB", 65_536), ("32MiB", 33_554_432), (" 1 g ", 1_073_741_824), ("1b", 1)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0k", "-1", "1.5m", "m", "12t", "many"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; write it like 64k"):
        parse_size(text)


@given(st.integers(-1000, 1000), st.integers(0, 500), st.integers(0, 500))
def test_a_count_lies_between_its_bounds(number: int, least: int, more: int) -> None:
    read = parse_count(least, least + more)
    if least <= number <= least + more:
        assert read(f" {number} ") == number
        return
    with pytest.raises(ValueError, match=f"whole number from {least} to {least + more}"):
        read(str(number))


@pytest.mark.parametrize("text", ["", "3.0", "1e1", "+3", "three", "9" * 5000])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number from 1 to 10"):
        parse_count(1, 10)(text)


def test_the_nearest_known_word_is_suggested_and_a_distant_one_is_not() -> None:
    assert did_you_mean("leese", ["lease", "store"]) == " Did you mean lease?"
    assert not did_you_mean("entirely different", ["lease", "store"])
    assert not did_you_mean("lease", [])
