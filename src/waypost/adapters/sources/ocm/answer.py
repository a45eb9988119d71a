"""What an answer of Open Charge Map holds for the question that was asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from waypost.adapters.sources.ocm.question import OcmQuestion
from waypost.adapters.sources.ocm.records import OcmRecord
from waypost.adapters.sources.paging import refuse_disorder
from waypost.adapters.sources.reading import decode, decode_part
from waypost.adapters.sources.values import as_utc
from waypost.importing.cuts import IdRange
from waypost.importing.source import Fetched, OutsideScope, Reject
from waypost.places.countries import NAMES

_record = msgspec.json.Decoder(OcmRecord)


@dataclass(frozen=True, slots=True)
class UnderstoodAnswer:
    """Places and rejects that the question asks for; up to which id it is answered; whether all its ids are.

    `covers` are the ids for which it has all there is: none for a window.
    """

    fetched: tuple[Fetched, ...]
    rejects: tuple[Reject, ...]
    highest: int
    is_complete: bool
    covers: IdRange | None


class _Seen(msgspec.Struct, frozen=True):
    number: int | None
    updated_at: datetime | None
    item: Fetched | Reject


class _Identified(msgspec.Struct, rename={"id": "ID"}):
    id: int = 0


class _Dated(msgspec.Struct, rename={"updated_at": "DateLastStatusUpdate"}):
    updated_at: datetime | None = None


_identified = msgspec.json.Decoder(_Identified)
_dated = msgspec.json.Decoder(_Dated)


def sift(records: Sequence[msgspec.Raw], question: OcmQuestion, after: int) -> UnderstoodAnswer:
    """Leaves out what lies outside the question's window or past its ids; the provider can be told of neither end."""
    seen = [_see(raw, question.country) for raw in records]
    refuse_disorder((each.number for each in seen if each.number is not None), after)
    within = [each for each in seen if not question.ids.is_past(each.number or 0)]
    highest = max([after, *(each.number or 0 for each in within)])
    kept = [each.item for each in within if _is_asked_for(each, question)]
    is_complete = len(within) < len(seen) or question.ids.is_past(highest + 1)
    return UnderstoodAnswer(
        fetched=tuple(item for item in kept if isinstance(item, Fetched)),
        rejects=tuple(item for item in kept if isinstance(item, Reject)),
        highest=highest,
        is_complete=is_complete,
        covers=None if question.window else IdRange(after + 1, question.ids.end if is_complete else highest + 1),
    )


def _is_asked_for(seen: _Seen, question: OcmQuestion) -> bool:
    """A reject whose time cannot be read may belong to any window, and is kept in each that it comes in."""
    if isinstance(seen.item, Reject) and seen.updated_at is None:
        return True
    return question.holds(seen.updated_at)


def _see(raw: msgspec.Raw, country: str) -> _Seen:
    try:
        record = decode(_record, raw)
        place = record.to_place(country)
    except ValueError as error:
        number = _id_of(raw)
        return _Seen(number, _time_of(raw), Reject(bytes(raw), str(error), f"ocm:{number}" if number else None))
    if place.country != country:
        # What is not a country is not repeated: it could be anything, even our key.
        where = place.country if place.country in NAMES else "an unknown country"
        raise OutsideScope(f"asked for {country}, the provider sent {place.external_id} in {where}")
    return _Seen(record.id, place.provider_updated_at, Fetched(place, bytes(raw), record.id))


def _id_of(raw: msgspec.Raw) -> int | None:
    """The id of a record that is otherwise not understood, so that the page after it can be asked for."""
    try:
        number = decode_part(_identified, raw).id
    except ValueError:
        return None
    return number if number > 0 else None


def _time_of(raw: msgspec.Raw) -> datetime | None:
    """The time of such a record, so that a window does not count its neighbours' rejects."""
    try:
        updated_at = decode_part(_dated, raw).updated_at
        return as_utc(updated_at) if updated_at else None
    except ValueError:
        return None
