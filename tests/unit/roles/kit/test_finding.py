"""Errors of all kinds as findings."""

import pytest

from waypost.kernel.errors import AskedWrongly, StoreTrouble
from waypost.roles.kit.finding import trouble


@pytest.mark.parametrize(
    ("error", "found", "advice"),
    [
        (StoreTrouble("it is away", next_step="see WAYPOST_STORE"), "it is away", "ours"),
        (AskedWrongly("not a URL", next_step="write it so"), "not a URL", "write it so"),
        (AskedWrongly("not a URL"), "not a URL", "ours"),
        (PermissionError(13, "Permission denied", "/root"), "Permission denied", "ours"),
        (KeyError("name"), "a defect in Waypost: KeyError: 'name'", "ours"),
        (StoreTrouble("redis://app:secret@host/0 is away"), "redis://app:***@host/0 is away", "ours"),
    ],
)
def test_an_error_becomes_a_finding_that_has_to_be_seen_to(error: Exception, found: str, advice: str) -> None:
    finding = trouble("store", error, "ours")
    assert (finding.name, finding.ok, finding.needed) == ("store", False, True)
    assert (finding.found, finding.advice) == (found, advice)
