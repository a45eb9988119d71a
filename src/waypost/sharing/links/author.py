"""Makes links: draws phrases that no link has, or takes those that were asked for."""

import asyncio
import random
from dataclasses import replace
from datetime import datetime

import msgspec

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import TerminalError, TransientError
from waypost.sharing.blocks.block import has_word, refuse_words
from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.draft import Draft, MadeLink, prepare, repeated
from waypost.sharing.links.link import AlreadyMade, Link, PhraseTaken
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.settings import SharingSettings
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.links.terms import check_password
from waypost.sharing.phrases.drawing import Drawing
from waypost.sharing.phrases.formats import join
from waypost.telemetry.metrics import LINKS_CREATED

# Only a phrase chosen by hand can collide with a drawn one, so a few draws are plenty.
DRAWS = 5
# Each drawn phrase with a blocked word is thrown away; more in a row only come where most words are blocked.
_MOST_REFUSED = 1000
_BASE_SECONDS = 0.01
_CAP_SECONDS = 1.0


class NoPhraseFree(TransientError):
    """All drawn phrases were taken; the next ones are unlikely to be."""

    def __init__(self) -> None:
        super().__init__(f"{DRAWS} phrases were drawn, and all of them are taken already; try again")


class WordsRefused(TerminalError):
    """Nearly all phrases of the language have a blocked word."""

    http_status = 503

    def __init__(self, language: str) -> None:
        super().__init__(
            f"{_MOST_REFUSED} phrases were drawn in {language!r}, and all of them have a blocked word",
            next_step="waypost block list",
        )


class Author:
    def __init__(
        self,
        links: LinkStore,
        drawing: Drawing,
        rules: TargetRules,
        settings: SharingSettings,
        blocks: LiveBlocks,
        rng: random.Random | None = None,
    ) -> None:
        self.links = links
        self._rules = rules
        self._blocks = blocks
        self.settings = settings
        self._drawing = drawing
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries, guards nothing

    @property
    def rules(self) -> TargetRules:
        """Where links may lead at this moment."""
        return replace(self._rules, blocked=self._blocks.hosts)

    def prepare(self, draft: Draft, now: datetime, *, inside: bool = False) -> Link:
        """The link without its password and a drawn phrase; `inside`: the target is a page of our own."""
        blank = prepare(draft, self.rules, self.settings, now, inside=inside)
        refuse_words(blank.phrase, self._blocks.words)
        return blank

    async def make(self, draft: Draft, by: str, *, inside: bool = False) -> MadeLink:
        """Makes the link a draft asks for. `by` names the author; `inside`: the target is a page of our own."""
        # Before any check: what was valid in the first request may not be now, such as an expiry time.
        if draft.idempotency and (before := await self.links.get(draft.link_id)):
            return repeated(draft, before)
        blank = self.prepare(draft, utc_now(), inside=inside)
        if found := await self.reusable(draft, blank):
            return MadeLink(found, "reused")
        await self.rules.look_up(blank.target)
        if draft.password is not None:
            blank = msgspec.structs.replace(blank, password=await hash_in_thread(check_password(draft.password)))
        try:
            link = await self._add(blank, by)
        except AlreadyMade as error:
            # The same request came twice at once, and the other one was quicker.
            return repeated(draft, error.link)
        LINKS_CREATED.inc()
        return MadeLink(link, "new")

    async def reusable(self, draft: Draft, blank: Link) -> Link | None:
        if not draft.may_be_reused or draft.owner is None:
            return None
        found = await self.links.to_target(blank.target, draft.owner)
        is_same = found and (found.forward_query, found.place_id) == (blank.forward_query, blank.place_id)
        return found if is_same else None

    async def with_phrase(self, blank: Link) -> Link:
        if blank.language is None:
            return blank
        for _ in range(_MOST_REFUSED):
            words = await self._drawing.draw(blank.language, blank.theme)
            if not has_word(words, self._blocks.words):
                return msgspec.structs.replace(blank, phrase=join(words, blank.format))
        raise WordsRefused(blank.language)

    async def pause(self, attempt: int) -> None:
        await asyncio.sleep(full_jitter(attempt, base=_BASE_SECONDS, cap=_CAP_SECONDS, rng=self._rng))

    async def _add(self, blank: Link, by: str) -> Link:
        for attempt in range(1, DRAWS + 1):
            link = await self.with_phrase(blank)
            try:
                await self.links.add(link, by)
            except PhraseTaken:
                if blank.language is None:
                    raise
                await self.pause(attempt)
            else:
                return link
        raise NoPhraseFree
