"""Versioned changes of a schema, as numbered .sql files in a package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str
    # Code that knows only versions below this one must not touch the store once the migration has run.
    oldest_code: int


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


def _parse(file_name: str) -> tuple[int, str]:
    version, _, name = file_name.removesuffix(".sql").partition("_")
    return int(version), name
