"""Whose address a request comes from: only our own proxies are believed, and only about what they saw."""

import pytest

from waypost.web.http.proxies import Proxies, by_name
from waypost.web.settings import parse_networks

OURS = Proxies(parse_networks("10.0.0.0/8, 192.0.2.1, fd00::/8"))


def client(peer: str, *lines: tuple[str, str]) -> str:
    return OURS.client(peer, by_name((name.encode(), value.encode()) for name, value in lines))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 10.1.1.1", "203.0.113.7"),
        ("198.51.100.66, 203.0.113.7", "203.0.113.7"),
        ("10.9.9.9, 203.0.113.7, 10.1.1.1, 192.0.2.1", "203.0.113.7"),
        ("10.1.1.1", "10.1.1.1"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("198.51.100.66, unknown", "10.0.0.1"),
        ("198.51.100.66, unknown, 10.1.1.1", "10.1.1.1"),
        ("", "10.0.0.1"),
        (",,,", "10.0.0.1"),
        ("<script>", "10.0.0.1"),
        (", ".join(["198.51.100.66"] * 5000 + ["10.0.0.2"]), "198.51.100.66"),
    ],
)
def test_the_last_hop_that_is_not_ours_is_the_client(written: str, expected: str) -> None:
    assert client("10.0.0.1", ("x-forwarded-for", written)) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("for=203.0.113.7", "203.0.113.7"),
        ('for="[2001:db8::1]:4711";proto=https', "2001:db8::1"),
        ("proto=https;For=203.0.113.7;by=10.0.0.1, for=10.1.1.1", "203.0.113.7"),
        ("for=198.51.100.66, for=_hidden", "10.0.0.1"),
        ("proto=https", "10.0.0.1"),
    ],
)
def test_the_standard_header_is_read_too(written: str, expected: str) -> None:
    assert client("10.0.0.1", ("forwarded", written)) == expected


def test_several_lines_are_one_list() -> None:
    assert client("10.0.0.1", ("x-forwarded-for", "203.0.113.7"), ("x-forwarded-for", "10.1.1.1")) == "203.0.113.7"


def test_of_both_headers_the_one_that_most_proxies_write_counts() -> None:
    lines = ("forwarded", "for=198.51.100.66"), ("x-forwarded-for", "203.0.113.7")
    assert client("10.0.0.1", *lines) == "203.0.113.7"


@pytest.mark.parametrize("peer", ["203.0.113.9", "192.0.2.2", "2001:db8::9", "", "unix"])
def test_who_is_no_proxy_of_ours_is_not_believed(peer: str) -> None:
    assert client(peer, ("x-forwarded-for", "198.51.100.66"), ("forwarded", "for=198.51.100.66")) == peer


def test_without_proxies_nobody_is_believed() -> None:
    assert Proxies().client("10.0.0.1", {b"x-forwarded-for": b"198.51.100.66"}) == "10.0.0.1"


@pytest.mark.parametrize("text", ["10.0.0.1/8", "example.org", "10.0.0.0/33", "10.0.0.0/8;10.1.0.0/16"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write networks like 10\.0\.0\.0/8"):
        parse_networks(text)
