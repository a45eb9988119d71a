"""Makes many links in one transaction, each with an answer of its own."""

from collections.abc import Sequence

import msgspec

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, TerminalError, WaypostError
from waypost.sharing.links.author import DRAWS, Author, NoPhraseFree
from waypost.sharing.links.draft import Draft, Made, prepare, repeated
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.terms import LinkInvalid, check_password
from waypost.telemetry.metrics import LINKS_CREATED

MOST_AT_ONCE = 10_000
# Each takes a core for a moment.
MOST_PASSWORDS = 100

Outcome = Made | WaypostError


class NotKept(Conflict):
    """Nothing is wrong with this link; but all were to be kept, or none, and another was refused."""

    slug = "not-kept"

    def __init__(self) -> None:
        super().__init__("this link was not made, because another one in the same request was refused")


async def make_many(
    author: Author, drafts: Sequence[Draft], by: str, *, atomic: bool, idempotency: str | None = None
) -> Sequence[Outcome]:
    """For each draft its link, or why there is none. With `atomic` all are made, or none is.

    An Idempotency-Key is for all of them together: each gets its own from its place among them.
    """
    if idempotency is not None:
        drafts = [
            msgspec.structs.replace(draft, idempotency=f"{idempotency}\n{number}")
            for number, draft in enumerate(drafts)
        ]
    return await _Batch(author, drafts, by, atomic=atomic).make()


class _Batch:
    def __init__(self, author: Author, drafts: Sequence[Draft], by: str, *, atomic: bool) -> None:
        self._author = author
        self._drafts = drafts
        self._by = by
        self._atomic = atomic
        self._settled: dict[int, Outcome] = {}
        # Links that are still to be kept; one without a phrase has none drawn yet.
        self._waiting: dict[int, Link] = {}
        # Those that are to get the link of an earlier one of the batch.
        self._like: dict[int, int] = {}

    async def make(self) -> Sequence[Outcome]:
        await self._prepare()
        for attempt in range(1, DRAWS + 1):
            if not self._waiting or self._is_lost:
                break
            await self._add()
            if self._waiting and not self._is_lost:
                await self._author.pause(attempt)
        why = NotKept() if self._is_lost else NoPhraseFree()
        settled = dict.fromkeys(self._waiting, why) | self._settled
        LINKS_CREATED.inc(sum(isinstance(each, Made) and each.how == "new" for each in settled.values()))
        return [settled[number] if number in settled else _like(settled[self._like[number]]) for number in self._order]

    @property
    def _order(self) -> range:
        return range(len(self._drafts))

    @property
    def _is_lost(self) -> bool:
        return self._atomic and any(isinstance(each, WaypostError) for each in self._settled.values())

    async def _prepare(self) -> None:
        passwords: dict[str, str] = {}
        firsts: dict[tuple[object, ...], int] = {}
        now = utc_now()
        for number, draft in enumerate(self._drafts):
            try:
                blank = prepare(draft, self._author.rules, self._author.settings, now, inside=False)
                if draft.password is not None:
                    blank = msgspec.structs.replace(blank, password=await _hash_once(draft.password, passwords))
                same = blank.target, blank.owner, blank.forward_query, blank.place_id
                if draft.may_be_reused and (first := firsts.setdefault(same, number)) != number:
                    self._like[number] = first
                elif found := await self._author.reusable(draft, blank):
                    self._settled[number] = Made(found, "reused")
                else:
                    self._waiting[number] = blank
            except TerminalError as error:
                self._settled[number] = await self._made_before(draft) or error

    async def _made_before(self, draft: Draft) -> Outcome | None:
        """What was right then may be out of bounds by now, such as a time to end."""
        before = await self._author.links.get(draft.link_id) if draft.idempotency else None
        return _repeated(draft, before) if before else None

    async def _add(self) -> None:
        await self._draw()
        if self._is_lost:
            return
        numbers, links = list(self._waiting), list(self._waiting.values())
        obstacles = await self._author.links.add_many(links, self._by, atomic=self._atomic)
        are_kept = not self._atomic or not any(obstacles)
        for number, link, obstacle in zip(numbers, links, obstacles, strict=True):
            if obstacle is None and are_kept:
                self._settle(number, Made(link, "new"))
            elif obstacle is not None and obstacle.id == link.id:
                self._settle(number, _repeated(self._drafts[number], obstacle))
            elif obstacle is not None and link.language is None:
                self._settle(number, PhraseTaken.of(link))
            elif obstacle is not None:
                self._waiting[number] = msgspec.structs.replace(link, phrase="")

    async def _draw(self) -> None:
        for number, blank in list(self._waiting.items()):
            if not blank.phrase:
                try:
                    self._waiting[number] = await self._author.with_phrase(blank)
                except TerminalError as error:
                    self._settle(number, error)

    def _settle(self, number: int, outcome: Outcome) -> None:
        self._settled[number] = outcome
        del self._waiting[number]


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
    return Made(outcome.link, "reused") if isinstance(outcome, Made) else outcome
