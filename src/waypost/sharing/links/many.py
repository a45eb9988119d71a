"""Makes many links in one transaction, each with an answer of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

import msgspec

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, TerminalError, WaypostError
from waypost.sharing.links.author import DRAWS, Author, NoPhraseFree
from waypost.sharing.links.draft import Draft, MadeLink, repeated
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.terms import LinkInvalid, check_password
from waypost.telemetry.metrics import LINKS_CREATED

MOST_AT_ONCE = 10_000
# Hashing each one takes a core for a moment.
MOST_PASSWORDS = 100
# Preparing this many links takes a millisecond or two.
_AT_A_STRETCH = 25

# A link to make, or why the request for it could not be understood.
Wish = Draft | WaypostError
Outcome = MadeLink | WaypostError
Thing = TypeVar("Thing")


async def with_pauses(things: Iterable[Thing]) -> AsyncIterator[Thing]:
    """Yields all things, and lets other tasks run now and then, so that no redirect waits for ten thousand links."""
    for number, thing in enumerate(things, 1):
        yield thing
        if number % _AT_A_STRETCH == 0:
            await asyncio.sleep(0)


class NotKept(Conflict):
    """Nothing is wrong with this link, but it was part of an all-or-nothing request in which another was refused."""

    def __init__(self) -> None:
        super().__init__("this link was not made, because another one in the same request was refused")


async def make_many(
    author: Author, wishes: Sequence[Wish], by: str, *, atomic: bool, idempotency: str | None = None
) -> Sequence[Outcome]:
    """Returns for each wish its link, or why there is none. With `atomic`, either all are made or none.

    An Idempotency-Key is for the whole request: each wish gets its own key from its position.
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
        # True once a link of an all-or-nothing batch was refused.
        self._is_lost = atomic and bool(self._settled)
        # Links still to be kept; an empty phrase is yet to be drawn.
        self._waiting: dict[int, Link] = {}
        # Wishes that get the link of an earlier wish in the batch.
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
                blank = self._author.prepare(draft, now)
                await self._author.rules.look_up(blank.target)
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
        """The outcome of the same request before; what was valid then may not be now, such as an expiry time."""
        before = await self._author.links.get(draft.link_id) if draft.idempotency else None
        return _repeated(draft, before) if before else None

    async def _draw(self) -> None:
        """Draws a phrase for each link without one.

        Once nothing will be kept, one draw per language and theme shows whether phrases are left.
        """
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
            # A link that cannot be added makes the store keep none, yet report what stands in the way of each.
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
        """Links that may yet be refused for their phrase or Idempotency-Key; the id stands in for a missing phrase."""
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
