"""What those outside are told about an error."""

from pathlib import Path

import pytest

from waypost.adapters.errors import StoreAway, StoreBusy, StoreFull, StoreRefused
from waypost.adapters.sqlite.errors import StoreBroken, StoreNotWritable
from waypost.kernel.errors import AskedWrongly, StoreTrouble, WaypostError
from waypost.serving.format import NoSnapshot, SnapshotBroken, SnapshotNotWritten, SnapshotTooNew
from waypost.web.http.problems import from_error
from waypost.web.places.answer import problem_answer

WHERE = "/srv/my data/waypost.db"
STORES = (StoreAway, StoreBusy, StoreFull, StoreRefused, StoreBroken, StoreNotWritable, StoreTrouble)


@pytest.mark.parametrize(
    "error",
    [
        *(kind(f"the database {WHERE} on db.internal:5432", next_step=f"see {WHERE}") for kind in STORES),
        SnapshotBroken(Path("/srv/my data/snapshots/one/ids"), "is missing"),
        NoSnapshot(Path("/srv/my data/snapshots")),
        SnapshotTooNew("/srv/my data/snapshots/one/manifest.json has format version 9"),
        SnapshotNotWritten("the snapshot needs about 1 bytes in /srv/my data and could not be written"),
    ],
    ids=lambda error: error.slug,
)
def test_an_answer_names_no_file_and_no_server(error: WaypostError) -> None:
    for body in (bytes(from_error(error).body), b"".join(problem_answer(error).chunks)):
        assert b"srv" not in body
        assert b"my data" not in body
        assert b"internal" not in body
        assert error.outside.encode() in body
    assert error.outside != ""


def test_a_caller_who_asked_wrongly_is_told_all() -> None:
    assert b"there is no country XX" in from_error(AskedWrongly("there is no country XX", parameter="country")).body
