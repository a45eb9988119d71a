"""What is said at the end of an import."""

from collections.abc import Mapping

import msgspec
import pytest

from waypost.cli.import_view import print_ended
from waypost.importing.imports import ImportReport
from waypost.importing.source import Scope


def report(shards: Mapping[str, int], requests: int) -> ImportReport:
    counts = dict.fromkeys(("added", "changed", "unchanged", "removed", "rejected", "unsure", "retries", "refusals"), 0)
    return ImportReport(id="one", shards=shards, requests=requests, seconds=1.0, **counts)


@pytest.mark.parametrize(
    ("shards", "requests", "is_said"),
    [
        ({"done": 2}, 0, True),
        ({"done": 2}, 3, False),
        ({"done": 1, "pending": 1}, 0, False),
        ({"cancelled": 1}, 0, False),
        ({"leased": 1}, 0, False),
    ],
)
def test_that_nothing_was_to_do_is_said_only_if_all_was_done(
    capsys: pytest.CaptureFixture[str], shards: Mapping[str, int], requests: int, *, is_said: bool
) -> None:
    print_ended(report(shards, requests), Scope())
    assert ("nothing to do: this scope was imported today already" in capsys.readouterr().err) == is_said


def test_that_nothing_was_removed_because_a_list_moved_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    print_ended(msgspec.structs.replace(report({"done": 3}, 9), unsure=2), Scope())
    assert "nothing was removed from 2 shards: their lists moved while they were read" in capsys.readouterr().out
