"""All open connections of a server: how many there may be, and which are closed to make room.

What waits for its client may be closed at any time, as HTTP allows, and what has waited the longest goes first. So new
connections are always let in. What we work on is never closed for room; there is a bound on how much that is.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain
from typing import Literal, Protocol, Self

from waypost.telemetry.metrics import HTTP_CONNECTIONS, HTTP_CONNECTIONS_CLOSED
from waypost.web.http.proxies import Proxies, client_network
from waypost.web.settings import WebSettings

# At each connection, about.
SECONDS_BETWEEN_LOOKS = 1.0
# Room is made for several at once, because finding those that have waited the longest means looking at all.
_SHARE_CLOSED = 100

Reason = Literal["silent", "slow-head", "slow-body", "idle", "unread", "room", "client-room", "request-room"]

# Whether it was ever used, since when it waits for its client, and how often it was used; the least is closed first.
Waiting = tuple[bool, float, int]


@dataclass(frozen=True)
class ConnectionLimits:
    """`requests` are those that routes work on at once; hot paths answer theirs on the spot."""

    most: int = 16_000
    most_of_client: int = 4_000
    requests: int = 1_000
    keep_alive: float = 75.0
    # One address, and many clients behind it.
    proxies: Proxies = field(default_factory=Proxies)

    @classmethod
    def of(cls, settings: WebSettings, room: int) -> Self:
        """`room` is how many of the connections there are files for."""
        return cls(
            min(settings.connections, room),
            settings.connections_per_client,
            keep_alive=settings.keep_alive,
            proxies=Proxies(settings.proxies),
        )


class OpenConnection(Protocol):
    peer: str
    # In which round it is looked at.
    round: int

    @property
    def is_answering(self) -> bool: ...

    def waits_since(self, now: float) -> Waiting | None:
        """None while it waits for us."""
        ...

    def look(self, now: float) -> None: ...

    def give_up(self, reason: Reason) -> None: ...


class OpenConnections:
    """Each is looked at once in as many calls of `look` as there are `rounds`, so that no call takes long."""

    def __init__(self, limits: ConnectionLimits, rounds: int = 10) -> None:
        self.limits = limits
        # Each with its client; that of our own proxies has no name, and no bound.
        self._rounds: list[dict[OpenConnection, str]] = [{} for _ in range(rounds)]
        self._by_client: Counter[str] = Counter()
        self._count = self._added = self._looks = 0
        self._now = 0.0

    def add(self, new: OpenConnection) -> None:
        limits = self.limits
        client = "" if limits.proxies.is_ours(new.peer) else client_network(new.peer)
        if client and self._by_client[client] >= limits.most_of_client:
            theirs = (each for members in self._rounds for each, whose in members.items() if whose == client)
            self._close_some(theirs, limits.most_of_client, "client-room")
        if self._count >= limits.most:
            self._close_some(chain.from_iterable(self._rounds), limits.most, "room")
        self._added += 1
        new.round = self._added % len(self._rounds)
        self._rounds[new.round][new] = client
        self._by_client[client] += 1
        self._count += 1
        HTTP_CONNECTIONS.inc()

    def discard(self, gone: OpenConnection) -> None:
        client = self._rounds[gone.round].pop(gone, None)
        if client is None:
            return
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]
        self._count -= 1
        HTTP_CONNECTIONS.dec()

    def has_room_for_request(self, asking: OpenConnection, running: int) -> bool:
        """Whether one more may run; those that wait for their client to send or to read make room."""
        if running < self.limits.requests:
            return True
        everything = chain.from_iterable(self._rounds)
        answering = (each for each in everything if each.is_answering and each is not asking)
        return self._close_some(answering, self.limits.requests, "request-room")

    def look(self, now: float) -> None:
        self._now = now
        self._looks += 1
        for each in list(self._rounds[self._looks % len(self._rounds)]):
            each.look(now)

    def _close_some(self, among: Iterable[OpenConnection], most: int, reason: Reason) -> bool:
        waiting = [(since, number, each) for number, each in enumerate(among) if (since := each.waits_since(self._now))]
        chosen = nsmallest(max(1, most // _SHARE_CLOSED), waiting)
        for _, _, each in chosen:
            # Now, and not when the loop says that it is gone: others may come before.
            self.discard(each)
            each.give_up(reason)
        return bool(chosen)


def count_closed(reason: Reason) -> None:
    HTTP_CONNECTIONS_CLOSED.labels(reason).inc()
