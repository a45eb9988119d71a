"""Lines that cannot be counted: kept once, whatever happens meanwhile, and never without a bound."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from waypost.kernel.errors import TransientError
from waypost.sharing.visits import set_aside
from waypost.sharing.visits.set_aside import SetAsideLine
from waypost.sharing.visits.spool import Segment
from waypost.telemetry.metrics import VISITS_LOST, VISITS_SET_ASIDE

PLENTY = 1_000_000
LINES = [b"bad", b'{"id":"secret-agent"}', b"worse \xff"]


def left_behind(folder: Path, lines: Sequence[bytes] = LINES) -> Segment:
    path = folder / "dead.visits"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    segment = Segment.adopt(path)
    assert segment
    return segment


def put_aside(segment: Segment) -> int:
    """Sets all that is bad aside, and is killed before the segment is marked; returns how many lines there were."""
    batch = segment.next_batch(PLENTY)
    assert batch
    try:
        segment.set_aside(batch.bad)
    finally:
        segment.leave()
    return len(batch.bad)


def kept(folder: Path) -> list[SetAsideLine]:
    content = (folder / "dead.set-aside.ndjson").read_bytes()
    return [msgspec.json.decode(line, type=SetAsideLine) for line in content.splitlines()]


def counts() -> tuple[float, float]:
    return VISITS_SET_ASIDE._value.get(), VISITS_LOST._value.get()


def test_lines_are_kept_with_their_reasons_for_this_user_alone(tmp_path: Path) -> None:
    before = counts()
    with capture_logs() as logged:
        assert put_aside(left_behind(tmp_path)) == 3
    assert [each.line for each in kept(tmp_path)] == ["bad", '{"id":"secret-agent"}', "worse \\xff"]
    assert [each.start for each in kept(tmp_path)] == [0, 4, 26]
    assert all(each.reason for each in kept(tmp_path))
    assert counts() == (before[0] + 3, before[1])
    assert (tmp_path / "dead.set-aside.ndjson").stat().st_mode & 0o777 == 0o600
    assert len(logged) == 1
    assert "secret" not in str(logged)


def test_whoever_goes_on_after_a_kill_sets_nothing_aside_again(tmp_path: Path) -> None:
    with capture_logs() as logged:
        put_aside(left_behind(tmp_path))
        before = kept(tmp_path), counts()
        assert put_aside(left_behind(tmp_path)) == 0
    assert (kept(tmp_path), counts()) == before
    assert len(logged) == 1


def test_a_segment_that_was_mended_and_put_back_is_read_again(tmp_path: Path) -> None:
    mended = b'{"id":"mended","link_id":"otter","at":"2026-02-21T12:00:00Z"}'
    with capture_logs():
        put_aside(left_behind(tmp_path))
        put_aside(left_behind(tmp_path, [b"still bad"]))
        segment = left_behind(tmp_path, [mended])
    batch = segment.next_batch(PLENTY)
    assert batch
    assert [each.visit.id for each in batch.spooled] == ["mended"]
    assert [each.line for each in kept(tmp_path)][3:] == ["still bad"]
    segment.remove()


@pytest.mark.parametrize("written", range(1, 300, 7))
def test_a_kill_in_the_middle_of_writing_leaves_each_line_there_once(tmp_path: Path, written: int) -> None:
    with capture_logs():
        put_aside(left_behind(tmp_path))
        whole = kept(tmp_path)
        os.truncate(
            tmp_path / "dead.set-aside.ndjson", min(written, (tmp_path / "dead.set-aside.ndjson").stat().st_size)
        )
        put_aside(left_behind(tmp_path))
    assert kept(tmp_path) == whole


def test_a_file_that_somebody_has_edited_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "dead.set-aside.ndjson").write_text("looked at this on Monday\n[]\n")
    with capture_logs():
        assert put_aside(left_behind(tmp_path)) == 3


def test_what_there_is_no_room_for_is_lost_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.set-aside.ndjson").write_bytes(b"x" * 900)
    monkeypatch.setattr(set_aside, "MOST_BYTES", 1000)
    before = counts()
    with capture_logs():
        put_aside(left_behind(tmp_path))
    assert [each.line for each in kept(tmp_path)] == ["bad"]
    assert counts() == (before[0] + 1, before[1] + 2)


def test_on_a_full_disk_lines_stay_in_the_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    before = counts()
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    with pytest.raises(TransientError, match="cannot be set aside"):
        put_aside(left_behind(tmp_path))
    assert (kept(tmp_path), counts()) == ([], before)
    monkeypatch.undo()
    with capture_logs():
        assert put_aside(left_behind(tmp_path)) == 3
    assert len(kept(tmp_path)) == 3
