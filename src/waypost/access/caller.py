"""The caller of an operation: with a key, from this machine, or neither."""

from dataclasses import dataclass

from waypost.access.keys import Key, Scope


@dataclass(frozen=True)
class Caller:
    """Without a key, `is_local` says that the caller speaks for this machine, and may do everything."""

    key: Key | None = None
    is_local: bool = False

    def allows(self, scope: Scope) -> bool:
        return self.key.allows(scope) if self.key else self.is_local

    @property
    def is_admin(self) -> bool:
        return self.allows("admin")

    @property
    def owner(self) -> str | None:
        """The owner of the links that this caller makes: a key, or this machine. Nobody owns those of strangers."""
        if self.key:
            return self.key.id
        return self.name if self.is_local else None

    @property
    def name(self) -> str:
        """How a link's history names the caller."""
        if self.key:
            return f"key:{self.key.id}"
        return "local" if self.is_local else "anonymous"


LOCAL = Caller(is_local=True)
ANONYMOUS = Caller()
