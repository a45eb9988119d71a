"""Erases what has happened to one link: its visits, all that was counted of them, its history and its events."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import msgspec

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict
from waypost.sharing.links.editing import change_link
from waypost.sharing.links.link import Link
from waypost.sharing.links.rights import author_name, is_held
from waypost.sharing.links.store import ErasedHistory, LinkStore
from waypost.sharing.reports.store import ReportStore, WantedReports
from waypost.sharing.visits.store import VisitStore

# Instead of the name of an administrator who has disabled the link: only an administrator may enable it again.
_ADMINISTRATOR = "administrator"


class ReportsOpen(Conflict):
    """The link has reports of abuse that nobody has answered: until then its history stays."""

    @classmethod
    def of(cls, link: Link) -> "ReportsOpen":
        return cls(
            f"there are open reports about {link.phrase!r}, and what happened to it may be needed to answer them;"
            " ask the people who run this site"
        )


class ErasedLink(msgspec.Struct, frozen=True, kw_only=True):
    """How much was erased. `overwritten`: no file of the store holds it any more. `spools_held`: files of this
    machine's spool, in the hands of running processes, that may hold visits of the link for some seconds more.
    """

    phrase: str
    erased_at: datetime
    visits: int
    edits: int
    events: int
    overwritten: bool
    spools_held: int


class Eraser:
    """`erase_spool` overwrites what this machine's spool has of a link, by its id; returns how many files are held."""

    def __init__(
        self, links: LinkStore, visits: VisitStore, reports: ReportStore, erase_spool: Callable[[str], int]
    ) -> None:
        self._links, self._visits, self._reports, self._erase_spool = links, visits, reports, erase_spool

    async def erase(self, link: Link, *, is_admin: bool) -> ErasedLink:
        """Erases all until now. Done again after it broke off, it ends what it began.

        Raises ReportsOpen to others than administrators while there are open reports about the link.
        """
        about = WantedReports(status="open", link_id=link.id)
        if not is_admin and await self._reports.page(about, "", 1):
            raise ReportsOpen.of(link)
        now = utc_now()
        visits = await self._visits.erase(link.id, now)
        history = await self._erase_history(link)
        return ErasedLink(
            phrase=link.phrase,
            erased_at=now,
            visits=visits.visits,
            edits=history.edits,
            events=history.events,
            overwritten=visits.overwritten and history.overwritten,
            # Last: a running process may just have left a segment.
            spools_held=await asyncio.to_thread(self._erase_spool, link.id),
        )

    async def _erase_history(self, link: Link) -> ErasedHistory:
        erased: list[ErasedHistory] = []

        async def change(now: Link) -> Link:
            return _emptied(now) if now.deleted else now

        async def keep(changed: Link, before: Link) -> None:
            held = before.disabled and await is_held(self._links, before)
            erased.append(await self._links.erase(changed, _ADMINISTRATOR if held else author_name(before)))

        await change_link(self._links, link, change, keep, deleted_too=True)
        return erased[-1]


def _emptied(link: Link) -> Link:
    """A deleted link keeps its phrase alone, so that nobody is given it again."""
    return msgspec.structs.replace(link, target="", title="", tags=(), password=None, place_id=None)
