"""Changes links, whatever others do to them at the same moment."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from waypost.access.caller import LOCAL
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import utc_now
from waypost.sharing.links.link import Link, LinkChanged, UnknownLink
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.rights import DisabledByAdmin, is_author, is_held
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.links.terms import (
    check_expires_at,
    check_max_visits,
    check_password,
    check_place_id,
    check_tags,
    check_title,
)

# Each time at least one of those who change a link at the same moment is done.
_TRIES = 20
_BASE_SECONDS = 0.005
_CAP_SECONDS = 0.1
_rng = random.Random()  # noqa: S311 - spreads retries, guards nothing


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be another way. What is unset stays as it is; None takes it away."""

    target: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    expires_at: datetime | UnsetType | None = UNSET
    max_visits: int | UnsetType | None = UNSET
    password: str | UnsetType | None = UNSET
    forward_query: bool | UnsetType = UNSET
    place_id: str | UnsetType | None = UNSET
    disabled: bool | UnsetType = UNSET


async def edit(
    links: LinkStore,
    rules: TargetRules,
    link: Link,
    changes: Changes,
    by: str,
    *,
    is_admin: bool = False,
    tries: int = _TRIES,
) -> Link:
    """The link as it is then. Raises UnknownLink when it is deleted, LinkChanged when others change it all the time.

    With a single try it is changed as it was given, or not at all. What an administrator has disabled (`is_admin`, or
    this machine) is enabled by one alone: DisabledByAdmin.
    """
    fields = _checked(rules, link, changes)
    if isinstance(changes.password, str):
        fields["password"] = await hash_in_thread(check_password(changes.password))
    may_enable = is_admin or by == LOCAL.name
    # Who disables what its author has disabled means it to stay so, and that has to stand in the history.
    insists = may_enable and changes.disabled is True and not is_author(link, by)

    async def change(now: Link) -> Link | None:
        changed = msgspec.structs.replace(now, **fields)
        if now.disabled and not changed.disabled and not may_enable and await is_held(links, now, by):
            raise DisabledByAdmin.of(now)
        is_news = changed != now or (insists and not await is_held(links, now))
        return changed if is_news else None

    return await _change(links, link, change, by, tries)


async def delete(links: LinkStore, link: Link, by: str, *, tries: int = _TRIES) -> Link:
    """Its phrase leads nowhere from now on, and is never given to another link."""

    async def change(now: Link) -> Link:
        return msgspec.structs.replace(now, deleted=True)

    return await _change(links, link, change, by, tries)


def _checked(rules: TargetRules, link: Link, changes: Changes) -> dict[str, Any]:
    wanted = {name: value for name, value in msgspec.structs.asdict(changes).items() if value is not UNSET}
    checks: dict[str, Callable[[Any], Any]] = {
        # One that stays was checked when it came, or is a page of our own.
        "target": lambda target: target if target == link.target else rules.check(target),
        "title": check_title,
        "tags": check_tags,
        "expires_at": lambda moment: moment if moment == link.expires_at else check_expires_at(moment, utc_now()),
        "max_visits": check_max_visits,
        "place_id": check_place_id,
    }
    return {name: checks[name](value) if name in checks else value for name, value in wanted.items()}


async def _change(
    links: LinkStore, link: Link, change: Callable[[Link], Awaitable[Link | None]], by: str, tries: int
) -> Link:
    """Applied again to what others have made of the link, if they were quicker; None leaves it as it is."""
    now: Link | None = link
    for attempt in range(1, tries + 1):
        if now is None or now.deleted:
            raise UnknownLink(f"no link has the phrase {link.phrase!r} any more")
        changed = await change(now)
        if changed is None:
            return now
        changed = msgspec.structs.replace(changed, version=now.version + 1, updated_at=max(utc_now(), now.updated_at))
        try:
            await links.edit(changed, by)
        except LinkChanged:
            await asyncio.sleep(full_jitter(attempt, base=_BASE_SECONDS, cap=_CAP_SECONDS, rng=_rng))
            now = await links.get(link.id)
        else:
            return changed
    raise LinkChanged.of(link)
