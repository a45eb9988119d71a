"""Visits in a store of their own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.job_store_postgres import clean_database
from support.visits import visit
from waypost.adapters.errors import StoreTooOld
from waypost.bootstrap.schema import migrate_schema, schema_status
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.configuration import SettingError
from waypost.settings import Settings, load_settings

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
async def analytics(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'analytics.db'}"
        return
    async with clean_database(migrated=False) as url:
        yield url


def chosen(folder: Path, analytics: str) -> Settings:
    return load_settings({"data": str(folder), "analytics": analytics}, environ={})


async def test_visits_are_kept_and_counted_where_they_were_put(tmp_path: Path, analytics: str) -> None:
    settings = chosen(tmp_path, analytics)
    assert "schema (analytics)" in (await schema_status(settings)).pending
    assert "schema (analytics)" in await migrate_schema(settings)
    assert await migrate_schema(settings) == []
    assert (await schema_status(settings)).pending == ()
    async with open_sharing_stores(settings) as stores:
        await stores.visits.append([visit(1), visit(2)])
        await stores.facts.set("here", "yes")
    async with open_sharing_stores(settings, must_exist=True) as stores:
        assert await stores.visits.count(["link-1"]) == {"link-1": 2}
        assert await stores.visits.rebuild(lambda _: None) == 2
        assert await stores.facts.get("here") == "yes"
    async with open_sharing_stores(chosen(tmp_path, "")) as stores:
        assert await stores.visits.count(["link-1"]) == {}


async def test_a_server_for_visits_is_not_changed_by_the_way(tmp_path: Path) -> None:
    async with clean_database(migrated=False) as url:
        with pytest.raises(StoreTooOld):
            async with open_sharing_stores(chosen(tmp_path, url)):
                pass


async def test_what_cannot_keep_visits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="analytics: there is no adapter for 'mongodb'"):
        async with open_sharing_stores(chosen(tmp_path, "mongodb://localhost/waypost")):
            pass
