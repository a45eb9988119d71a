"""The stores that links are kept in, each with a folder of its own for the spool of visits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from sys import executable

from bench.jobs.database import Server
from bench.places.systems.starting import plain_environ
from waypost.bootstrap.stores import SharingStores, open_sharing_stores
from waypost.settings import load_settings


@dataclass(frozen=True)
class Backend:
    name: str
    url: str
    folder: Path

    @property
    def settings(self) -> dict[str, str]:
        return {"WAYPOST_STORE": self.url, "WAYPOST_DATA": str(self.folder), "WAYPOST_LOG_LEVEL": "warning"}

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite:")

    @property
    def path(self) -> Path:
        """Of the file, where it is one."""
        return Path(self.url.removeprefix("sqlite:///"))

    @asynccontextmanager
    async def stores(self) -> AsyncIterator[SharingStores]:
        async with open_sharing_stores(load_settings(environ=self.settings)) as stores:
            yield stores


def make_backends(server: Server, folder: Path, name: str) -> dict[str, Backend]:
    """Empty ones, with their tables, by name."""
    file = folder / name / "sqlite" / "waypost.db"
    found = [
        Backend("SQLite", f"sqlite:///{file}", file.parent),
        Backend("PostgreSQL", server.new_database(name).client_url, folder / name / "postgres"),
    ]
    for each in found:
        each.folder.mkdir(parents=True)
        command = [executable, "-m", "waypost", "db", "migrate"]
        run(command, env=plain_environ(**each.settings), check=True, capture_output=True)
    return {each.name: each for each in found}
