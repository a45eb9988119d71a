"""Scopes as people write them: a misspelt country is noticed before a provider ignores it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.importing.plan import UnknownCountry, parse_countries
from waypost.places.countries import NAMES


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("DE", ("DE",)),
        ("DE,FR,NL", ("DE", "FR", "NL")),
        ("nl,De,fR", ("NL", "DE", "FR")),
        (" DE , FR ,", ("DE", "FR")),
        ("DE,FR,de,DE", ("DE", "FR")),
    ],
)
def test_countries_come_once_each_in_the_order_given(text: str, codes: tuple[str, ...]) -> None:
    assert parse_countries(text).countries == codes


@given(st.lists(st.sampled_from(sorted(NAMES)), min_size=1))
def test_every_list_of_codes_is_a_scope(codes: list[str]) -> None:
    scope = parse_countries(",".join(codes))
    assert scope.countries == tuple(dict.fromkeys(codes))
    assert parse_countries(",".join(scope.countries)) == scope


@pytest.mark.parametrize("text", ["", "  ", ",", " , ,"])
def test_no_country_at_all_is_refused(text: str) -> None:
    with pytest.raises(UnknownCountry, match="no country was named; write codes like DE,FR,NL"):
        parse_countries(text)


@pytest.mark.parametrize("text", ["XX", "DE,XX", "D", "DEU", "12", "DE;FR", "*", "X" * 1000])
def test_an_unknown_code_is_refused(text: str) -> None:
    with pytest.raises(UnknownCountry, match="is not a country code") as refusal:
        parse_countries(text)
    assert (refusal.value.parameter, refusal.value.exit_code, refusal.value.slug) == ("country", 2, "unknown-country")
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("text", "code"),
    [("UK", "GB"), ("uk", "GB"), ("Germany", "DE"), ("germny", "DE"), ("Netherland", "NL"), ("Côte d'Ivoire", "CI")],
)
def test_a_name_leads_to_its_code(text: str, code: str) -> None:
    with pytest.raises(UnknownCountry, match=rf"Did you mean {code}\?$"):
        parse_countries(text)


def test_what_is_like_no_country_gets_no_suggestion() -> None:
    with pytest.raises(UnknownCountry, match=r"such as DE\)\.$"):
        parse_countries("XQZ")
