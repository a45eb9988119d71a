"""Versioned changes of a schema, as numbered .sql files in a package, and which of them a store says it has."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from waypost.adapters.errors import StoreTooNew, StoreTooOld


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str
    # Code that knows only versions below this one must not touch the store once the migration has run.
    oldest_code: int

    @property
    def digest(self) -> str:
        """The same for the same statements, whatever their spacing and comments."""
        plain = " ".join(re.sub(r"--.*", "", self.sql).split())
        return hashlib.sha256(plain.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Applied:
    """What a store has recorded of a migration."""

    version: int
    oldest_code: int
    # Empty in stores from before the first schema was settled.
    digest: str


def load_migrations(package: str, oldest_code: Mapping[int, int]) -> tuple[Migration, ...]:
    """The package's migrations in order.

    Migrations expand first and contract a release later: only a contracting one raises the oldest code allowed.
    """
    files = sorted(
        (file for file in resources.files(package).iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return tuple(
        Migration(version, name, file.read_text(encoding="utf-8"), oldest_code.get(version, 1))
        for file in files
        for version, name in [_parse(file.name)]
    )


def version_of(applied: Sequence[Applied]) -> int:
    return max((each.version for each in applied), default=0)


def missing(known: Sequence[Migration], applied: Sequence[Applied], another: str) -> list[Migration]:
    """What is still to be applied, in order; refuses a store that this code cannot work with.

    `another` tells a person how to use another store.
    """
    newest, oldest_code = known[-1].version, max((each.oldest_code for each in applied), default=0)
    if oldest_code > newest:
        raise StoreTooNew(
            f"the store was changed by a newer Waypost (it needs schema {oldest_code}, this one knows {newest})",
            next_step=f"install the newer release, or {another}",
        )
    digests = {each.version: each.digest for each in applied}
    if any(digests.get(migration.version, migration.digest) != migration.digest for migration in known):
        raise unreleased(another)
    return [migration for migration in known if migration.version not in digests]


def unreleased(another: str) -> StoreTooOld:
    return StoreTooOld(
        "the store was made by an unreleased development version of Waypost, and nothing leads from its schema to this"
        " one",
        next_step=f"{another} and import again; `waypost link export`, run with the version that made it, saves links",
    )


def _parse(file_name: str) -> tuple[int, str]:
    version, _, name = file_name.removesuffix(".sql").partition("_")
    return int(version), name
