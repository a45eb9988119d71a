"""What was promised about visits, held against what clients wrote down and what the store has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from drills.importing.verdicts import Verdict
from drills.visits.book import Book
from drills.visits.mishaps import Mischief
from drills.visits.view import Counts

_EXAMPLES = 5


def check_none_lost(book: Book, counts: Mapping[str, Counts]) -> Verdict:
    missing = {link: book.answered[link] - each.all for link, each in counts.items() if each.all < book.answered[link]}
    answered, counted = book.answered.total(), sum(each.all for each in counts.values())
    return Verdict(
        "every answered redirect is counted",
        not missing and counted >= answered,
        f"{answered:,} answered and {counted:,} counted, on {len(counts)} links; {sum(missing.values())} missing",
        {"answered": answered, "counted": counted, "missing": sum(missing.values())},
        [f"link {link}: {count} of {book.answered[link]} are missing" for link, count in missing.items()][:_EXAMPLES],
    )


def check_none_added(book: Book, counts: Mapping[str, Counts], kills: int) -> Verdict:
    beyond = {
        link: each.all - book.answered[link] - book.in_flight[link]
        for link, each in counts.items()
        if each.all > book.answered[link] + book.in_flight[link]
    }
    more = sum(each.all for each in counts.values()) - book.answered.total()
    in_flight = book.in_flight.total()
    return Verdict(
        "nothing is counted but what was answered or in flight at a kill",
        not beyond and more <= in_flight,
        f"{more} more than answered; {in_flight} in flight at {kills} kills",
        {"more": more, "in_flight": in_flight, "kills": kills},
        [f"link {link}: {count} too many" for link, count in beyond.items()][:_EXAMPLES],
    )


def check_ids(events: Mapping[str, Counter[str]], counts: Mapping[str, Counts]) -> Verdict:
    ids: Counter[str] = Counter()
    for each in events.values():
        ids.update(each)
    twice = [name for name, times in ids.items() if times > 1]
    unequal = [link for link, each in counts.items() if events[link].total() != each.all]
    return Verdict(
        "each visit is there once, and counted as often as it is there",
        not twice and not unequal,
        f"{ids.total():,} visits, {len(ids):,} different ids; {len(unequal)} links are counted otherwise",
        {"visits": ids.total(), "ids": len(ids)},
        [*(f"visit {name}" for name in twice[:_EXAMPLES]), *(f"link {name}" for name in unequal[:_EXAMPLES])],
    )


def check_same(promise: str, found: str, before: Mapping[str, Counts], after: Mapping[str, Counts]) -> Verdict:
    changed = [link for link, each in before.items() if after[link] != each]
    return Verdict(
        promise,
        not changed,
        f"{found}; {len(changed)} of {len(before)} links changed",
        {"changed": len(changed)},
        [f"link {link}: {before[link]} became {after[link]}"[:600] for link in changed[:_EXAMPLES]],
    )


def check_left(left: Sequence[int], remaining: Sequence[Path]) -> Verdict:
    """`left` are the sizes of what dead servers had in the spool at the end."""
    return Verdict(
        "fresh servers ship what dead ones left",
        bool(left) and not remaining,
        f"{len(left)} segments of {sum(left):,} bytes were left, {len(remaining)} are still there",
        {"segments": len(left), "bytes": sum(left), "remaining": len(remaining)},
        [path.name for path in remaining[:_EXAMPLES]],
    )


def check_answers(book: Book) -> Verdict:
    return Verdict(
        "every answer is the redirect that was due, and only a kill leaves a request without one",
        not book.wrong,
        f"{len(book.wrong)} were not",
        {"wrong": len(book.wrong)},
        book.wrong[:_EXAMPLES],
    )


def check_mishaps(mischief: Mischief) -> Verdict:
    """What was tried."""
    return Verdict(
        "servers were killed and stopped, or nothing was tried",
        mischief.has_tried_all,
        f"{mischief.kills} killed, {mischief.stops} stopped",
        {"kills": mischief.kills, "stops": mischief.stops},
    )
