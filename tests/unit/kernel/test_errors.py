"""The tree of errors: what scripts rely on stays, and every error says whether trying again helps."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

import waypost
from waypost.kernel.errors import AskedWrongly, TerminalError, TransientError, WaypostError

# Slug, exit code and HTTP status, as scripts know them. Add new ones freely; change none.
KNOWN = {
    ("access-denied", 1, 403),
    ("already-made", 1, 409),
    ("asked-wrongly", 2, 400),
    ("bad-area", 2, 400),
    ("bad-box", 2, 400),
    ("bad-cursor", 1, 500),
    ("bad-import", 2, 400),
    ("bad-origin", 2, 400),
    ("bad-parameter", 2, 400),
    ("bad-query", 2, 400),
    ("bad-scope", 2, 400),
    ("bad-shard-key", 2, 400),
    ("bad-source", 2, 400),
    ("bad-tile", 2, 400),
    ("bad-vocabulary", 2, 400),
    ("budget-exhausted", 1, 503),
    ("cannot-listen", 2, 400),
    ("conflict", 1, 409),
    ("crew-failed", 1, 503),
    ("cross-site-form", 1, 403),
    ("disabled-by-admin", 1, 403),
    ("empty-page", 1, 500),
    ("error", 1, 500),
    ("file-unusable", 1, 500),
    ("folder-in-use", 1, 500),
    ("folder-not-writable", 1, 500),
    ("forbidden", 1, 403),
    ("generation-gone", 1, 410),
    ("idempotency-key-reused", 1, 409),
    ("import-ended", 1, 409),
    ("jobs-lost", 1, 500),
    ("key-in-address", 2, 400),
    ("key-expired", 1, 401),
    ("key-file-invalid", 2, 400),
    ("key-invalid", 2, 400),
    ("key-needed", 1, 401),
    ("key-not-rotated", 1, 409),
    ("key-refused", 1, 401),
    ("lease-lost", 1, 500),
    ("link-changed", 1, 409),
    ("link-invalid", 2, 400),
    ("links-elsewhere", 2, 400),
    ("lookup-failed", 1, 503),
    ("loopback-only", 1, 403),
    ("mass-delete", 1, 500),
    ("mixed-providers", 2, 400),
    ("no-budget", 2, 400),
    ("no-older-generation", 1, 404),
    ("no-keys", 2, 400),
    ("no-phrase-free", 1, 503),
    ("no-schedules", 2, 400),
    ("no-snapshot", 1, 503),
    ("no-store", 1, 404),
    ("no-such-place", 1, 404),
    ("not-at-origin", 1, 404),
    ("not-found", 1, 404),
    ("not-kept", 1, 409),
    ("not-leased", 1, 409),
    ("not-now", 1, 503),
    ("origin-away", 1, 503),
    ("origin-broken", 1, 500),
    ("outdated-answer", 1, 503),
    ("outside-scope", 1, 500),
    ("pages-bound", 1, 503),
    ("phrase-refused", 2, 400),
    ("phrase-taken", 1, 409),
    ("port-taken", 1, 500),
    ("provider-away", 1, 503),
    ("provider-pauses", 1, 503),
    ("provider-refused", 1, 503),
    ("provider-rejected", 1, 500),
    ("provider-unavailable", 1, 503),
    ("pull-under-way", 1, 409),
    ("query-too-long", 2, 414),
    ("scope-missing", 1, 403),
    ("scope-needed", 2, 400),
    ("setting-invalid", 2, 400),
    ("several-keys", 2, 400),
    ("simulator-file-unusable", 2, 400),
    ("simulator-log-unusable", 2, 400),
    ("snapshot-broken", 1, 500),
    ("snapshot-not-written", 1, 503),
    ("snapshot-too-new", 1, 500),
    ("source-elsewhere", 1, 503),
    ("space-full", 1, 503),
    ("span-too-long", 2, 400),
    ("stopped", 130, 503),
    ("store-away", 1, 503),
    ("store-broken", 1, 500),
    ("store-busy", 1, 503),
    ("store-full", 1, 503),
    ("store-not-writable", 1, 500),
    ("store-refused", 1, 500),
    ("store-too-new", 1, 500),
    ("store-too-old", 1, 500),
    ("store-trouble", 1, 503),
    ("stuck-cursor", 1, 500),
    ("target-refused", 2, 400),
    ("terminal", 1, 500),
    ("too-many-at-once", 1, 429),
    ("too-many-lines", 2, 400),
    ("too-many-rejected", 1, 500),
    ("transient", 1, 503),
    ("truncated", 1, 500),
    ("unknown-country", 2, 400),
    ("unknown-generation", 1, 404),
    ("unknown-import", 1, 404),
    ("unknown-job", 1, 404),
    ("unknown-key", 1, 404),
    ("unknown-language", 2, 400),
    ("unknown-link", 1, 404),
    ("unknown-place", 1, 404),
    ("unknown-schedule", 2, 400),
    ("unknown-source", 2, 400),
    ("unknown-theme", 2, 400),
    ("unschedulable", 2, 400),
    ("unsupported-content-type", 2, 415),
    ("unsupported-scope", 2, 400),
    ("unusable-place", 1, 500),
    ("version-passed", 1, 412),
    ("zone-refused", 2, 400),
}


def below(error: type[WaypostError]) -> Iterator[type[WaypostError]]:
    yield error
    for child in error.__subclasses__():
        yield from below(child)


@cache
def every_error() -> frozenset[type[WaypostError]]:
    for module in pkgutil.walk_packages(waypost.__path__, "waypost."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return frozenset(error for error in below(WaypostError) if error.__module__.startswith("waypost."))


def test_slugs_exit_codes_and_statuses_stay_as_scripts_know_them() -> None:
    now = {(error.slug, error.exit_code, error.http_status) for error in every_error()}
    assert KNOWN - now == set()


def test_a_slug_names_one_kind_of_error() -> None:
    counted = Counter(error.slug for error in every_error())
    assert [slug for slug, errors in counted.items() if errors > 1] == []


def test_every_error_is_either_worth_another_try_or_not() -> None:
    kinds = every_error() - {WaypostError}
    assert [error for error in kinds if issubclass(error, TransientError) == issubclass(error, TerminalError)] == []


def test_exit_code_2_is_for_those_who_asked_wrongly() -> None:
    assert {error for error in every_error() if error.exit_code == 2} == set(below(AskedWrongly)) & every_error()
    # 130 is for whoever was asked to stop, as shells have it.
    assert {error.exit_code for error in every_error()} == {1, 2, 130}


@pytest.mark.parametrize(("kind", "least", "most"), [(TransientError, 429, 503), (AskedWrongly, 400, 499)])
def test_the_status_says_what_the_kind_says(kind: type[WaypostError], least: int, most: int) -> None:
    assert [error for error in below(kind) if not least <= error.http_status <= most] == []


def test_an_error_reads_as_its_message_and_carries_the_next_step() -> None:
    error = AskedWrongly("there is no such country", next_step="waypost --help", parameter="country")
    assert str(error) == error.message == "there is no such country"
    assert (error.next_step, error.parameter) == ("waypost --help", "country")
    assert WaypostError("it failed").next_step is None
