"""What is read in one step is read as it would be step by step."""

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.kernel.errors import AskedWrongly
from waypost.places.place import read_id
from waypost.web.http.parameters import Parameters
from waypost.web.places.parameters import Listing
from waypost.web.places.place_answers import _id_bytes

LISTING = Listing(1000)

DEGREES = (
    st.decimals(-200, 200, places=6).map(str)
    | st.floats(-200, 200).map(repr)
    | st.sampled_from(["0", "-0", "007", "180", "-90.", ".5", "1e1", "+1", "nan", "inf", "1_0", " 1", "%31", "٣", ""])
)
BOXES = st.lists(DEGREES, min_size=3, max_size=6).map(",".join)
LIMITS = st.integers(-1, 2000).map(str) | st.sampled_from(["01", "1e2", "99999999999", "1.0", ""])


def told(read: object, query: bytes) -> object:
    """What came of it: the values, or what is wrong."""
    assert callable(read)
    try:
        return read(query)
    except AskedWrongly as error:
        return error.slug, str(error), error.parameter


@given(box=BOXES, limit=LIMITS)
@example(box="5.8,47.2,15.1,55.1", limit="150")
@example(box="170,-10,-170,10", limit="1001")
@example(box="5,47,181,55", limit="1")
@example(box="5,55,15,47", limit="1")
def test_a_box_with_a_limit_is_read_in_one_step_as_in_many(box: str, limit: str) -> None:
    query = f"bbox={box}&limit={limit}".encode()
    found = told(LISTING.read, query)
    assert found == told(lambda asked: Parameters.read(LISTING, asked), query)
    if isinstance(found, dict):
        assert isinstance(found["limit"], int)


@given(st.uuids(), st.sampled_from([str, lambda each: str(each).upper(), lambda each: each.hex, lambda each: each.urn]))
def test_an_id_is_read_in_every_form_that_it_has(place: uuid.UUID, written: object) -> None:
    assert callable(written)
    assert _id_bytes(written(place)) == place.bytes


@pytest.mark.parametrize("text", ["sim:1", "", "00000000-0000-0000-0000-00000000000", "0" * 31 + " ", "-" * 36])
def test_what_is_no_id_is_an_external_one(text: str) -> None:
    assert _id_bytes(text) == read_id(text).bytes
