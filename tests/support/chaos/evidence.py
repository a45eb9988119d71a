"""What happened in the store, written down by triggers of the test's own, and the laws it must obey.

The row of a shard (of its job, where jobs live with the places) carries fence and cursor. Each page commit writes the
cursor, so that the commits of a shard, in their order, are exactly the pages that the provider has: a page that was
lost, committed twice or committed by a worker whose lease was over shows as a difference.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

_LOG = """
create table chaos_log (number integer primary key autoincrement, what text, name text, fence integer, cursor text);
create trigger chaos_place_added after insert on places
  begin insert into chaos_log (what, name) values ('place', new.external_id); end;
create trigger chaos_place_changed after update on places
  begin insert into chaos_log (what, name) values ('place', new.external_id); end;
"""
# A fence may come with the shard's first row, where jobs are apart.
_FENCED = """
create trigger chaos_{table}_begun after insert on {table}
  begin insert into chaos_log (what, name, fence) values ('fence', new.shard, new.fence); end;
create trigger chaos_{table}_fenced after update of fence on {table}
  begin insert into chaos_log (what, name, fence) values ('fence', new.shard, new.fence); end;
create trigger chaos_{table}_moved after update of cursor on {table}
  begin insert into chaos_log (what, name, fence, cursor) values ('page', new.shard, new.fence, new.cursor); end;
"""


class Evidence:
    def __init__(self, path: Path, *, apart: bool) -> None:
        self._path = path
        self._table = "shards" if apart else "jobs"

    def start(self) -> None:
        with closing(self._connect()) as connection:
            connection.executescript(_LOG + _FENCED.format(table=self._table))

    def pages(self) -> int:
        """How many page commits there were so far."""
        [(count,)] = self._read("select count(*) from chaos_log where what = 'page'")
        return int(count)

    @contextmanager
    def nobody_commits(self) -> Iterator[None]:
        """Whoever wants to commit meanwhile waits for the write lock, with what it wants to write in its hands."""
        with closing(self._connect()) as connection:
            connection.execute("begin immediate")
            yield
            connection.execute("rollback")

    def check(self, cursors: dict[str, list[str]], places: set[str], *, forgetful: bool = False) -> None:
        """`cursors` is, for each shard, where each of its pages ends; `places` what the provider has.

        A `forgetful` job store may have lost its last moments. Then a shard that had ended is read to its end once
        more, which is its last page, and empty.
        """
        self._check_fences()
        committed: dict[str, list[str]] = defaultdict(list)
        for shard, cursor in self._read("select name, cursor from chaos_log where what = 'page' order by number"):
            committed[shard].append(cursor)
        for shard, expected in cursors.items():
            while forgetful and committed[shard][-1] == expected[-1] and len(committed[shard]) > len(expected):
                committed[shard].pop()
            assert committed[shard] == expected, f"{shard}: the pages were not committed once each, in order"
        assert committed.keys() == cursors.keys()
        written = Counter(name for (name,) in self._read("select name from chaos_log where what = 'place'"))
        assert written.keys() == places
        assert set(written.values()) == {1}, "places were written more than once"
        assert {name for (name,) in self._read("select external_id from places")} == places

    def _check_fences(self) -> None:
        highest: Counter[str] = Counter()
        for shard, fence in self._read("select name, fence from chaos_log where fence is not null order by number"):
            assert fence >= highest[shard], f"{shard}: fence {fence} came after {highest[shard]}"
            highest[shard] = fence

    def _read(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as connection:
            return connection.execute(query).fetchall()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30)
