"""A page as the rows that stores write, made before the transaction, in which others may be waiting for us."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import xxhash

from waypost.adapters.json_values import by_value
from waypost.importing.pages import Writing
from waypost.importing.source import Page, Remembered
from waypost.places.events import PlacesChanged, Versioned
from waypost.places.place import place_id_bytes


class PlaceRow(NamedTuple):
    external_id: str
    id: bytes
    place: str
    record: bytes
    content_hash: bytes
    number: int


class RejectRow(NamedTuple):
    record_hash: bytes
    record: bytes
    reason: str
    external_id: str | None


class PageRows:
    """Of several records for one place the last counts, and of several equal rejects the first."""

    def __init__(self, page: Page, writing: Writing) -> None:
        last = {fetched.place.external_id: fetched for fetched in page.fetched}
        # A place that moves to another area has changed, even when nothing else about it has.
        area = writing.extent.area.encode() + b"\n"
        self.places: list[PlaceRow] = []
        for external_id in sorted(last):
            fetched = last[external_id]
            place = msgspec.json.encode(fetched.place)
            digest = xxhash.xxh3_128(area)
            # Numbers in it that are the source's own are spelt as they came.
            digest.update(by_value(place) if fetched.place.attributes.extra else place)
            digest.update(b"\n")
            digest.update(by_value(fetched.record))
            self.places.append(
                PlaceRow(
                    external_id,
                    place_id_bytes(external_id),
                    place.decode(),
                    fetched.record,
                    digest.digest(),
                    fetched.number,
                )
            )
        once = {xxhash.xxh3_128_digest(reject.record): reject for reject in reversed(page.rejects)}
        self.rejects = [
            RejectRow(digest, reject.record, reject.reason, reject.external_id) for digest, reject in once.items()
        ]
        # Whatever the page has, understood or not, is still there.
        self.seen = [*last, *(reject.external_id for reject in page.rejects if reject.external_id), *page.still]
        self.still = list(page.still)
        self._fetched, self._rejected = len(page.fetched) + len(page.still), len(page.rejects)

    def count(self, changes: PlacesChanged) -> Counter[str]:
        added, changed = len(changes.added), len(changes.changed)
        return Counter(
            added=added,
            changed=changed,
            unchanged=self._fetched - added - changed,
            removed=len(changes.removed),
            rejected=self._rejected,
        )


def remembered(page: Page) -> bytes | None:
    """What is kept of an answer that has a name; nothing of one that we do not understand in full."""
    if page.etag is None or page.rejects or page.truncated:
        return None
    ids = page.still or tuple(fetched.place.external_id for fetched in page.fetched)
    return msgspec.json.encode(Remembered(page.etag, ids, page.cursor, page.last, page.covers))


def recall(answer: str | bytes) -> Remembered:
    return msgspec.json.decode(answer, type=Remembered)


def versioned(rows: Sequence[tuple[str, int]]) -> list[Versioned]:
    return [Versioned(external_id, version) for external_id, version in rows]
