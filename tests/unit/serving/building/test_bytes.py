"""The bytes of a generation: what each section says, and that nothing but the places decides about them."""

import math
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.kernel.folding import words
from waypost.places.place import Address, Attributes, Place, to_feature, to_properties
from waypost.serving import format as layout
from waypost.serving.building.builder import build
from waypost.serving.building.runs import RunWriter, words_of
from waypost.serving.building.sections import compose, perform_all
from waypost.serving.format import LISTS, LONGEST_WORD, MOST_WORDS, SECTIONS, Manifest
from waypost.serving.hilbert import keys

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

texts = st.sampled_from(["", "A", "Café", "Łódź Widzew", "東京 駅", "a_b-c", "x" * 40, "\U0001f600 é"]) | st.text(
    max_size=12
)
moments = st.integers(-(10**15), 10**16).map(lambda microseconds: EPOCH + timedelta(microseconds=microseconds))
details: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "name": texts,
        "lat": st.sampled_from([-90.0, 0.0, 90.0]) | st.floats(-90, 90),
        "lon": st.sampled_from([-180.0, 0.0, 180.0]) | st.floats(-180, 180),
        "country": st.none() | st.sampled_from(["DE", "FR"]),
        "address": st.builds(Address, town=st.none() | texts),
        "operator": st.none() | texts,
        "categories": st.lists(texts, max_size=3).map(tuple),
        "status": st.sampled_from(["operational", "closed", "unknown"]),
        "attributes": st.builds(Attributes, power_kw=st.none() | st.floats(0, 1e300)),
        "provider_updated_at": st.none() | moments,
        "source": st.sampled_from(["sim", "ocm"]),
    }
)
some_places = st.lists(details, max_size=25).map(
    lambda found: [Place(external_id=f"sim:{at}", **each) for at, each in enumerate(found)]
)


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SECTIONS}


def built(places: Sequence[Place], memory: int = 2**20) -> tuple[Manifest, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        manifest = build(places, Path(folder), now=NOW, memory=memory)
        return manifest, content(Path(folder) / manifest.generation)


def composed(parts: Sequence[Sequence[Place]], processes: int, memory: int) -> dict[str, bytes]:
    """As several processes do it, each with a part of its own and with steps of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place, runs = Path(folder), []
        for number, part in enumerate(parts):
            writer = RunWriter(place, f"part{number}", memory)
            for each in part:
                writer.add([each])
            writer.flush()
            runs += writer.runs
        sections = perform_all(compose(place, runs, processes=processes, memory=memory), place)
        assert [(section.name, section.size) for section in sections] == [
            (name, (place / name).stat().st_size) for name in SECTIONS
        ]
        assert sorted(path.name for path in place.iterdir()) == sorted(SECTIONS)
        return content(place)


@settings(deadline=None, max_examples=60)
@given(
    some_places,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from([1, 300, 3_000, 10**9]),
)
def test_neither_order_nor_parts_nor_processes_nor_memory_change_a_byte(
    places: list[Place], random: Random, parts: int, processes: int, memory: int
) -> None:
    shuffled = random.sample(places, len(places))
    _, expected = built(places)
    assert composed([shuffled[at::parts] for at in range(parts)], processes, memory) == expected
    assert built(shuffled, memory)[1] == expected


def numbers(section: bytes, kind: str) -> list[float]:
    found: list[float] = np.frombuffer(section, dtype=kind).tolist()
    return found


def read_lists(encoded: bytes) -> dict[str, list[int]]:
    """Straight from the description of the format."""
    values, rows, text_bytes, nothing = numbers(encoded[:32], "<u8")
    where = layout.ListsLayout(int(values), int(rows), int(text_bytes))
    assert nothing == 0
    assert len(encoded) == where.size
    texts_at = [int(at) for at in numbers(encoded[where.texts_at :][: 8 * (where.values + 1)], "<u8")]
    rows_at = [int(at) for at in numbers(encoded[where.rows_at :][: 8 * (where.values + 1)], "<u8")]
    text, listed = encoded[where.texts :][: where.text_bytes], numbers(encoded[where.first_row :], "<u4")
    found = [text[begin:end] for begin, end in pairwise(texts_at)]
    assert found == sorted(set(found))
    return {
        value.decode(): [int(row) for row in listed[begin:end]]
        for value, begin, end in zip(found, rows_at, rows_at[1:], strict=False)
    }


def values_of(place: Place, field: str) -> set[str]:
    single = {"country": place.country, "operator": place.operator, "status": place.status, "source": place.source}
    several = {"category": place.categories, "words": words_of(place)}
    if field in several:
        return set(several[field])
    value = single[field]
    return set() if value is None else {value}


@settings(deadline=None, max_examples=60)
@given(some_places)
def test_each_section_says_what_the_format_says(places: list[Place]) -> None:
    manifest, found = built(places)
    key = keys(np.array([place.lon for place in places]), np.array([place.lat for place in places])).tolist()
    rows = [
        place
        for _, _, place in sorted(
            zip(key, (place.id for place in places), places, strict=True), key=lambda row: row[:2]
        )
    ]
    features = [to_feature(place) + b"," for place in rows]
    assert manifest.count == len(rows)
    assert found[layout.FEATURES] == b"".join(features)
    assert numbers(found[layout.OFFSETS], "<u8") == np.cumsum([0, *map(len, features)]).tolist()
    assert found[layout.IDS] == b"".join(place.id.bytes for place in rows)
    assert numbers(found[layout.KEYS], "<u8") == sorted(key)
    padding = bytes(-8 * len(rows) % 64)
    lon, lat = (np.array([getattr(place, name) for place in rows], dtype="<f8").tobytes() for name in ("lon", "lat"))
    assert found[layout.POINTS] == lon + padding + lat
    moments = [place.provider_updated_at for place in rows]
    assert numbers(found[layout.UPDATED], "<i8") == [
        -(2**63) if moment is None else (moment - EPOCH) // timedelta(microseconds=1) for moment in moments
    ]
    for power, place in zip(numbers(found[layout.POWER], "<f4"), rows, strict=True):
        known = place.attributes.power_kw
        with np.errstate(over="ignore"):
            assert math.isnan(power) if known is None else power == np.float32(known)
    for field, name in LISTS.items():
        expected = {value for place in rows for value in values_of(place, field)}
        lists = read_lists(found[name])
        assert lists == {
            value: [row for row, place in enumerate(rows) if value in values_of(place, field)] for value in expected
        }
        assert manifest.values[field] == len(expected)


@settings(deadline=None, max_examples=60)
@given(some_places)
def test_each_id_is_found_from_its_home_slot_on(places: list[Place]) -> None:
    _, found = built(places)
    slots = [int(entry) for entry in numbers(found[layout.SLOTS], "<u4")]
    if not places:
        assert slots == []
        return
    homes = layout.slots_for(len(places))
    assert homes >= 2 * len(places)
    assert homes & (homes - 1) == 0
    assert (len(slots) > homes, slots[-1]) == (True, 0)
    assert sorted(entry for entry in slots if entry) == list(range(1, len(places) + 1))
    for place in places:
        at = place.id.int & (homes - 1)
        while found[layout.IDS][16 * slots[at] - 16 : 16 * slots[at]] != place.id.bytes:
            assert slots[at]
            at += 1


@given(details)
def test_a_feature_has_the_properties_that_all_else_shows(given_details: dict[str, Any]) -> None:
    place = msgspec.convert({"external_id": "sim:1", **given_details}, Place)
    feature = msgspec.json.decode(to_feature(place))
    assert list(feature) == ["type", "id", "geometry", "properties"]
    assert feature["properties"] == msgspec.json.decode(msgspec.json.encode(to_properties(place)))
    assert (feature["id"], feature["geometry"]["coordinates"]) == (str(place.id), [place.lon, place.lat])


def test_words_are_cut_and_counted() -> None:
    long = Place(external_id="sim:1", source="sim", name="Überlänge" * 9 + " w" * 99, lat=0, lon=0, country=None)
    assert words_of(long) == [("uberlange" * 9)[:LONGEST_WORD], *["w"] * (MOST_WORDS - 1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Łódź-Widzew (PKP)", ["lodz", "widzew", "pkp"]),
        ("L'Étoile n°5_b", ["l", "etoile", "n", "5", "b"]),
        ("ΑΘΗΝΑ Москва", ["αθηνα", "москва"]),
        ("東京駅 2", ["東京駅", "2"]),
        ("", []),
    ],
)
def test_words_are_folded_and_split(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text())
def test_words_do_not_depend_on_their_neighbours(text: str) -> None:
    assert words(f"{text} {text}") == words(text) * 2
    assert words(" ".join(words(text))) == words(text)
