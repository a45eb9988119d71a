"""Places as columns, in the order in which they come: their features, and the fields by which they are found."""

from array import array

from waypost.kernel.folding import words
from waypost.places.place import Place, place_id_bytes, to_feature
from waypost.serving.building.lists_writing import FieldValues
from waypost.serving.format import LISTS, LONGEST_WORD, MOST_WORDS, NEVER, UnusablePlace, microseconds
from waypost.serving.reading.boxes import on_earth

_UNKNOWN = float("nan")
# Bytes that a row takes in the columns below, besides its feature and its fields.
_ROW = 4 + 16 + 4 * 8


class Rows:
    """Collects places as columns; each feature has its trailing comma."""

    def __init__(self) -> None:
        self.features = bytearray()
        self.sizes = array("I")
        self.ids = bytearray()
        self.lon, self.lat = array("d"), array("d")
        self.power, self.updated = array("d"), array("q")
        self.fields = {name: FieldValues() for name in LISTS}

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def held(self) -> int:
        """About how many bytes of memory the rows take."""
        return len(self.features) + _ROW * len(self) + sum(field.held for field in self.fields.values())

    def add(self, place: Place) -> None:
        if not on_earth(place.lon, place.lat):
            raise UnusablePlace(f"{place.external_id} is at {place.lon}, {place.lat}, which is not on Earth")
        row, place_id = len(self.sizes), place_id_bytes(place.external_id)
        feature = to_feature(place, place_id)
        self.features += feature
        self.features += b","
        self.sizes.append(len(feature) + 1)
        self.ids += place_id
        self.lon.append(place.lon)
        self.lat.append(place.lat)
        power, moment = place.attributes.power_kw, place.provider_updated_at
        self.power.append(_UNKNOWN if power is None else power)
        self.updated.append(NEVER if moment is None else microseconds(moment))
        self._find_by(row, place)

    def _find_by(self, row: int, place: Place) -> None:
        fields = self.fields
        if place.country is not None:
            fields["country"].add(row, place.country)
        if place.operator is not None:
            fields["operator"].add(row, place.operator)
        fields["status"].add(row, place.status)
        fields["source"].add(row, place.source)
        fields["category"].add(row, *place.categories)
        fields["words"].add(row, *words_of(place))


def words_of(place: Place) -> list[str]:
    """The words of a place's name and town."""
    town = place.address.town
    found = words(f"{place.name} {town}" if town else place.name)
    return [word[:LONGEST_WORD] for word in found[:MOST_WORDS]]
