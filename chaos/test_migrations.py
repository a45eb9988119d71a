"""The steps of a schema on a table of a million rows, under load (MIGRATION_ROWS for another number)."""

import os

import pytest

from support.migrating import migrate_under_load

ROWS = int(os.environ.get("MIGRATION_ROWS", "1000000"))


@pytest.mark.anyio
@pytest.mark.timeout(900)
async def test_nobody_is_held_up_by_steps_on_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    await migrate_under_load(ROWS, monkeypatch)
