"""The spool on local disk: what was answered for is there, whatever happened to the process."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from waypost.sharing.visits.spool import Segment, Spool
from waypost.sharing.visits.visit import Visit
from waypost.telemetry.metrics import VISITS_LOST, VISITS_SPOOLED

AT = datetime(2026, 2, 21, 12, tzinfo=UTC)
PLENTY = 1_000_000


def visit(number: int, link: str = "otter") -> Visit:
    return Visit(f"visit-{number}", link, AT)


def line(number: int) -> bytes:
    return msgspec.json.encode(visit(number)) + b"\n"


def read(segment: Segment, most_bytes: int = PLENTY) -> list[str]:
    """The ids of all that is left to ship, batch by batch."""
    found: list[str] = []
    while batch := segment.next_batch(most_bytes):
        found += [one.visit.id for one in batch.spooled]
        segment.set_aside(batch.bad)
        segment.mark_shipped(batch)
    return found


def left_behind(folder: Path, content: bytes) -> Segment:
    """A segment as a process that died left it, adopted."""
    folder.mkdir(exist_ok=True)
    path = folder / "dead.visits"
    path.write_bytes(content)
    segment = Segment.adopt(path)
    assert segment
    return segment


def lost() -> float:
    return float(VISITS_LOST._value.get())


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    opened = Spool(tmp_path / "spool", most_bytes=PLENTY)
    yield opened
    opened.own.leave()


CHILD = """
import resource, signal, sys
from pathlib import Path
from datetime import UTC, datetime
from waypost.sharing.visits.spool import Spool
from waypost.sharing.visits.visit import Visit
spool = Spool(Path(sys.argv[1]), most_bytes=100_000_000)
def append(number):
    return spool.append(Visit(f"visit-{number}", "otter", datetime(2026, 2, 21, 12, tzinfo=UTC)))
"""


@contextmanager
def living(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that has spooled three visits, and is still alive."""
    script = CHILD + "for number in range(3): append(number)\nprint('spooled', flush=True)\nsignal.pause()\n"
    with subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout
            assert child.stdout.readline() == "spooled\n"
            yield child
        finally:
            child.kill()


def test_a_visit_is_on_the_disk_before_it_is_answered(spool: Spool, tmp_path: Path) -> None:
    before = VISITS_SPOOLED._value.get()
    assert spool.append(visit(1))
    (path,) = (tmp_path / "spool").iterdir()
    assert path.read_bytes() == line(1)
    assert path.stat().st_mode & 0o777 == 0o600
    spool.count()
    assert VISITS_SPOOLED._value.get() == before + 1


def test_what_was_appended_can_be_shipped_once(spool: Spool) -> None:
    for number in range(3):
        spool.append(visit(number))
    batch = spool.own.next_batch(PLENTY)
    assert batch
    assert [one.visit for one in batch.spooled] == [visit(0), visit(1), visit(2)]
    assert spool.own.next_batch(PLENTY) == batch
    spool.own.mark_shipped(batch)
    assert spool.own.next_batch(PLENTY) is None
    assert spool.own.backlog == 0
    spool.append(visit(3))
    assert read(spool.own) == ["visit-3"]


@given(st.lists(st.integers(0, 10**12), max_size=30), st.integers(100, 5000))
def test_batches_of_any_size_ship_every_visit_once_and_in_order(numbers: list[int], most_bytes: int) -> None:
    content = b"".join(line(number) for number in numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", lambda _descriptor, most, start: content[start : start + most])
        with Path(os.devnull).open("rb") as nothing:
            segment = Segment(Path("any"), nothing.fileno())
            assert read(segment, most_bytes) == [f"visit-{number}" for number in numbers]


def test_a_torn_last_line_was_never_answered_for(tmp_path: Path) -> None:
    before = lost()
    segment = left_behind(tmp_path, line(1) + line(2)[:-5])
    assert read(segment) == ["visit-1"]
    assert lost() == before
    segment.remove()


@pytest.mark.parametrize(
    "damaged",
    [
        b"\0\0\0\0\0\n",
        b"garbage\n",
        b"\n",
        b'{"id":"visit-2"}\n',
        b"[]\n",
        b'{"id":"visit-2","link_id":"otter","at":"never"}\n',
        line(2)[10:],
        line(2).replace(b"otter", b"ott\xffr"),
    ],
)
def test_a_damaged_line_is_set_aside_and_does_not_stop_the_rest(tmp_path: Path, damaged: bytes) -> None:
    segment = left_behind(tmp_path, line(1) + damaged + line(3))
    with capture_logs() as logged:
        assert read(segment) == ["visit-1", "visit-3"]
    assert [entry["event"] for entry in logged] == ["lines of the spool cannot be counted and are set aside"]
    segment.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["dead.set-aside.ndjson"]


def test_a_damaged_line_longer_than_a_batch_does_not_stop_the_rest_either(tmp_path: Path) -> None:
    segment = left_behind(tmp_path, line(1) + b"\0" * 500 + b"\n" + line(3))
    with capture_logs():
        assert read(segment, 200) == ["visit-1", "visit-3"]
    segment.remove()


def test_the_segment_of_a_living_process_is_left_alone_and_that_of_a_dead_one_adopted(
    tmp_path: Path, spool: Spool
) -> None:
    with living(tmp_path / "spool") as child:
        assert list(spool.abandoned()) == []
        child.send_signal(signal.SIGKILL)
        child.wait()
        (segment,) = spool.abandoned()
        assert read(segment) == ["visit-0", "visit-1", "visit-2"]
        segment.remove()
    assert list(spool.abandoned()) == []


def test_what_one_has_adopted_another_cannot(tmp_path: Path, spool: Spool) -> None:
    (tmp_path / "spool" / "dead.visits").write_bytes(line(1))
    (segment,) = spool.abandoned()
    assert list(spool.abandoned()) == []
    segment.leave()
    (again,) = spool.abandoned()
    again.remove()
    assert list(spool.abandoned()) == []


def test_a_segment_that_went_away_meanwhile_is_nobodys(tmp_path: Path) -> None:
    assert Segment.adopt(tmp_path / "gone.visits") is None


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path, spool: Spool) -> None:
    (tmp_path / "spool" / "notes.txt").write_text("keep me")
    (tmp_path / "spool" / ".half-made").write_text("")
    assert list(spool.abandoned()) == []


def test_a_full_spool_refuses_and_counts_until_it_is_shipped(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=2 * len(line(1)))
    before = lost()
    with capture_logs() as logged:
        assert [spool.append(visit(number)) for number in range(4)] == [True, True, False, False]
    assert lost() == before + 2
    assert {(entry["event"], entry["message"]) for entry in logged} == {
        ("a visit is lost, and maybe more", "[Errno 122] the spool is full")
    }
    assert read(spool.own) == ["visit-0", "visit-1"]
    assert spool.append(visit(4))
    spool.own.remove()


def test_a_full_spool_does_not_fill_the_log(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=1)
    before = lost()
    with capture_logs() as logged:
        assert not any(spool.append(visit(number)) for number in range(1000))
    assert (lost() - before, len(logged)) == (1000, 1)
    spool.own.remove()


@pytest.mark.parametrize("synced", [True, False])
def test_a_visit_waits_for_the_disk_where_that_is_wanted(tmp_path: Path, synced: bool) -> None:  # noqa: FBT001 - a parameter
    spool = Spool(tmp_path, most_bytes=PLENTY, synced=synced)
    for _ in range(2):
        assert spool.append(visit(1))
        flags = fcntl.fcntl(spool.own._descriptor, fcntl.F_GETFL)
        assert bool(flags & os.O_DSYNC) is synced
        spool.renew()
    spool.own.remove()


@pytest.mark.parametrize("after", [1, 100, 5000])
def test_a_process_that_is_killed_while_it_appends_has_all_that_it_answered_for(tmp_path: Path, after: int) -> None:
    script = CHILD + (
        "import itertools, os\n"
        "for number in itertools.count():\n"
        "    assert append(number)\n"
        "    os.write(1, b'%d\\n' % number)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        answered = [child.stdout.readline() for _ in range(after)]
        child.send_signal(signal.SIGKILL)
        answered += child.stdout.readlines()
    spool = Spool(tmp_path, most_bytes=PLENTY)
    (segment,) = spool.abandoned()
    counted = read(segment)
    assert counted == [f"visit-{number}" for number in range(len(counted))]
    assert len(answered) <= len(counted) <= len(answered) + 1
    segment.remove()
    spool.own.remove()


def test_a_visit_that_the_disk_takes_only_in_part_is_taken_back(tmp_path: Path) -> None:
    script = CHILD + (
        "answers = [append(1)]\n"
        "hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (spool.own.size + 10, hard))\n"
        "answers += [append(2), append(3)]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
        "answers += [append(4)]\n"
        "print(answers)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert child.stdout.splitlines()[-1] == "[True, False, False, True]"
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == line(1) + line(4)


def test_a_new_segment_takes_the_place_of_one_that_is_shipped(tmp_path: Path) -> None:
    spool = Spool(tmp_path, most_bytes=PLENTY)
    spool.append(visit(1))
    read(spool.own)
    (before,) = tmp_path.iterdir()
    spool.renew()
    (after,) = tmp_path.iterdir()
    assert before != after
    assert after.read_bytes() == b""
    assert spool.append(visit(2))
    assert read(spool.own) == ["visit-2"]
    spool.own.remove()
    assert list(tmp_path.iterdir()) == []
