"""The settings for keys that are not in the store."""

from dataclasses import dataclass

from waypost.kernel.configuration import Secret, setting


@dataclass(frozen=True)
class KeysSettings:
    file: str = setting("keys.file", "", "file of further keys; it is read again when it changes")
    bootstrap: Secret = setting("keys.bootstrap", "", "token of one more key, for everything; a secret", Secret)
