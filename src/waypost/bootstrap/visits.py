"""Where visits are kept, and what knows which countries they came from."""

from contextlib import AsyncExitStack
from pathlib import Path

from waypost.adapters.sqlite.visits import SqliteVisitStore
from waypost.bootstrap.databases import extra, open_postgres, open_sqlite
from waypost.settings import Settings, is_postgres
from waypost.sharing.visits.store import VisitStore
from waypost.sharing.visits.visitors import Countries


async def open_visits(settings: Settings, stack: AsyncExitStack, beside: VisitStore) -> VisitStore:
    """Visits beside the links, or in the store that is configured for them."""
    url = settings.storage.analytics
    if not url:
        return beside
    if not is_postgres(url):
        return SqliteVisitStore(await open_sqlite(url, "analytics", stack))
    with extra("postgres"):
        from waypost.adapters.postgres.visits import PostgresVisitStore
    return PostgresVisitStore(await open_postgres(url, stack))


def open_countries(path: str) -> Countries | None:
    """What knows which country an address is in, if a file for that is configured."""
    if not path:
        return None
    with extra("countries"):
        from waypost.adapters.maxmind.countries import MaxMindCountries
    return MaxMindCountries(Path(path))
