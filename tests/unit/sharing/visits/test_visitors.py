"""What is kept of a visitor, and what never is."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from support.maxmind import write_networks
from support.visits import CHROME, NOON
from waypost.bootstrap.sharing import open_countries
from waypost.kernel.configuration import SettingError
from waypost.sharing.visits.day_keys import FACT, DayKeys
from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer, ShownByBrowser, read_headers, read_language, read_referrer

ADDRESS = "203.0.113.7"
DAY = timedelta(days=1)


class RememberedFacts:
    """Facts in memory. `meanwhile` is what another process writes just before the next replacement."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.meanwhile: str | None = None

    async def get(self, name: str) -> str | None:
        return self.known.get(name)

    async def set(self, name: str, value: str) -> None:
        self.known[name] = value

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        if self.meanwhile is not None:
            self.known[name], self.meanwhile = self.meanwhile, None
        if self.known.get(name) != old:
            return False
        self.known[name] = new
        return True


def keys_in(facts: RememberedFacts, at: datetime = NOON) -> DayKeys:
    keys = DayKeys(facts)
    asyncio.run(keys.renew(at.date()))
    return keys


def observer(facts: RememberedFacts | None = None) -> Observer:
    return Observer(keys_in(facts or RememberedFacts()))


def hashed(observer: Observer, at: datetime = NOON, address: str = ADDRESS, agent: str = CHROME) -> str:
    return observer.visit("link", at, address, ShownByBrowser(agent)).visitor


HEADERS = {
    b"user-agent": CHROME.encode(),
    b"referer": b"https://user:pw@www.Example.org:8443/a/page?token=secret#part",
    b"accept-language": b"de-AT,de;q=0.9,en;q=0.5",
}


# What is kept


def test_a_visit_has_what_the_browser_showed_and_never_the_address() -> None:
    made = observer().visit("link", NOON, ADDRESS, read_headers(HEADERS))
    assert made == Visit(
        made.id, "link", NOON, made.visitor, "www.example.org", "/a/page", CHROME, language="de", country=""
    )
    assert re.fullmatch(r"[0-9a-f]{16}", made.visitor)
    written = msgspec.json.encode(made)
    assert ADDRESS.encode() not in written
    assert b"secret" not in written


@pytest.mark.parametrize("header", [{b"dnt": b"1"}, {b"sec-gpc": b"1"}])
def test_of_those_who_ask_not_to_be_tracked_nothing_is_kept(header: Mapping[bytes, bytes]) -> None:
    shown = read_headers({**HEADERS, **header})
    made = observer().visit("link", NOON, ADDRESS, shown)
    assert made == Visit(made.id, "link", NOON)
    assert read_headers({**HEADERS, b"dnt": b"0"}) == read_headers(HEADERS)


@pytest.mark.parametrize(
    "headers",
    [
        {b"user-agent": b"Twitterbot/1.0"},
        {b"user-agent": b"Twitterbot/1.0", b"dnt": b"1"},
        {b"sec-purpose": b"prefetch;prerender"},
        {b"purpose": b"Prefetch"},
        {b"x-moz": b"prefetch"},
    ],
)
def test_previews_and_fetching_ahead_are_recognised(headers: Mapping[bytes, bytes]) -> None:
    assert read_headers(headers).is_preview


def test_no_headers_show_nothing() -> None:
    assert read_headers({}) == ShownByBrowser()


@given(st.dictionaries(st.sampled_from([b"user-agent", b"referer", b"accept-language"]), st.binary(max_size=5000)))
def test_headers_of_any_bytes_become_short_printable_text(headers: dict[bytes, bytes]) -> None:
    made = observer().visit("link", NOON, ADDRESS, read_headers(headers))
    texts = (made.referrer_host, made.referrer_path, made.agent, made.language)
    assert all(text.isprintable() for text in texts)
    assert sum(map(len, texts)) < 1100
    assert msgspec.json.decode(msgspec.json.encode(made), type=Visit) == made


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("https://example.org/a/b?c=d#e", "example.org", "/a/b"),
        ("http://EXAMPLE.org", "example.org", ""),
        ("https://ada:pw@example.org:8443/x", "example.org", "/x"),
        ("android-app://com.example.mail/", "com.example.mail", "/"),
        ("https://[2001:db8::1]/x", "2001:db8::1", "/x"),
        ("https://example.org/" + "x" * 999, "example.org", "/" + "x" * 255),
        ("", "", ""),
        ("about:blank", "", ""),
        ("javascript:alert(1)", "", ""),
        ("file:///etc/passwd", "", ""),
        ("https://", "", ""),
        ("https://<script>/x", "", ""),
        ("https://[broken", "", ""),
        ("/only/a/path", "", ""),
    ],
)
def test_of_a_referrer_host_and_path_are_kept_and_of_junk_nothing(text: str, host: str, path: str) -> None:
    assert read_referrer(text) == (host, path)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("de-AT,de;q=0.9", "de"),
        ("PL", "pl"),
        (" en-US", "en"),
        ("gsw-CH", "gsw"),
        ("zh_CN", "zh"),
        ("*", ""),
        ("", ""),
        ("english", ""),
        ("1e", ""),
    ],
)
def test_the_language_is_the_first_that_was_asked_for(text: str, language: str) -> None:
    assert read_language(text) == language


# Ids


def test_no_two_visits_have_the_same_id_in_this_process_or_another() -> None:
    observers = [observer(), observer()]
    ids = {each.visit("link", NOON, ADDRESS, ShownByBrowser()).id for each in observers for _ in range(1000)}
    assert len(ids) == 2000


# Keys


def test_the_same_visitor_has_one_hash_a_day_in_the_whole_fleet_and_another_on_the_next_day() -> None:
    facts = RememberedFacts()
    here, there = observer(facts), observer(facts)
    assert hashed(here) == hashed(there)
    assert hashed(here) != hashed(here, address="203.0.113.8")
    assert hashed(here) != hashed(here, agent="curl/8.0.1")
    assert hashed(here, NOON + DAY) == hashed(there, NOON + DAY)
    assert hashed(here, NOON + DAY) != hashed(here)


def test_a_process_that_starts_after_midnight_has_the_key_that_others_prepared() -> None:
    facts = RememberedFacts()
    before = hashed(observer(facts), NOON + DAY)
    assert hashed(Observer(keys_in(facts, NOON + DAY)), NOON + DAY) == before


def test_keys_of_days_that_are_over_are_thrown_away() -> None:
    facts = RememberedFacts()
    keys = keys_in(facts)
    assert set(msgspec.json.decode(facts.known[FACT])) == {"2026-02-21", "2026-02-22"}
    asyncio.run(keys.renew((NOON + DAY).date()))
    assert set(msgspec.json.decode(facts.known[FACT])) == {"2026-02-22", "2026-02-23"}
    assert set(keys._keys) == {(NOON + DAY).date(), (NOON + 2 * DAY).date()}


def test_of_two_that_make_a_key_at_once_both_take_the_first() -> None:
    first, second = RememberedFacts(), RememberedFacts()
    mine = hashed(observer(first))
    second.meanwhile = first.known[FACT]
    assert hashed(observer(second)) == mine


def test_without_a_shared_key_visitors_are_still_counted_by_one_of_our_own() -> None:
    here = observer()
    later = NOON + 3 * DAY
    with capture_logs() as logged:
        assert hashed(here, later) == hashed(here, later)
    assert [entry["event"] for entry in logged] == ["no key for visitors is shared for this day"]


# Countries


def test_countries_come_from_a_file_however_its_provider_names_them(tmp_path: Path) -> None:
    networks: dict[str, dict[str, object]] = {
        "203.0.113.0/24": {"country": {"iso_code": "DE", "names": {"en": "Germany"}}},
        "198.51.100.0/24": {"country_code": "PL"},
        "192.0.2.0/24": {"country": "FR"},
        "10.0.0.0/8": {"continent": {"code": "EU"}},
    }
    countries = open_countries(str(write_networks(tmp_path / "c.mmdb", "Test-Country", networks)))
    assert countries
    asked = ["203.0.113.7", "198.51.100.1", "192.0.2.1", "10.1.2.3", "8.8.8.8", "2001:db8::1", "unix:", ""]
    assert [countries.country(address) for address in asked] == ["DE", "PL", "FR", "", "", "", "", ""]
    seen = Observer(keys_in(RememberedFacts()), countries)
    assert seen.visit("link", NOON, ADDRESS, ShownByBrowser(CHROME)).country == "DE"
    assert not seen.visit("link", NOON, ADDRESS, ShownByBrowser(is_private=True)).country


def test_without_a_file_there_are_no_countries() -> None:
    assert open_countries("") is None


def test_a_file_that_is_missing_or_something_else_is_told_at_the_start(tmp_path: Path) -> None:
    junk = tmp_path / "junk.mmdb"
    junk.write_text("not a database")
    other = write_networks(tmp_path / "asn.mmdb", "Test-ASN", {"203.0.113.0/24": {"organization": "Example"}})
    for path, complaint in (
        (tmp_path / "missing.mmdb", "No such file"),
        (tmp_path, "cannot be read as a file of countries"),
        (junk, "cannot be read as a file of countries"),
        (other, "a file of 'Test-ASN', in which there are no countries"),
    ):
        with pytest.raises(SettingError, match=complaint) as refused:
            open_countries(str(path))
        assert refused.value.parameter == "visits.countries"


def test_time_is_told_in_utc() -> None:
    assert observer().visit("link", datetime(2026, 2, 21, 12, tzinfo=UTC), ADDRESS, ShownByBrowser()).at == NOON
