"""Counting all visits again, as a person does it."""

import asyncio
import sqlite3
from contextlib import closing

from support.processes import Processes
from support.visits import visit
from waypost.bootstrap.stores import open_sharing_stores
from waypost.settings import load_settings

DATA = "waypost-data"


def keep_visits(processes: Processes, count: int) -> None:
    async def keep() -> None:
        settings = load_settings({"data": str(processes.folder / DATA)}, environ={})
        async with open_sharing_stores(settings) as stores:
            await stores.visits.append([visit(number) for number in range(count)])

    asyncio.run(keep())


def totals(processes: Processes) -> list[int]:
    with closing(sqlite3.connect(processes.folder / DATA / "waypost.db")) as connection:
        return [visits for (visits,) in connection.execute("select visits from visit_totals")]


def test_visits_are_counted_again(processes: Processes) -> None:
    keep_visits(processes, 1234)
    with closing(sqlite3.connect(processes.folder / DATA / "waypost.db")) as connection:
        connection.execute("update visit_totals set visits = 7")
        connection.commit()
    done = processes.run("link", "rebuild")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1,234 visits counted again in ")
    assert totals(processes) == [1234]
    assert processes.json("link", "rebuild")["visits"] == 1234


def test_without_a_store_there_is_nothing_to_count(processes: Processes) -> None:
    done = processes.run("link", "rebuild")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no store" in done.stderr
