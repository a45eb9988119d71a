"""Which texts are the Host of a request."""

import pytest

from waypost.kernel.host_header import host_name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("example.org", "example.org"),
        ("Go.Example.ORG:8080", "go.example.org"),
        ("example.org.", "example.org."),
        ("localhost", "localhost"),
        ("my_service:80", "my_service"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]:8080", "::1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        (".".join(["a" * 63] * 3 + ["a" * 61]), ".".join(["a" * 63] * 3 + ["a" * 61])),
    ],
)
def test_a_host_is_a_name_or_an_address_and_perhaps_a_port(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize(
    "header",
    [
        *("", ".", "..", "a..b", ".a", "a,b", "a b", "a/b", "a@b", "a?b", "a#b", "a\\b", "<b>", '"', "'", "`", "a;b"),
        *("%0d%0a", "a%2eb", "a\r\nb", "a\n", "a\0", "\xff", "ärger.example", "-a", "a-", "a.-b", "a:", "a:b", ":80"),
        *("a:123456", "a:80:80", "[::1", "::1", "[]", "[x]", "[::1%eth0]", "[::::]", "[1.2.3.4]"),
        *("a" * 64, ".".join(["a" * 63] * 4), "a." * 127 + "a", "a" * 3000, "a." * 1500),
    ],
)
def test_anything_else_is_no_host(header: str) -> None:
    assert host_name(header) is None
