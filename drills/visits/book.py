"""What clients write down: what is still to be asked, what was answered, and what was left without an answer."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from drills.visits.links import Link

# People with several browsers, and a crawler: all are counted, each under its own heading.
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/18.6 Mobile Safari/604.1",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
)
_REFERRERS = ("https://news.example/today", "https://mail.example/", "https://blog.example/2026/a-walk")
_LANGUAGES = ("en-GB,en;q=0.9", "pl-PL,pl;q=0.8,en;q=0.5", "de-DE,de;q=0.9")
# So much more often than the last link is the first one followed: several servers count it at the same moment.
_SKEW = 200


@dataclass(frozen=True)
class Question:
    link: Link
    request: bytes


@dataclass
class Book:
    """`in_flight` are requests that were sent and had no whole answer when their connection broke."""

    wanted: int
    answered: Counter[str] = field(default_factory=Counter)
    in_flight: Counter[str] = field(default_factory=Counter)
    # Answers other than the redirect that was due, and requests that broke although nobody was killed.
    wrong: list[str] = field(default_factory=list)
    _done: int = 0
    _under_way: int = 0

    @property
    def is_full(self) -> bool:
        return self._done >= self.wanted

    @property
    def has_more(self) -> bool:
        return self._done + self._under_way < self.wanted

    def ask(self) -> None:
        self._under_way += 1

    def answer(self, link: Link) -> None:
        self._under_way -= 1
        self._done += 1
        self.answered[link.id] += 1

    def refuse(self, what: str) -> None:
        """The answer was not the right one."""
        self._under_way -= 1
        self.wrong.append(what)

    def break_off(self, link: Link) -> None:
        self._under_way -= 1
        self.in_flight[link.id] += 1


class Questions:
    """At random, from a seed: each a link, followed from some page by somebody's browser."""

    def __init__(self, links: Sequence[Link], rng: random.Random) -> None:
        self._rng = rng
        self._links = links
        weights = [1 + _SKEW / (1 + place) for place in range(len(links))]
        self._weights = [sum(weights[: place + 1]) for place in range(len(links))]
        self._headers = [
            f"Host: 127.0.0.1\r\nUser-Agent: {agent}\r\nReferer: {referrer}\r\nAccept-Language: {language}\r\n\r\n"
            for agent in _AGENTS
            for referrer in _REFERRERS
            for language in _LANGUAGES
        ]

    def next(self) -> Question:
        [link] = self._rng.choices(self._links, cum_weights=self._weights)
        headers = self._rng.choice(self._headers)
        return Question(link, f"GET /{link.phrase} HTTP/1.1\r\n{headers}".encode())
