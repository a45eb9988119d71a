"""Where a link may lead."""

from urllib.parse import SplitResult, quote, urlsplit

from waypost.kernel.errors import AskedWrongly

_SCHEMES = ("http", "https")
_LONGEST = 2048


class TargetRefused(AskedWrongly):
    """A link may not lead there."""

    slug = "target-refused"

    def __init__(self, message: str) -> None:
        super().__init__(message, parameter="target")


def check_target(text: str) -> str:
    """The target as it will be kept, or TargetRefused with the reason."""
    target = text.strip()
    if len(target) > _LONGEST:
        raise TargetRefused(f"the target is longer than {_LONGEST} characters")
    if not target.isprintable() or any(letter.isspace() for letter in target):
        raise TargetRefused("the target has spaces or control characters in it; percent-encode them")
    try:
        parts = urlsplit(target)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise TargetRefused("the target is not a web address; write it like https://example.org/page") from None
    if parts.scheme not in _SCHEMES:
        # A javascript: or data: target would run in the visitor's browser under our name.
        raise TargetRefused("a target starts with http:// or https://")
    if not parts.hostname or not port_is_valid:
        raise TargetRefused("the target names no host; write it like https://example.org/page")
    if parts.username is not None or parts.password is not None:
        raise TargetRefused("the target has a user name or password in it, which everybody would see")
    return target if target.isascii() else _to_ascii(parts)


def _to_ascii(parts: SplitResult) -> str:
    """As a header can carry it: letters beyond ASCII percent-encoded, a host's as IDNA has them."""
    try:
        host = parts.netloc.encode("idna").decode()
    except UnicodeError:
        raise TargetRefused("the target's host name cannot be one; check its spelling") from None
    return quote(parts._replace(netloc=host).geturl(), safe="%/:?#[]@!$&'()*+,;=-._~")
