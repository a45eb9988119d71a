"""Shard keys: what can be written can be read again, and nothing else is a key."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

sources = st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)
axes = st.from_regex(r"[a-z]+", fullmatch=True)
values = st.from_regex(r"[A-Za-z0-9._:,+-]+", fullmatch=True)
keys = st.builds(ShardKey, sources, st.lists(st.tuples(axes, values), min_size=1, max_size=4).map(tuple))


@given(keys)
def test_a_key_that_was_written_is_read_again(key: ShardKey) -> None:
    assert ShardKey.parse(str(key)) == key


@given(st.text())
def test_any_text_is_a_key_that_reads_the_same_or_is_refused(text: str) -> None:
    with suppress(BadShardKey):
        assert str(ShardKey.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "ocm/country:DE/full:2026-02-21",
        "ocm/country:DE/refresh:019c7f7e-0000-7000-8000-000000000000",
        "ocm/country:DE/window:2026-02-21T00:00:00Z..2026-02-21T01:00:00Z",
        "ocm/country:DE/full:2026-02-21/ids:1000..2000",
        "ocm/country:DE/full:2026-02-21/ids:2000..",
        "other/box:q/full:2026-02-21",
        "other/box:q1022/window:2026-02-01T00:00:00Z..2026-03-01T00:00:00Z",
    ],
)
def test_the_documented_keys_are_keys(text: str) -> None:
    assert str(ShardKey.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "ocm", "ocm/", "/country:DE", "ocm/country", "ocm/country:", "ocm/:DE", "OCM/country:DE"),
        *("ocm//country:DE", "ocm/country:DE/", "ocm/country:D E", "ocm/country:DE\n", "ocm/Country:DE"),
        *("ocm/country:Å", "1ocm/country:DE", " ocm/country:DE"),
    ],
)
def test_what_is_not_quite_a_key_is_refused(text: str) -> None:
    with pytest.raises(BadShardKey, match="is not a shard key") as refusal:
        ShardKey.parse(text)
    assert (refusal.value.slug, refusal.value.exit_code) == ("bad-shard-key", 2)


def test_a_value_is_asked_for_by_its_axis() -> None:
    key = ShardKey.parse("ocm/country:DE/full:2026-02-21")
    assert (key["country"], key["full"], key.axes) == ("DE", "2026-02-21", ("country", "full"))
    with pytest.raises(BadShardKey, match="ocm/country:DE/full:2026-02-21 has no window"):
        key["window"]


def test_another_value_takes_the_place_of_the_old_one_and_a_new_axis_comes_last() -> None:
    key = ShardKey.parse("other/box:q1/full:2026-02-21")
    assert str(key.having("box", "q12")) == "other/box:q12/full:2026-02-21"
    assert str(key.having("ids", "0..5")) == "other/box:q1/full:2026-02-21/ids:0..5"
