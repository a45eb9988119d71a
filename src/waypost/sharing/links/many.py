"""Makes many links in one transaction, each with an answer of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

import msgspec

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, TerminalError, WaypostError
from waypost.sharing.links.author import DRAWS, Author, NoPhraseFree
from waypost.sharing.links.draft import Draft, MadeLink, prepare, repeated
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.terms import LinkInvalid, check_password
from waypost.telemetry.metrics import LINKS_CREATED

MOST_AT_ONCE = 10_000
# Each takes a core for a moment.
MOST_PASSWORDS = 100
# A millisecond or two.
_AT_A_STRETCH = 25

# What was wanted, or why that could not be understood.
Wish = Draft | WaypostError
Outcome = MadeLink | WaypostError
Thing = TypeVar("Thing")


async def with_pauses(things: Iterable[Thing]) -> AsyncIterator[Thing]:
    """One after the other; now and then others get their turn, so that no redirect waits for ten thousand links."""
    for number, thing in enumerate(things, 1):
        yield thing
        if number % _AT_A_STRETCH == 0:
            await asyncio.sleep(0)


class NotKept(Conflict):
    """Nothing is wrong with this link; but all were to be kept, or none, and another was refused."""

    slug = "not-kept"

    def __init__(self) -> None:
        super().__init__("this link was not made, because another one in the same request was refused")


async def make_many(
    author: Author, wishes: Sequence[Wish], by: str, *, atomic: bool, idempotency: str | None = None
) -> Sequence[Outcome]:
    """For each wish its link, or why there is none. With `atomic` all are made, or none is, and all are told why.

    An Idempotency-Key is for all of them together: each gets its own from its place among them.
    """
    if idempotency is not None:
        wishes = [
            msgspec.structs.replace(wish, idempotency=f"{idempotency}\n{number}") if isinstance(wish, Draft) else wish
            for number, wish in enumerate(wishes)
        ]
    return await _Batch(author, wishes, by, atomic=atomic).make()


class _Batch:
    def __init__(self, author: Author, wishes: Sequence[Wish], by: str, *, atomic: bool) -> None:
        self._author = author
        self._drafts = {number: wish for number, wish in enumerate(wishes) if isinstance(wish, Draft)}
        self._by = by
        self._atomic = atomic
        self._settled: dict[int, Outcome] = {
            number: wish for number, wish in enumerate(wishes) if isinstance(wish, WaypostError)
        }
        # Whether all were to be kept, or none, and one was refused.
        self._is_lost = atomic and bool(self._settled)
        # Links that are still to be kept; one without a phrase has none drawn yet.
        self._waiting: dict[int, Link] = {}
        # Those that are to get the link of an earlier one of the batch.
        self._like: dict[int, int] = {}

    async def make(self) -> Sequence[Outcome]:
        count = len(self._drafts) + len(self._settled)
        await self._prepare()
        for attempt in range(1, DRAWS + 1):
            await self._draw()
            await self._add()
            if not self._waiting or self._is_lost:
                break
            await self._author.pause(attempt)
        why = NotKept() if self._is_lost else NoPhraseFree()
        settled = dict.fromkeys(self._waiting, why) | self._settled
        LINKS_CREATED.inc(sum(isinstance(each, MadeLink) and each.how == "new" for each in settled.values()))
        return [settled[number] if number in settled else _like(settled[self._like[number]]) for number in range(count)]

    async def _prepare(self) -> None:
        passwords: dict[str, str] = {}
        firsts: dict[tuple[object, ...], int] = {}
        now = utc_now()
        async for number, draft in with_pauses(self._drafts.items()):
            try:
                blank = prepare(draft, self._author.rules, self._author.settings, now, inside=False)
                if draft.password is not None:
                    blank = msgspec.structs.replace(blank, password=await _hash_once(draft.password, passwords))
                same = blank.target, blank.owner, blank.forward_query, blank.place_id
                if draft.may_be_reused and (first := firsts.setdefault(same, number)) != number:
                    self._like[number] = first
                elif found := await self._author.reusable(draft, blank):
                    self._settle(number, MadeLink(found, "reused"))
                else:
                    self._waiting[number] = blank
            except TerminalError as error:
                self._settle(number, await self._made_before(draft) or error)

    async def _made_before(self, draft: Draft) -> Outcome | None:
        """What was right then may be out of bounds by now, such as a time to end."""
        before = await self._author.links.get(draft.link_id) if draft.idempotency else None
        return _repeated(draft, before) if before else None

    async def _draw(self) -> None:
        """A phrase for each that has none. Once nothing will be kept, one of a kind tells whether there are any."""
        drawn: set[tuple[str | None, str | None]] = set()
        async for number, blank in with_pauses(list(self._waiting.items())):
            kind = blank.language, blank.theme
            if blank.phrase or (self._is_lost and kind in drawn):
                continue
            try:
                self._waiting[number] = await self._author.with_phrase(blank)
                drawn.add(kind)
            except TerminalError as error:
                self._settle(number, error)

    async def _add(self) -> None:
        links = self._in_doubt() if self._is_lost else self._waiting.copy()
        added = list(links.values())
        if self._is_lost:
            # One that cannot be added keeps the store from keeping any, and each has met what is in its way.
            added += [msgspec.structs.replace(link, id=f"{link.id}-again") for link in added[:1]]
        if not added:
            return
        obstacles = await self._author.links.add_many(added, self._by, atomic=self._atomic)
        are_kept = not self._atomic or not any(obstacles)
        async for (number, link), obstacle in with_pauses(zip(links.items(), obstacles, strict=False)):
            if obstacle is None and are_kept:
                self._settle(number, MadeLink(link, "new"))
            elif obstacle is not None and obstacle.id == link.id:
                self._settle(number, _repeated(self._drafts[number], obstacle))
            elif obstacle is not None and link.language is None:
                self._settle(number, PhraseTaken.of(link))
            elif obstacle is not None:
                self._waiting[number] = msgspec.structs.replace(link, phrase="")

    def _in_doubt(self) -> dict[int, Link]:
        """Those that may yet be refused for their phrase or their Idempotency-Key; an id stands in for a phrase."""
        return {
            number: msgspec.structs.replace(link, phrase=link.phrase or link.id)
            for number, link in self._waiting.items()
            if link.language is None or self._drafts[number].idempotency
        }

    def _settle(self, number: int, outcome: Outcome) -> None:
        self._settled[number] = outcome
        self._waiting.pop(number, None)
        self._is_lost = self._is_lost or (self._atomic and isinstance(outcome, WaypostError))


async def _hash_once(password: str, hashed: dict[str, str]) -> str:
    password = check_password(password)
    if password not in hashed:
        if len(hashed) >= MOST_PASSWORDS:
            raise LinkInvalid(f"one request has at most {MOST_PASSWORDS} different passwords", parameter="password")
        hashed[password] = await hash_in_thread(password)
    return hashed[password]


def _repeated(draft: Draft, link: Link) -> Outcome:
    try:
        return repeated(draft, link)
    except TerminalError as error:
        return error


def _like(outcome: Outcome) -> Outcome:
    return MadeLink(outcome.link, "reused") if isinstance(outcome, MadeLink) else outcome
