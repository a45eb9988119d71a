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
    ("asked-wrongly", 2, 400),
    ("bad-box", 2, 400),
    ("bad-cursor", 1, 500),
    ("bad-shard-key", 2, 400),
    ("budget-exhausted", 1, 503),
    ("cannot-listen", 2, 400),
    ("conflict", 1, 409),
    ("error", 1, 500),
    ("folder-in-use", 1, 500),
    ("folder-not-writable", 1, 500),
    ("forbidden", 1, 403),
    ("loopback-only", 1, 403),
    ("mixed-providers", 2, 400),
    ("not-found", 1, 404),
    ("outside-scope", 1, 500),
    ("phrase-refused", 2, 400),
    ("phrase-taken", 1, 409),
    ("port-taken", 1, 500),
    ("provider-refused", 1, 503),
    ("provider-rejected", 1, 500),
    ("provider-unavailable", 1, 503),
    ("scope-needed", 2, 400),
    ("setting-invalid", 2, 400),
    ("snapshot-broken", 1, 500),
    ("snapshot-not-written", 1, 503),
    ("snapshot-too-new", 1, 500),
    ("store-broken", 1, 500),
    ("store-busy", 1, 503),
    ("store-full", 1, 503),
    ("store-not-writable", 1, 500),
    ("stuck-cursor", 1, 500),
    ("target-refused", 2, 400),
    ("terminal", 1, 500),
    ("transient", 1, 503),
    ("unknown-country", 2, 400),
    ("unknown-link", 1, 404),
    ("unknown-place", 1, 404),
    ("unknown-source", 2, 400),
    ("unsupported-content-type", 2, 415),
    ("unusable-place", 1, 500),
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
