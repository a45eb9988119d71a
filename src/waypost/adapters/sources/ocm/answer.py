"""What an answer of Open Charge Map holds for the question that was asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from waypost.adapters.sources.ocm.question import Question
from waypost.adapters.sources.ocm.records import OcmRecord, as_utc
from waypost.importing.source import Fetched, OutsideScope, ProviderUnavailable, Reject

_records = msgspec.json.Decoder(list[msgspec.Raw])
_record = msgspec.json.Decoder(OcmRecord)


@dataclass(frozen=True, slots=True)
class Answer:
    """Places and rejects of the question; up to which id it is answered; whether all its ids are."""

    fetched: tuple[Fetched, ...]
    rejects: tuple[Reject, ...]
    highest: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    number: int
    updated_at: datetime | None
    item: Fetched | Reject


class _Identified(msgspec.Struct, rename={"id": "ID"}):
    id: int = 0


class _Dated(msgspec.Struct, rename={"updated_at": "DateLastStatusUpdate"}):
    updated_at: datetime | None = None


_identified = msgspec.json.Decoder(_Identified)
_dated = msgspec.json.Decoder(_Dated)


def decode(body: bytes) -> list[msgspec.Raw]:
    try:
        return _records.decode(body)
    except msgspec.DecodeError as error:
        raise ProviderUnavailable(f"the provider's answer is not a JSON array: {error}") from error


def sift(records: Sequence[msgspec.Raw], question: Question, after: int) -> Answer:
    """Leaves out what lies outside the question's window or past its ids; the provider can be told of neither end."""
    seen = [_see(raw, question.country, after) for raw in records]
    within = [each for each in seen if not question.ids.is_past(each.number)]
    highest = max([after, *(each.number for each in within)])
    kept = [each.item for each in within if _is_asked_for(each, question)]
    return Answer(
        fetched=tuple(item for item in kept if isinstance(item, Fetched)),
        rejects=tuple(item for item in kept if isinstance(item, Reject)),
        highest=highest,
        is_complete=len(within) < len(seen) or question.ids.is_past(highest + 1),
    )


def _is_asked_for(seen: _Seen, question: Question) -> bool:
    """A reject whose time cannot be read may belong to any window, and is kept in each that it comes in."""
    if isinstance(seen.item, Reject) and seen.updated_at is None:
        return True
    return question.holds(seen.updated_at)


def _see(raw: msgspec.Raw, country: str, after: int) -> _Seen:
    try:
        record = _record.decode(raw)
        place = record.to_place()
    except (msgspec.DecodeError, ValueError) as error:
        return _Seen(_id_of(raw), _time_of(raw), Reject(bytes(raw), str(error)))
    if record.country not in {None, country}:
        raise OutsideScope(f"asked for {country}, the provider sent {place.external_id} in {record.country}")
    if record.id <= after:
        raise OutsideScope(f"asked for ids above {after}, the provider sent {record.id}")
    item = Fetched(msgspec.structs.replace(place, country=country), bytes(raw))
    return _Seen(record.id, place.provider_updated_at, item)


def _id_of(raw: msgspec.Raw) -> int:
    """The id of a record that is otherwise not understood, so that the page after it can be asked for."""
    try:
        return _identified.decode(raw).id
    except msgspec.DecodeError:
        return 0


def _time_of(raw: msgspec.Raw) -> datetime | None:
    """Its time, so that a window does not count its neighbours' rejects."""
    try:
        return as_utc(_dated.decode(raw).updated_at)
    except msgspec.DecodeError:
        return None
