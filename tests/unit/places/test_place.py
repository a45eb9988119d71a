"""The place itself."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from waypost.places.place import place_id, read_id

NAMESPACE = uuid.UUID("6f0c54a1-6b0e-5d8e-9a39-8f0f6b7f4c1d")


@given(st.text())
def test_an_id_is_the_uuid_that_anybody_can_derive_from_the_external_id(external_id: str) -> None:
    assert place_id(external_id) == uuid.uuid5(NAMESPACE, external_id)


def test_a_place_is_found_by_either_of_its_ids() -> None:
    assert read_id("ocm:2388") == place_id("ocm:2388") == read_id(str(place_id("ocm:2388")))
