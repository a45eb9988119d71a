"""A page as the rows that stores write, made before the transaction, during which others may be waiting for us."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import xxhash

from waypost.adapters.json_values import by_value
from waypost.importing.pages import Writing
from waypost.importing.passes import Pass
from waypost.importing.source import Fetched, Page, Reject, Remembered
from waypost.places.events import PlacesChanged, Versioned
from waypost.places.place import place_id_bytes

# External ids, each with the version that a commit has made of it.
Versions = list[tuple[str, int]]


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


class _Repeat(NamedTuple):
    """A record with the id of an earlier one; both by their positions in the page."""

    fetched: Fetched
    at: int
    first: int


class PageRows:
    """Of several records for one place, the first counts; so it does of several equal rejects."""

    def __init__(self, page: Page, writing: Writing) -> None:
        self._page = page
        self._first: dict[str, int] = {}
        self._again: list[_Repeat] = []
        for index, fetched in enumerate(page.fetched):
            first = self._first.setdefault(fetched.place.external_id, index)
            if first != index:
                self._again.append(_Repeat(fetched, index, first))
        area = writing.extent.area.encode() + b"\n"
        self._places = [_place_row(page.fetched[self._first[each]], area) for each in sorted(self._first)]
        rejected = (reject.external_id for reject in page.rejects if reject.external_id)
        # Whatever the page has, understood or not, is still there.
        self.seen = list(dict.fromkeys([*self._first, *rejected, *page.still]))
        self.still = list(page.still)

    def marks(self, before: int) -> dict[str, int]:
        """Where in the pass each id was seen, after `before` records; negative for records that were not understood."""
        marks = {reject.external_id: -1 for reject in self._page.rejects if reject.external_id}
        marks |= {external_id: before + index for index, external_id in enumerate(self.still, start=1)}
        marks |= {external_id: self._position(index, before) for external_id, index in self._first.items()}
        return marks

    def settled(self, before: int, known: Mapping[str, int]) -> "SettledRows":
        """Returns the rows without what is `known`: ids that the pass has seen, and where, in the `before` records."""
        again = [
            _Repeat(self._page.fetched[self._first[each]], self._first[each], -1)
            for each in known
            if each in self._first
        ]
        rejects = list(self._page.rejects)
        for repeat in sorted([*self._again, *again], key=lambda repeat: repeat.at):
            external_id = repeat.fetched.place.external_id
            first = known.get(external_id) or self._position(repeat.first, before)
            rejects.append(_repeated(repeat.fetched, self._position(repeat.at, before), first))
        places = [row for row in self._places if row.external_id not in known]
        return SettledRows(places, rejects, len(places) + len(self.still))

    def _position(self, index: int, before: int) -> int:
        """A list at rest numbers its records itself."""
        return self._page.fetched[index].number if self._page.at_rest else before + index + 1


class SettledRows:
    """What a page really brings: every place once."""

    def __init__(self, places: list[PlaceRow], rejects: Sequence[Reject], accepted: int) -> None:
        self.places = places
        once = {xxhash.xxh3_128_digest(reject.record): reject for reject in reversed(rejects)}
        self.rejects = [
            RejectRow(digest, reject.record, reject.reason, reject.external_id) for digest, reject in once.items()
        ]
        self.accepted, self.rejected = accepted, len(rejects)

    def noted_in(self, state: Pass, added: int) -> Pass:
        return state.counting(records=self.accepted + self.rejected, rejected=self.rejected, kept=self.accepted - added)

    def count(self, changes: PlacesChanged) -> Counter[str]:
        added, changed = len(changes.added), len(changes.changed)
        return Counter(
            added=added,
            changed=changed,
            unchanged=self.accepted - added - changed,
            removed=len(changes.removed),
            rejected=self.rejected,
        )


def _place_row(fetched: Fetched, area: bytes) -> PlaceRow:
    external_id, place = fetched.place.external_id, msgspec.json.encode(fetched.place)
    # A place that moves to another area has changed, even when nothing else about it has.
    digest = xxhash.xxh3_128(area)
    # Numbers in the source's own attributes are spelt as they came.
    digest.update(by_value(place) if fetched.place.attributes.extra else place)
    digest.update(b"\n")
    digest.update(by_value(fetched.record))
    return PlaceRow(
        external_id, place_id_bytes(external_id), place.decode(), fetched.record, digest.digest(), fetched.number
    )


def _repeated(fetched: Fetched, position: int, first: int) -> Reject:
    external_id = fetched.place.external_id
    reason = f"record {position} has the same id as record {first}, {external_id}; the first stays"
    return Reject(fetched.record, reason, external_id)


def moved_by(known: Mapping[str, int], page: Page) -> str | None:
    """Why a list has moved while it was read, if ids that the pass had seen came again."""
    if not known or page.at_rest:
        return None
    return f"{min(known)} came twice, so the list moved while it was read"


def remembered(page: Page, rows: SettledRows) -> bytes | None:
    """Returns what is kept of an answer that has a name; nothing of one that we do not understand in full."""
    if page.etag is None or rows.rejected or page.truncated:
        return None
    ids = page.still or tuple(fetched.place.external_id for fetched in page.fetched)
    return msgspec.json.encode(Remembered(page.etag, ids, page.cursor, page.last, page.covers))


def recall(answer: str | bytes, requested_at: datetime) -> Remembered:
    return msgspec.structs.replace(msgspec.json.decode(answer, type=Remembered), requested_at=requested_at)


def changes_of(shard: str, writing: Writing, added: Versions, changed: Versions, removed: Versions) -> PlacesChanged:
    lists = ([Versioned(*each) for each in places] for places in (added, changed, sorted(removed)))
    return PlacesChanged(writing.extent.source, shard, *lists)


def is_news(row: PlaceRow, before: Any, area: str, requested_at: int) -> bool:
    """Whether to write a row. What a later request brought stays, however late this page comes."""
    if before["requested_at"] > requested_at:
        return False
    if before["removed_at"] is None:
        return bool(before["content_hash"] != row.content_hash)
    # That it was missing in one area says nothing about others.
    return bool(before["area"] != area or before["removed_at"] < requested_at)
