"""The scanner for GeoJSON against json.loads: the same features, whatever is in them and however the bytes come."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.sources.files.formats import FileBroken, FoundRecord
from waypost.adapters.sources.files.geojson import read_features
from waypost.adapters.sources.files.json_scanner import JsonScanner

BOUND = 1 << 20

# Brackets, quotes, backslashes and names that mean something to us are what a scanner trips over.
tricky = st.text(alphabet='{}[]"\\,: \n\té😀u0', max_size=8) | st.sampled_from(
    ["features", "type", "\\", '"', "\u2028"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | tricky
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(tricky, inner, max_size=4), max_leaves=12
)
collections = st.builds(
    lambda before, features, after: {
        **before,
        "features": features,
        **{k: v for k, v in after.items() if k != "features"},
    },
    st.dictionaries(tricky.filter(lambda name: name != "features"), anything, max_size=3),
    st.lists(anything, max_size=6),
    st.dictionaries(tricky, anything, max_size=3),
)
layouts = st.sampled_from([None, 0, 1, "\t"])


class Trickle(io.BytesIO):
    """Gives as many bytes at a time as it likes."""

    def __init__(self, content: bytes, sizes: Sequence[int]) -> None:
        super().__init__(content)
        self._sizes = list(sizes) or [1]
        self._turn = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self._turn += 1
        return super().read(self._sizes[self._turn % len(self._sizes)])


def read(
    content: bytes, *, bound: int = BOUND, offset: int = 0, sizes: Sequence[int] = (1 << 16,)
) -> list[FoundRecord]:
    return list(read_features(Trickle(content, sizes), bound, offset))


@given(collections, layouts, st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(st.integers(1, 9), max_size=4))
def test_any_collection_in_any_chunks_has_the_features_that_json_has(
    collection: dict[str, Any], layout: Any, mark: bytes, sizes: list[int]
) -> None:
    text = json.dumps(collection, indent=layout, ensure_ascii=not mark).encode()
    found = [json.loads(each.content) for each in read(mark + text + b"\r\n", sizes=sizes)]
    assert found == json.loads(text)["features"]


@given(collections, layouts, st.data())
def test_reading_on_behind_any_feature_gives_the_others(collection: dict[str, Any], layout: Any, data: Any) -> None:
    content = json.dumps(collection, indent=layout).encode()
    whole = read(content)
    if whole:
        at = data.draw(st.integers(0, len(whole) - 1))
        assert read(content, offset=whole[at].end or 0, sizes=[3]) == whole[at + 1 :]


@given(collections, st.data())
def test_a_collection_that_was_cut_off_is_never_taken_for_a_whole_one(collection: dict[str, Any], data: Any) -> None:
    content = json.dumps(collection).encode()
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(FileBroken):
        read(content[:cut])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "begins with"),
        (b"[]", "begins with"),
        (b"{}", "has no features"),
        (b'{"type": "Feature", "geometry": {"features": []}}', "has no features"),
        (b'{"features": {}}', "where '\\[' is due"),
        (b'{"features": [1,]}', "where a value is due"),
        (b'{"features": [1 2]}', "where ',\\]' is due"),
        (b'{"features": [{}}]}', "where ',\\]' is due"),
        (b'{"features": []} x', "after its end"),
        (b'{"features": []}{"features": []}', "after its end"),
        (b'{"features": [], "features": [1]}', "two lists"),
        (b'{"features": [], 7: 1}', "name of a member"),
        (b'{"features": [], "a" 1}', "where ':' is due"),
        (b'{"a": 1, features: []}', "has no features"),
        (b'{"\xff": 1, "features": []}', "name that cannot be read"),
    ],
)
def test_what_is_no_collection_is_broken(content: bytes, reason: str) -> None:
    for sizes in ([1 << 16], [1]):
        with pytest.raises(FileBroken, match=reason):
            read(content, sizes=sizes)


class Watched(io.BytesIO):
    """Looks at how much its reader holds whenever it is asked for more."""

    scanner: JsonScanner
    most = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.most = max(self.most, len(self.scanner._buffer))
        return super().read(1000)


def test_a_value_that_is_too_large_is_passed_by_without_being_held() -> None:
    large = json.dumps({"id": 2, "text": 'a "quoted" } ' * 100_000}).encode()
    stream = Watched(large + b', {"id": 3}')
    stream.scanner = JsonScanner(stream)
    assert stream.scanner.value(5_000) == (large[:1000], False)
    stream.scanner.take(b",")
    assert stream.scanner.value(5_000) == (b'{"id": 3}', True)
    assert stream.most < 10_000


def test_a_feature_that_is_too_large_is_told_and_those_around_it_are_taken() -> None:
    features = [{"id": 1}, {"id": 2, "text": "}" * 6_000}, {"id": 3}]
    found = read(json.dumps({"features": features}).encode(), bound=5_000, sizes=[100])
    assert [each.reason is None for each in found] == [True, False, True]
    assert "larger than 5000 bytes" in str(found[1].reason)


def test_a_feature_of_exactly_the_bound_is_taken() -> None:
    feature = b'{"id": 12345}'
    for bound, is_taken in [(len(feature), True), (len(feature) - 1, False)]:
        [found] = read(b'{"features": [' + feature + b"]}", bound=bound, sizes=[2])
        assert (found.reason is None) == is_taken
