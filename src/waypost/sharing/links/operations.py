"""Making, showing, changing and listing links, for a person at this machine."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from waypost.access.caller import LOCAL
from waypost.kernel.clock import utc_now
from waypost.sharing.links import editing
from waypost.sharing.links.author import Author
from waypost.sharing.links.document import show_links
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.erasing import ErasedLink, Eraser
from waypost.sharing.links.everything import everything
from waypost.sharing.links.link import Changes, Link, LinkDocument, UnknownLink
from waypost.sharing.links.store import LinkStore, Position, Wanted
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.phrases.matching import is_phrase, phrase_in
from waypost.sharing.reports.store import ReportStore
from waypost.sharing.visits.document import StatisticsDocument, show_statistics
from waypost.sharing.visits.statistics import StatisticsQuestion, count_visits
from waypost.sharing.visits.store import VisitStore

_AT_A_TIME = 1000


class LinkOperations:
    """Wherever a phrase is taken, the whole link will do as well. `base_url` is how links begin."""

    def __init__(self, links: LinkStore, visits: VisitStore, base_url: str) -> None:
        self._links = links
        self._visits = visits
        self._base_url = base_url

    async def create(self, author: Author, draft: Draft) -> LinkDocument:
        made = await author.make(draft, LOCAL.name)
        return await self._show(made.link)

    async def show(self, phrase: str) -> LinkDocument:
        return await self._show(await self._find(phrase))

    async def edit(self, rules: TargetRules, phrase: str, changes: Changes) -> LinkDocument:
        link = await self._find(phrase)
        return await self._show(await editing.edit(self._links, rules, link, changes, LOCAL.name))

    async def delete(self, phrase: str) -> LinkDocument:
        link = await self._find(phrase)
        return await self._show(await editing.delete(self._links, link, LOCAL.name))

    async def erase(self, eraser: Eraser, phrase: str) -> ErasedLink:
        """Erases what happened to a link, also a deleted one."""
        return await eraser.erase(await self._find(phrase, deleted_too=True), is_admin=True)

    async def statistics(self, phrase: str, **asked: Any) -> StatisticsDocument:
        """`asked` is what `StatisticsQuestion` takes, except what comes from the link and the clock."""
        link = await self._find(phrase)
        whole = StatisticsQuestion(created_at=link.created_at, now=utc_now(), **asked)
        return show_statistics(link.phrase, whole, await count_visits(self._visits, link.id, whole))

    async def everything(self, phrase: str, reports: ReportStore) -> AsyncIterator[bytes]:
        """Yields all that is kept about a link, also a deleted one, as JSON lines."""
        link = await self._find(phrase, deleted_too=True)
        async for lines in everything(link, self._base_url, self._links, self._visits, reports):
            yield lines

    async def list(self, wanted: Wanted, limit: int) -> Sequence[LinkDocument]:
        found: list[LinkDocument] = []
        async with aclosing(self.pages(wanted)) as pages:
            async for page in pages:
                found += page[: limit - len(found)]
                if len(found) == limit:
                    break
        return found

    async def pages(self, wanted: Wanted) -> AsyncGenerator[Sequence[LinkDocument], None]:
        """Yields all wanted links, newest first, a batch at a time."""
        after: Position | None = None
        while True:
            page = await self._links.page(wanted, after, _AT_A_TIME)
            yield await show_links(self._visits, page.links, self._base_url)
            if page.next is None:
                return
            after = page.next

    async def _find(self, phrase: str, *, deleted_too: bool = False) -> Link:
        words = phrase_in(phrase)
        link = await self._links.find(words) if is_phrase(words) else None
        if link is None or (link.deleted and not deleted_too):
            raise UnknownLink(f"no link has the phrase {words[:80]!r}", next_step="waypost link create https://…")
        return link

    async def _show(self, link: Link) -> LinkDocument:
        [document] = await show_links(self._visits, [link], self._base_url)
        return document
