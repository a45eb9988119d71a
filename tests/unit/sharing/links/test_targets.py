"""Where links may lead: nowhere that harms a visitor, that only we can reach, or that is a link of ours again."""

import ipaddress
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.settings import load_settings
from waypost.sharing.links.hosts import BadHost, is_public, read_host
from waypost.sharing.links.targets import TargetRefused, TargetRules

OPEN = TargetRules(allow_private=True)


def rules(*own: str, **settings: str) -> TargetRules:
    flags = {f"links.{name}": value for name, value in settings.items()}
    return TargetRules.of(load_settings(flags, environ={}).sharing, own)


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org",
        "http://example.org:8080/a/page?of=ours#here",
        "HTTPS://Example.ORG./Page",
        "https://example.org:/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://a_b.example.org/",
        "https://xn--e1afmkfd.xn--p1ai/",
        "https://example.org/?next=http://localhost/&user=a@b",
        "https://example.org/@user",
        "https://example.org/%5C",
    ],
)
def test_a_target_that_everybody_can_reach_is_kept_as_it_is(target: str) -> None:
    assert TargetRules().check(target) == target
    assert TargetRules().check(f" {target} ") == target


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("https://example.org/日本?q=é#ü", "https://example.org/%E6%97%A5%E6%9C%AC?q=%C3%A9#%C3%BC"),
        ("https://пример.рф:8443/", "https://xn--e1afmkfd.xn--p1ai:8443/"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("https://example。org/", "https://example.org/"),
        (
            "https://\N{FULLWIDTH DIGIT EIGHT}.8.8.8/",
            "https://8.8.8.8/",
        ),
    ],
)
def test_letters_beyond_ascii_are_written_as_browsers_send_them(target: str, kept: str) -> None:
    assert TargetRules().check(target) == kept


@pytest.mark.parametrize(
    "target",
    [
        "",
        " ",
        "example.org",
        "//example.org",
        "https:example.org",
        "https:/example.org",
        "https://",
        "https:///page",
        "https://:8080/",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:http/",
        "https://exa mple.org",
        "https://exa\tmple.org",
        "https://example.org\n",
        "https://example.org/\r\nSet-Cookie: a=b",
        "https://example.org/\0",
        "https://example.org/\x7f",
        "https://example.org/\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe",
        "https://example.org/\N{ZERO WIDTH SPACE}",
        "javascript:alert(1)",
        "JavaScript://example.org/%0aalert(1)",
        "\tjavascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "ftp://example.org",
        "mailto:ada@example.org",
        "https://ada:secret@example.org",
        "https://ada@example.org",
        "https://@example.org",
        "https://example.org@evil.example/",
        "https://example.org\\@evil.example",
        "https://evil.example\\.example.org",
        "https:\\\\example.org",
        "https://[::1",
        "https://[::1]x/",
        "https://[fe80::1%25eth0]/",
        "https://exam%70le.org/",
        "https://%31%32%37.0.0.1/",
        "https://example..org/",
        "https://.example.org/",
        "https://-example.org/",
        "https://exa<mple.org/",
        "https://exa^mple.org/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        "https://1.2.3.08/",
        "https://example.0x7f/",
        "https://4294967296/",
        "https://xn--localhost-/",
        "https://xn--99999999.org/",
        "https://example.org\N{FULLWIDTH SOLIDUS}evil.example/",
        "https://exa\N{SOFT HYPHEN}mple.org/",
        f"https://{'a' * 64}.example.org/",
        f"https://{'a.' * 130}org/",
        "https://example.org/" + "x" * 2048,
        "https://example.org/" + "é" * 400,
    ],
)
def test_what_browsers_would_read_otherwise_or_not_at_all_is_refused(target: str) -> None:
    with pytest.raises(TargetRefused) as refused:
        OPEN.check(target)
    assert refused.value.parameter == "target"
    assert "secret" not in str(refused.value)


PRIVATE = [
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "printer",
    "printer.local",
    "db.internal",
    "router.lan",
    "nas.home.arpa",
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0177.0.0.01",
    "0x7f.0x0.0x0.0x1",
    "127.0.0.1.",
    "\N{FULLWIDTH DIGIT ONE}27.0.0.\N{FULLWIDTH DIGIT ONE}",
    "127。0。0。1",
    "⑫7.0.0.1",
    "0",
    "0x",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[2002:a00:1::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[feff::1]",
    "[64:ff9b:1::10.0.0.1]",
    "[100::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[ff02::1]",
    "[2001:db8::1]",
]


@pytest.mark.parametrize("host", PRIVATE)
def test_private_and_local_hosts_are_refused_in_every_spelling_unless_allowed(host: str) -> None:
    for target in (f"http://{host}", f"https://{host}:8443/latest/meta-data"):
        with pytest.raises(TargetRefused, match="private network"):
            TargetRules().check(target)
        OPEN.check(target)


@given(st.ip_addresses(v=4), st.randoms(use_true_random=False))
def test_an_address_is_the_same_however_it_is_spelt(address: ipaddress.IPv4Address, dice: random.Random) -> None:
    count = dice.randint(1, 4)
    raw = address.packed
    parts = [*raw[: count - 1], int.from_bytes(raw[count - 1 :])]
    spell = ("{:d}", "0{:o}", "{:#x}", "{:#X}", "0x000{:x}")
    text = ".".join(dice.choice(spell).format(part) for part in parts) + dice.choice(["", "."])
    assert read_host(text) == address
    assert read_host(f"[::ffff:{address}]") == address


@given(st.text(max_size=40))
def test_whatever_is_typed_is_a_host_in_one_spelling_or_none(text: str) -> None:
    try:
        host = read_host(text)
    except BadHost:
        return
    again = f"[{host}]" if isinstance(host, ipaddress.IPv6Address) else str(host)
    assert read_host(again) == host
    assert is_public(host) in {True, False}


@given(st.text(max_size=60))
def test_whatever_is_accepted_can_stand_in_a_header_and_is_accepted_again(text: str) -> None:
    for typed in (text, f"https://{text}", f"https://example.org/{text}"):
        try:
            kept = OPEN.check(typed)
        except TargetRefused:
            continue
        assert kept.isascii()
        assert kept.isprintable()
        assert OPEN.check(kept) == kept


OWN = rules("go.example.org", hosts="łódź.example, s.example.com", allow_private="on")


@pytest.mark.parametrize(
    "target",
    [
        "https://go.example.org",
        "http://go.example.org:8080/gently-golden-otter",
        "https://GO.Example.ORG./x",
        "https://go.example.org:443/",
        "https://\N{FULLWIDTH LATIN SMALL LETTER G}\N{FULLWIDTH LATIN SMALL LETTER O}.example.org/",
        "https://go。example。org/",
        "https://s.example.com/",
        "https://łódź.example/",
        "https://ŁÓDŹ.example/",
        "https://xn--d-uga0v4h.example/x",
    ],
)
def test_no_link_leads_to_one_of_our_own_hosts(target: str) -> None:
    with pytest.raises(TargetRefused, match="this site itself"):
        OWN.check(target)


@pytest.mark.parametrize(
    "host", ["example.org", "www.go.example.org", "go.example.org.evil.example", "ago.example.org"]
)
def test_other_hosts_near_ours_are_none_of_ours(host: str) -> None:
    assert OWN.check(f"https://{host}/") == f"https://{host}/"


@pytest.mark.parametrize("listening", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "::"])
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "foo.localhost:9",
        "127.0.0.1:9",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "0",
        "0.0.0.0:80",
        "[::]",
    ],
)
def test_who_listens_on_loopback_is_no_target_whatever_the_port(listening: str, host: str) -> None:
    with pytest.raises(TargetRefused, match="this site itself"):
        rules(listening, allow_private="on").check(f"http://{host}")
    assert rules(listening, allow_private="on").check("http://10.0.0.1")


def test_another_address_of_this_machine_is_ours_only_for_who_listens_on_all() -> None:
    assert rules("127.0.0.1", allow_private="on").check("http://127.0.0.2/")
    with pytest.raises(TargetRefused, match="this site itself"):
        rules("0.0.0.0", allow_private="on").check("http://127.0.0.2/")


def test_a_blocked_host_is_refused_with_all_below_it() -> None:
    blocked = rules(blocked_hosts="evil.example,203.0.113.9, Böse.example", allow_private="on")
    for host in ("evil.example", "EVIL.example.", "a.b.evil.example", "203.0.113.9", "0xcb.0.113.9", "böse.example"):
        with pytest.raises(TargetRefused, match="blocked"):
            blocked.check(f"https://{host}/")
    assert blocked.check("https://notevil.example/")


def test_further_schemes_are_a_setting() -> None:
    more = rules(schemes="mailto,tel,ftp")
    assert more.check("mailto:ada@example.org") == "mailto:ada@example.org"
    assert more.check("tel:+48123") == "tel:+48123"
    assert more.check("ftp://example.org/a") == "ftp://example.org/a"
    for target in (
        "ftp://ada@example.org",
        "ftp://localhost/",
        "ftp:example.org",
        "javascript:alert(1)",
        "mailto:a\nb",
    ):
        with pytest.raises(TargetRefused):
            more.check(target)
