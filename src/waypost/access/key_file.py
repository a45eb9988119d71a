"""A file of keys, for automation: TOML with a table `[[key]]` for each, which nobody else may read or change."""

import os
import re
import stat
import tomllib
from datetime import UTC, datetime
from json import dumps
from pathlib import Path

import msgspec

from waypost.access.keys import Key, check_name, check_scopes, digest_of, parse_token
from waypost.kernel.clock import to_text
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.whole_file import whole_file

_MOST_BYTES = 1024 * 1024
# Written by the group, or anything by others. The group may read: Kubernetes gives a mounted secret to one (fsGroup).
_TOO_OPEN = stat.S_IWGRP | stat.S_IRWXO
_ID = re.compile(r"[0-9a-f]{12}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class KeyFileInvalid(AskedWrongly):
    """The file of keys cannot be read, is open to others, or has something wrong in it."""

    told_outside = "the file of keys cannot be used"


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    scopes: list[str]
    id: str = ""
    digest: str = ""
    token: str = ""
    expires_at: datetime | None = None


class _Entries(msgspec.Struct, forbid_unknown_fields=True):
    key: list[_Entry] = []


def read_key_file(path: Path) -> list[Key]:
    """All keys in a file. Raises KeyFileInvalid, with no secret in its message."""
    try:
        text, made_at = _read(path)
        entries = msgspec.convert(tomllib.loads(text), _Entries).key
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at .*\)", str(error))
        raise _invalid(path, f"it is not TOML {where[0] if where else ''}") from None
    except (OSError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise _invalid(path, str(getattr(error, "strerror", None) or error)) from None
    return [_to_key(path, number, entry, made_at) for number, entry in enumerate(entries, 1)]


def add_to_key_file(path: Path, key: Key) -> None:
    """Adds a key at the end of the file, which is made if there is none."""
    path.touch(mode=stat.S_IRUSR | stat.S_IWUSR)
    read_key_file(path)
    before = path.read_text(encoding="utf-8")
    lines = [
        "[[key]]",
        # A text in JSON is one in TOML too.
        f"name = {dumps(key.name, ensure_ascii=False)}",
        f"scopes = {dumps(key.scopes)}",
        f'id = "{key.id}"',
        f'digest = "{key.digest.hex()}"',
        *([f"expires_at = {to_text(key.expires_at)}"] if key.expires_at else []),
    ]
    with whole_file(path) as file:
        file.write("\n".join((*([before.rstrip(), ""] if before.strip() else []), *lines, "")).encode())


def _read(path: Path) -> tuple[str, datetime]:
    """The file's text, and when it was written."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _invalid(path, "it is not a file")
        if found.st_mode & _TOO_OPEN:
            raise _invalid(path, f"others may read or change it; forbid it: chmod 640 {path}")
        if found.st_uid not in {0, os.geteuid()}:
            raise _invalid(path, "it belongs to somebody else; give it to root, or to the user that runs Waypost")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise _invalid(path, f"it has more than {_MOST_BYTES} bytes")
    return data.decode(), datetime.fromtimestamp(found.st_mtime, UTC)


def _to_key(path: Path, number: int, entry: _Entry, made_at: datetime) -> Key:
    try:
        id_, digest = _secret_of(entry)
        if entry.expires_at and entry.expires_at.tzinfo is None:
            raise ValueError("expires_at has no UTC offset; write it like 2027-01-01T00:00:00Z")  # noqa: TRY301 - told below
        return Key(
            id=id_,
            name=check_name(entry.name),
            scopes=check_scopes(entry.scopes),
            digest=digest,
            created_at=made_at,
            expires_at=entry.expires_at.astimezone(UTC) if entry.expires_at else None,
        )
    except (ValueError, OverflowError, AskedWrongly) as error:
        raise _invalid(path, f"key {number}: {error}") from None


def _secret_of(entry: _Entry) -> tuple[str, bytes]:
    """The id, and the digest of the secret."""
    if entry.token and not (entry.id or entry.digest):
        if parsed := parse_token(entry.token):
            return parsed[0], digest_of(parsed[1])
        raise ValueError("its token is not one of ours; they look like wp_…_…")
    if not entry.token and _ID.fullmatch(entry.id) and _DIGEST.fullmatch(entry.digest):
        return entry.id, bytes.fromhex(entry.digest)
    raise ValueError("it needs a token, or else an id (12 hexadecimal digits) and a digest (64)")


def _invalid(path: Path, reason: str) -> KeyFileInvalid:
    return KeyFileInvalid(f"the file of keys {path}: {reason}", parameter="keys.file")
