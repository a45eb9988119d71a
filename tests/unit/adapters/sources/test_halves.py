"""Halves of characters in a provider's JSON: each item is found as it was sent, whatever else is in it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.sources.reading import read_array, read_object

# With halves of both kinds, and with what could be taken for one of them.
pieces = st.sampled_from(["\ud83d", "\ude00", "😀", "\\", "\\ud83d", "u", "d83d", '"', "[", ",", "}", "ö", "\n", "x"])
texts = st.lists(pieces, max_size=6).map("".join)
items = st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(st.lists(items))
def test_every_item_is_found_as_it_was_sent(sent: list[object]) -> None:
    found = read_array(json.dumps(sent).encode())
    assert [bytes(item) for item in found] == [json.dumps(item).encode() for item in sent]


@given(st.dictionaries(st.sampled_from("abc"), items))
def test_every_field_is_found_as_it_was_sent(sent: dict[str, object]) -> None:
    found = read_object(json.dumps(sent).encode())
    assert {name: bytes(value) for name, value in found.items()} == {
        name: json.dumps(value).encode() for name, value in sent.items()
    }


def test_bytes_that_no_text_has_stay_where_they_are() -> None:
    body = rb'["\ud83d", "%b", "x"]' % bytes(range(0xF5, 0xFF))
    assert [bytes(item) for item in read_array(body)] == [rb'"\ud83d"', b'"%b"' % bytes(range(0xF5, 0xFF)), b'"x"']
