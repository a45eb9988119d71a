"""Changes links, even while others change them too."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET

from waypost.access.caller import LOCAL
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import utc_now
from waypost.sharing.links.link import Changes, Link, LinkChanged, UnknownLink, with_defaults
from waypost.sharing.links.passwords import hash_in_thread
from waypost.sharing.links.rights import DisabledByAdmin, author_name, is_held
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.links.terms import check_password, check_terms

# In each round at least one of the concurrent edits succeeds.
_TRIES = 20
_BASE_SECONDS = 0.005
_CAP_SECONDS = 0.1
_rng = random.Random()  # noqa: S311 - spreads retries, guards nothing


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
    """Returns the changed link. Raises UnknownLink when it is deleted, LinkChanged when others keep changing it.

    With a single try the link is changed as it was given, or not at all. Only an administrator (`is_admin`, or this
    machine) may enable what an administrator has disabled; others get DisabledByAdmin.
    """
    fields = _checked(rules, link, changes)
    if fields.get("target", link.target) != link.target:
        await rules.look_up(fields["target"])
    if isinstance(changes.password, str):
        fields["password"] = await hash_in_thread(check_password(changes.password))
    may_enable = is_admin or by == LOCAL.name
    # An administrator who disables what its author has disabled means it to stay so; the history must show that.
    insists = may_enable and changes.disabled is True and by != author_name(link)

    async def change(now: Link) -> Link | None:
        changed = msgspec.structs.replace(now, **fields)
        if now.disabled and not changed.disabled and not may_enable and await is_held(links, now, by):
            raise DisabledByAdmin.of(now)
        is_news = changed != now or (insists and not await is_held(links, now))
        return changed if is_news else None

    return await change_link(links, link, change, lambda changed, _: links.edit(changed, by), tries=tries)


async def delete(links: LinkStore, link: Link, by: str, *, tries: int = _TRIES) -> Link:
    """Deletes a link: its phrase leads nowhere from now on, and is never given to another link."""

    async def change(now: Link) -> Link:
        return msgspec.structs.replace(now, deleted=True)

    return await change_link(links, link, change, lambda changed, _: links.edit(changed, by), tries=tries)


def _checked(rules: TargetRules, link: Link, changes: Changes) -> dict[str, Any]:
    said = {name: value for name, value in msgspec.structs.asdict(changes).items() if value is not UNSET}
    wanted = with_defaults(said)
    # Unchanged values were checked when they came, and an unchanged target may be a page of our own.
    news = {name: value for name, value in wanted.items() if value != getattr(link, name)}
    if "target" in news:
        news["target"] = rules.check(news["target"])
    return wanted | check_terms(news, utc_now())


async def change_link(
    links: LinkStore,
    link: Link,
    change: Callable[[Link], Awaitable[Link | None]],
    keep: Callable[[Link, Link], Awaitable[None]],
    *,
    tries: int = _TRIES,
    deleted_too: bool = False,
) -> Link:
    """Applies `change`, again on the newer link when others were quicker; if it returns None, nothing is changed.

    `keep` writes the changed link, which was the second one before.
    """
    now: Link | None = link
    for attempt in range(1, tries + 1):
        if now is None or (now.deleted and not deleted_too):
            raise UnknownLink(f"no link has the phrase {link.phrase!r} any more")
        changed = await change(now)
        if changed is None:
            return now
        changed = msgspec.structs.replace(changed, version=now.version + 1, updated_at=max(utc_now(), now.updated_at))
        try:
            await keep(changed, now)
        except LinkChanged:
            await asyncio.sleep(full_jitter(attempt, base=_BASE_SECONDS, cap=_CAP_SECONDS, rng=_rng))
            now = await links.get(link.id)
        else:
            return changed
    raise LinkChanged.of(link)
