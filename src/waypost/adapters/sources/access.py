"""How a provider knows us: a header with a secret in it, which no message, log or error ever shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

import msgspec

from waypost.kernel.configuration import Secret, SettingError

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
HIDDEN = "***"
# Anything shorter may be an ordinary word.
_SHORTEST = 8


@dataclass(frozen=True)
class Access:
    """`value` goes into the header, if there is one; `secrets` are the parts of it that nobody may see; `variable` is
    where a person sets it.

    Raises SettingError, without naming the value, for what no header can carry.
    """

    header: str
    value: Secret
    variable: str
    secrets: tuple[Secret, ...] = field(default=())

    def __post_init__(self) -> None:
        text = self.value.reveal()
        if not _HEADER.fullmatch(self.header):
            raise SettingError(f"{self.header[:40]!r} is not the name of a header; write it like Authorization")
        if not (text.isascii() and text.isprintable() and text == text.strip()):
            raise SettingError(
                "the key has characters in it that no key has; copy it again", next_step=f"set {self.variable}"
            )

    def hide(self, text: str) -> str:
        """The text with stars for every secret in it, however it is spelt there."""
        for secret in (self.value, *self.secrets):
            plain = secret.reveal()
            for spelt in {plain, quote(plain, safe=""), quote_plus(plain)} if plain else ():
                text = re.sub(re.escape(spelt), HIDDEN, text, flags=re.IGNORECASE)
        return text

    def hide_in(self, body: bytes) -> bytes:
        """The same for an answer, whose records are kept; only for secrets that cannot occur in a text by chance."""
        for secret in (self.value, *self.secrets):
            plain = secret.reveal()
            if len(plain) >= _SHORTEST and not plain.isdigit():
                body = body.replace(plain.encode(), HIDDEN.encode())
        return body


class AuthTable(msgspec.Struct, frozen=True, kw_only=True):
    """The table `[auth]` of a source: a header, and a variable or a text with variables in it. Never the key itself."""

    header: str = "Authorization"
    value: str | None = None
    variable: str | None = None


def read_access(table: AuthTable, environ: Mapping[str, str]) -> Access:
    """Raises ValueError for a table that makes no sense, and SettingError for a variable that is not set."""
    if (table.value is None) == (table.variable is None):
        raise ValueError('auth needs either a variable, or a value such as "Token {LIGHTS_KEY}"')
    template = table.value if table.value is not None else f"{{{table.variable}}}"
    names = _NAME.findall(template)
    if not names:
        raise ValueError(
            f"auth.{'value' if table.variable is None else 'variable'} names no variable; secrets are not written into"
            ' files: put the key into the environment, and its name here, as in "Token {LIGHTS_KEY}"'
        )
    found = {name: read_secret(name, environ) for name in names}
    filled = _NAME.sub(lambda match: found[match[1]].reveal(), template)
    return Access(table.header, Secret(filled), names[0], tuple(found.values()))


def read_secret(variable: str, environ: Mapping[str, str]) -> Secret:
    """Raises SettingError, which names the variable."""
    value = environ.get(variable, "")
    if not value:
        raise SettingError(f"the variable {variable} is not set; it has the key of the provider", parameter="auth")
    return Secret(value)
