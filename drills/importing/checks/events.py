"""Who replays the events, by version, has exactly the places of the store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from drills.importing.provider import Absence
from drills.importing.verdicts import Verdict
from drills.importing.versions import Known
from waypost.places.events import PLACES_CHANGED, PlacesChanged
from waypost.scaling.event_outbox import Event

_EXAMPLES = 5
_NO_ID = 1 << 62
What = Literal["added", "changed", "removed"]
_changes = msgspec.json.Decoder(PlacesChanged)


def check_events(events: Sequence[Event], known: Mapping[str, Known]) -> Verdict:
    """Each version of a place has one event; a place is added when it is not there, and else changed or removed."""
    told = _by_place(event for event in events if event.name == PLACES_CHANGED)
    wrong = [
        f"{external_id}: told {sorted(told.get(external_id, []))}, the store has {known.get(external_id)}"
        for external_id in told.keys() | known.keys()
        if not _leads_to(told.get(external_id, []), known.get(external_id))
    ]
    changes = sum(map(len, told.values()))
    alive = sum(not each.is_removed for each in known.values())
    return Verdict(
        "replaying the events gives the places of the store",
        not wrong and bool(told),
        f"{len(events):,} events tell of {changes:,} changes to {len(told):,} places, {alive:,} of which are left;"
        f" {len(wrong)} places differ",
        {"events": len(events), "changes": changes, "places": alive, "wrong": len(wrong)},
        wrong[:_EXAMPLES],
    )


def check_removals(events: Sequence[Event], absences: Sequence[Absence]) -> Verdict:
    """No provider brings a place back that it had deleted: what was removed and is there again was never gone.

    But a provider that was away begins again to count after the highest id that it has.
    """
    told = _by_place(event for event in events if event.name == PLACES_CHANGED)
    reused = min((absence.highest_id for absence in absences), default=_NO_ID)
    removed = wrong = 0
    examples: list[str] = []
    for external_id, changes in told.items():
        kinds = [what for _, what in sorted(changes)]
        removed += "removed" in kinds
        source, _, number = external_id.partition(":")
        if kinds.count("added") > 1 and not (source == "ocm" and int(number) > reused):
            wrong += 1
            examples.append(f"{external_id}: {', '.join(kinds)}")
    return Verdict(
        "only what is gone is removed",
        not wrong and removed > 0,
        f"{removed:,} places were removed, {wrong} of them although they were still there",
        {"removed": removed, "wrong": wrong},
        examples[:_EXAMPLES],
    )


def _by_place(events: Iterable[Event]) -> Mapping[str, list[tuple[int, What]]]:
    told: defaultdict[str, list[tuple[int, What]]] = defaultdict(list)
    for event in events:
        changes = _changes.decode(event.data)
        kinds: tuple[What, ...] = ("added", "changed", "removed")
        for what, places in zip(kinds, (changes.added, changes.changed, changes.removed), strict=True):
            for place in places:
                told[place.external_id].append((place.version, what))
    return told


def _leads_to(told: Sequence[tuple[int, What]], known: Known | None) -> bool:
    is_there = False
    for expected, (version, what) in enumerate(sorted(told), 1):
        if version != expected or (what == "added") == is_there:
            return False
        is_there = what != "removed"
    return known is not None and known.version == len(told) and known.is_removed != is_there
