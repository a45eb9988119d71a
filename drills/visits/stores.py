"""The stores that the drill knows, as settings for `waypost`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from support.servers.private import private_postgres


@contextmanager
def _postgres(_folder: Path) -> Iterator[dict[str, str]]:
    with private_postgres() as (url, _):
        yield {"WAYPOST_STORE": url}


@contextmanager
def _sqlite(folder: Path) -> Iterator[dict[str, str]]:
    yield {"WAYPOST_STORE": f"sqlite:///{folder / 'waypost.db'}"}


STORES: dict[str, Callable[[Path], AbstractContextManager[dict[str, str]]]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
}
