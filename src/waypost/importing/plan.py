"""Scopes as people write them, checked before anybody is asked."""

from waypost.importing.source import Scope
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.places.countries import NAMES


class UnknownCountry(AskedWrongly):
    """A code is not in ISO 3166-1. Open Charge Map would ignore it and send the whole world."""

    slug = "unknown-country"


def parse_countries(text: str) -> Scope:
    """A scope from `DE,FR,NL`: upper case or lower, each once, in the order given."""
    codes = dict.fromkeys(part.strip().upper() for part in text.split(",") if part.strip())
    if not codes:
        raise UnknownCountry("no country was named; write codes like DE,FR,NL", parameter="country")
    for code in codes:
        if code not in NAMES:
            raise UnknownCountry(
                f"{code[:40]!r} is not a country code (ISO 3166-1 alpha-2, such as DE).{_suggest(code)}",
                parameter="country",
            )
    return Scope(tuple(codes))


def _suggest(text: str) -> str:
    """People write UK, or a country's name, where a code is wanted."""
    if text == "UK":
        return " Did you mean GB?"
    by_name = {name.upper(): code for code, name in NAMES.items()}
    near = did_you_mean(text, by_name)
    name = near.removeprefix(" Did you mean ").removesuffix("?")
    return f" Did you mean {by_name[name]}?" if near else ""
