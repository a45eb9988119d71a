"""Phrases are matched as people type them, and a phrase chosen by hand is refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.sharing.phrases.matching import RESERVED, PhraseRefused, check_custom, fold_phrase, looks, phrase_in


@pytest.mark.parametrize(
    "typed",
    [
        "summer-party",
        "https://go.example.org/summer-party",
        "https://go.example.org/summer-party/",
        "go.example.org/summer-party?utm_source=mail#top",
        "http://127.0.0.1:8080/summer%2Dparty+",
    ],
)
def test_a_phrase_is_found_in_what_people_copy(typed: str) -> None:
    assert phrase_in(typed) == "summer-party"


@pytest.mark.parametrize(
    "typed",
    [
        "gently-golden-otter",
        "Gently Golden Otter",
        "GENTLY_GOLDEN_OTTER",
        "GentlyGoldenOtter",
        "gentlygoldenotter",
        "  gently--golden  otter ",
        "gêntly-gölden-ótter",
        "gently\N{EN DASH}golden\N{NO-BREAK SPACE}otter",
    ],
)
def test_case_accents_and_separators_do_not_count(typed: str) -> None:
    assert fold_phrase(typed) == "gentlygoldenotter"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("my-party", "my-party"),
        ("  My Party\n", "My Party"),
        ("Łódź_2026", "Łódź_2026"),
        ("Straße", "Straße"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "café"),
        ("404", "404"),
        ("apis", "apis"),
        ("the-api", "the-api"),
        ("x" * 60, "x" * 60),
        ("-".join("x" * 60), "-".join("x" * 60)),
    ],
)
def test_a_good_phrase_is_kept_as_typed(typed: str, shown: str) -> None:
    assert check_custom(typed) == shown


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "has 0 letters and digits"),
        ("   ", "has 0 letters and digits"),
        ("ab", "has 2 letters and digits; choose one that has 3 to 60"),
        ("a-b", "has 2 letters and digits"),
        ("x" * 61, "has 61 letters and digits"),
        ("x" * 1_000_000, "too long; choose one that has 3 to 60"),
        (" " * 1000 + "party " * 1000, "too long"),
        ("-party", "cannot begin with a hyphen"),
        (" -party", "cannot begin with a hyphen"),
        ("-/links", "cannot begin with a hyphen"),
        ("_party", "begins and ends with a letter or a digit"),
        ("party-", "begins and ends with a letter or a digit"),
        ("my--party", "stands one hyphen, underscore or space"),
        ("my- party", "stands one hyphen, underscore or space"),
        ("party+", r"cannot contain '\+'"),
        ("party.html", r"cannot contain '\.'"),
        ("my/party", "cannot contain '/'"),
        ("my\tparty", r"cannot contain '\\t'"),
        ("my\nparty", r"cannot contain '\\n'"),
        ("my\0party", r"cannot contain '\\x00'"),
        ("party\N{ZERO WIDTH JOINER}s", r"cannot contain '\\u200d'"),
        ("party\ud800", r"cannot contain '\\ud800'"),
        ("square²", "cannot contain '²'"),
        ("q\N{COMBINING ACUTE ACCENT}ua", "cannot contain"),
        ("日本の旅", "no form in the letters a to z"),
        ("p\N{CYRILLIC SMALL LETTER A}rty", "no form in the letters a to z"),
        ("room\N{ARABIC-INDIC DIGIT THREE}", "no form in the letters a to z"),
        ("api", "kept for pages of this site; add a word"),
        ("A P I", "kept for pages of this site"),
        ("Robots-TXT", "kept for pages of this site"),
        ("well-known", "kept for pages of this site"),
        ("lógin", "kept for pages of this site"),
    ],
)
def test_a_phrase_that_will_not_do_is_refused_with_its_reason(typed: str, reason: str) -> None:
    with pytest.raises(PhraseRefused, match=reason) as refused:
        check_custom(typed)
    assert refused.value.slug == "phrase-refused"
    assert refused.value.parameter == "phrase"
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_reserved_words_are_kept_as_they_fold(word: str) -> None:
    assert fold_phrase(word) == word
    with pytest.raises(PhraseRefused):
        check_custom(word)


@pytest.mark.parametrize(
    "route",
    ["api", "v1", "collections", "conformance", "tiles", "docs", "redoc", "openapi.json", "livez", "readyz", "healthz",
     "metrics", "robots.txt", "favicon.ico", ".well-known", "index.html", "places", "links", "console", "static"],
)  # fmt: skip
def test_no_route_at_the_root_can_be_a_phrase(route: str) -> None:
    assert fold_phrase(route) in RESERVED


@given(st.text(max_size=80))
def test_any_text_is_either_accepted_or_refused(text: str) -> None:
    try:
        shown = check_custom(text)
    except PhraseRefused:
        return
    assert check_custom(shown) == shown
    assert 3 <= len(fold_phrase(shown)) <= 60
    assert fold_phrase(shown) == fold_phrase(text)


@given(st.text(alphabet="abcXYZ019-_ éł", min_size=1, max_size=70))
def test_an_accepted_phrase_is_a_safe_part_of_a_path(text: str) -> None:
    try:
        shown = check_custom(text)
    except PhraseRefused:
        return
    assert shown == text.strip()
    assert not set(shown) & set("/.+?#%")
    assert shown[0] not in "-_ "


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("cool-otter", "c00l-otter"),
        ("link-11", "LINK-LL"),
        ("wild-lily", "wlld-iiiy"),
        ("modern-corner", "rnodem-comer"),
        ("swan", "SVVAN"),
        ("clear-day", "dear-day"),
        ("cider", "dder"),
        ("vvvow", "wvow"),
        ("vvvow", "vwow"),
        ("Gently Golden Otter", "gently_golden_otter"),
        ("łódź", "l0dz"),
    ],
)
def test_phrases_that_look_alike_are_noticed(one: str, two: str) -> None:
    assert looks(one) == looks(two)


@pytest.mark.parametrize(("one", "two"), [("otter", "utter"), ("cat", "cut"), ("nest", "vest"), ("pear", "bear")])
def test_phrases_that_differ_to_the_eye_do_not_look_alike(one: str, two: str) -> None:
    assert looks(one) != looks(two)


@given(one=st.text(max_size=80), two=st.text(max_size=80))
def test_phrases_that_read_the_same_look_alike_too(one: str, two: str) -> None:
    assert looks(one) == looks(fold_phrase(one))
    assert looks(one + two) == looks(one) + looks(two) or fold_phrase(one + two) != fold_phrase(one) + fold_phrase(two)
