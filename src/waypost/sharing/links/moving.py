"""Moves links here from a file: each keeps its phrase and its date, or the report says why it cannot."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from waypost.access.caller import LOCAL
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly, TerminalError, WaypostError
from waypost.sharing.links.author import DRAWS, Author, NoPhraseFree
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.importing import ImportLine
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.targets import place_page
from waypost.sharing.links.terms import check_password
from waypost.sharing.phrases.matching import fold_phrase, looks
from waypost.sharing.phrases.vocabulary import Vocabularies

_AT_A_TIME = 1000


class RefusedLine(msgspec.Struct, frozen=True):
    """A line that did not become a link."""

    line: int
    phrase: str | None
    slug: str
    message: str
    parameter: str | None = None


class LinkImportReport(msgspec.Struct):
    """`there` counts links that exist already with the same phrase and target."""

    read: int = 0
    made: int = 0
    there: int = 0
    refused: list[RefusedLine] = msgspec.field(default_factory=list)


async def import_links(
    author: Author,
    vocabularies: Vocabularies,
    lines: Iterable[ImportLine],
    on_progress: Callable[[int], None],
    *,
    dry_run: bool,
) -> LinkImportReport:
    """Imports the lines as links; `on_progress` is called with the number of lines read so far."""
    mover = Mover(author, vocabularies, LOCAL.name, utc_now(), dry_run=dry_run)
    await mover.move(_told(lines, on_progress))
    return mover.report


class Mover:
    """Makes links of lines; with `dry_run` everything is tried and nothing is kept."""

    def __init__(self, author: Author, vocabularies: Vocabularies, by: str, now: datetime, *, dry_run: bool) -> None:
        self._author = author
        self._vocabularies = vocabularies
        self._by = by
        self._now = now
        self._dry_run = dry_run
        self._seen: dict[str, Link] = {}
        self.report = LinkImportReport()

    async def move(self, lines: Iterable[ImportLine]) -> None:
        """Moves the lines in batches, one transaction each."""
        waiting = iter(lines)
        while batch := list(islice(waiting, _AT_A_TIME)):
            self.report.read += len(batch)
            links = [(line.number, link) for line in batch if (link := await self._prepare(line))]
            await (self._try(links) if self._dry_run else self._keep(links))

    async def _prepare(self, line: ImportLine) -> Link | None:
        draft = line.draft
        if draft is None:
            self._refuse(line.number, line.phrase, line.error or NoPhraseFree())
            return None
        try:
            # The share link of a place leads to the place's page here, as it did on the site it comes from.
            inside = draft.place_id is not None and draft.target == place_page(draft.place_id)
            link = self._author.prepare(draft, self._now, inside=inside)
            await self._author.rules.look_up(link.target)
            link = await self._with_password(self._with_language(link, draft), draft)
        except TerminalError as error:
            self._refuse(line.number, draft.phrase, error)
            return None
        return msgspec.structs.replace(link, created_at=min(line.created_at or self._now, self._now))

    def _with_language(self, link: Link, draft: Draft) -> Link:
        """A phrase that was drawn elsewhere keeps its language and theme, as far as they are known here."""
        words = self._vocabularies
        if link.language is not None:
            # A phrase will be drawn: found now, an unknown language fails this link alone.
            words.vocabulary(link.language, link.theme)
            return link
        language = draft.language if draft.language in words.languages else None
        theme = draft.theme if language and draft.theme in words.themes(language) else None
        return msgspec.structs.replace(link, language=language, theme=theme)

    async def _with_password(self, link: Link, draft: Draft) -> Link:
        if draft.password is None:
            return link
        password = check_password(draft.password)
        return link if self._dry_run else msgspec.structs.replace(link, password=await hash_in_thread(password))

    async def _keep(self, links: Sequence[tuple[int, Link]]) -> None:
        for _ in range(DRAWS):
            if not links:
                return
            named = [link if link.phrase else await self._author.with_phrase(link) for _, link in links]
            obstacles = await self._author.links.add_many(named, self._by, atomic=False)
            again = []
            for (number, blank), link, obstacle in zip(links, named, obstacles, strict=True):
                if obstacle is not None and not blank.phrase:
                    again.append((number, blank))
                else:
                    self._settle(number, link, obstacle)
            links = again
        for number, _ in links:
            self._refuse(number, None, NoPhraseFree())

    async def _try(self, links: Sequence[tuple[int, Link]]) -> None:
        """Adds all links and one that cannot be added: none is kept, and the store tells what is in the way of each."""
        chosen = [(number, link) for number, link in links if link.phrase]
        self.report.made += len(links) - len(chosen)
        if not chosen:
            return
        added = [link for _, link in chosen]
        impossible = msgspec.structs.replace(added[0], id=f"{added[0].id}-again")
        obstacles = await self._author.links.add_many([*added, impossible], self._by, atomic=True)
        for (number, link), obstacle in zip(chosen, obstacles, strict=False):
            # A link that an earlier batch would have kept is in the way as well.
            self._settle(number, link, obstacle or self._seen.get(looks(link.phrase)))
            self._seen.setdefault(looks(link.phrase), link)

    def _settle(self, number: int, link: Link, obstacle: Link | None) -> None:
        if obstacle is None:
            self.report.made += 1
        elif _is_same(link, obstacle):
            self.report.there += 1
        else:
            self._refuse(number, link.phrase, PhraseTaken.of(link))

    def _refuse(self, number: int, phrase: str | None, error: WaypostError) -> None:
        parameter = error.parameter if isinstance(error, AskedWrongly) else None
        self.report.refused.append(RefusedLine(number, phrase, error.slug, str(error), parameter))


def _told(lines: Iterable[ImportLine], on_progress: Callable[[int], None]) -> Iterator[ImportLine]:
    for count, line in enumerate(lines, 1):
        on_progress(count)
        yield line


def _is_same(link: Link, other: Link) -> bool:
    is_alike = fold_phrase(link.phrase) == fold_phrase(other.phrase) and link.target == other.target
    return is_alike and not other.deleted
