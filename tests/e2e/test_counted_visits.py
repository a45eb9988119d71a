"""Two servers on one store: limits are exact, and counts are those of an independent log, whatever the clock does."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from support.chaos.clocks import MovingClock
from support.processes import Processes, eventually

# Each agent is one visitor, who has one server: their hashes are the same on both only while both have the day's key.
AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0": "Firefox",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36": (
        "Chrome"
    ),
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0"
    " Safari/605.1.15": "Safari",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "",
}
BOTS = {agent for agent, browser in AGENTS.items() if not browser}
REFERRERS = {"": "", "https://news.example/front?user=7": "news.example", "javascript:alert(1)": ""}
LANGUAGES = {"": "", "de-AT, en;q=0.5": "de", "pl": "pl"}
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland", "Asia/Tokyo")
# Across the end of a year and of a leap day, and where clocks change; there is time to ask before the hour ends.
MOMENTS = [
    datetime(2026, 12, 31, 22, 10, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 10, tzinfo=UTC),
    datetime(2027, 1, 1, 0, 10, tzinfo=UTC),
    datetime(2026, 12, 30, 12, 10, tzinfo=UTC),
    datetime(2027, 3, 28, 0, 10, tzinfo=UTC),
    datetime(2027, 3, 28, 1, 10, tzinfo=UTC),
    datetime(2027, 10, 31, 0, 10, tzinfo=UTC),
    datetime(2027, 10, 31, 1, 10, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 10, tzinfo=UTC),
    datetime(2027, 1, 1, 0, 10, tzinfo=UTC),
]


@dataclass(frozen=True)
class Logged:
    at: datetime
    agent: str
    referrer: str
    language: str
    private: bool

    @property
    def is_bot(self) -> bool:
        return self.agent in BOTS and not self.private


@dataclass
class Fleet:
    urls: Sequence[str]
    clock: MovingClock
    dice: random.Random

    def make(self, **wish: Any) -> str:
        made = httpx.post(f"{self.urls[0]}/v1/links", json={"target": "https://example.org/", **wish})
        assert made.status_code == 201, made.text
        return str(made.json()["phrase"])


@pytest.fixture
def fleet(processes: Processes) -> Fleet:
    seed = int(os.environ.get("SEED", random.randrange(10**9)))
    print(f"to repeat it: SEED={seed}")  # noqa: T201 - for whoever repeats it
    clock = MovingClock(processes.folder)
    urls = [processes.serve("links", env=clock.env) for _ in range(2)]
    return Fleet(urls, clock, random.Random(seed))


async def ask_at_once(urls: Sequence[str], phrase: str, count: int) -> Counter[str]:
    """All are connected before the first of them asks."""
    ports = [int(url.rpartition(":")[2]) for url in urls]
    opened = [await asyncio.open_connection("127.0.0.1", ports[number % len(ports)]) for number in range(count)]
    request = f"GET /{phrase} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    for _, writer in opened:
        writer.write(request)
    said = await asyncio.gather(*(reader.read() for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    return Counter(answer[9:12].decode() for answer in said)


def test_a_limit_of_visits_is_exact_with_fifty_at_once_in_two_processes(fleet: Fleet) -> None:
    for most in (1, fleet.dice.randint(2, 48), 49, 50, 51):
        phrase = fleet.make(max_visits=most)
        answered = asyncio.run(ask_at_once(fleet.urls, phrase, 50))
        followed = min(most, 50)
        assert answered == Counter({"302": followed, "410": 50 - followed}), most
        until_counted(f"{fleet.urls[1]}/v1/links/{phrase}", followed)


def follow(fleet: Fleet, phrase: str, at: datetime) -> Logged | None:
    """One request at random; what an honest log has of it, and nothing if it is no visit."""
    dice = fleet.dice
    agent, referrer, language = (dice.choice([*each]) for each in (AGENTS, REFERRERS, LANGUAGES))
    private, method = dice.random() < 0.1, dice.choice(("GET",) * 6 + ("HEAD",))
    ahead = dice.random() < 0.1
    headers = {"User-Agent": agent, "Referer": referrer, "Accept-Language": language}
    headers |= ({"DNT": "1"} if private else {}) | ({"Sec-Purpose": "prefetch"} if ahead else {})
    server = fleet.urls[[*AGENTS].index(agent) % len(fleet.urls)]
    answer = httpx.request(method, f"{server}/{phrase}", headers={name: text for name, text in headers.items() if text})
    assert answer.status_code == 302
    if method == "HEAD" or ahead:
        return None
    if private:
        return Logged(at, "", "", "", private=True)
    return Logged(at, agent, REFERRERS[referrer], LANGUAGES[language], private=False)


def until_counted(link: str, number: int) -> None:
    def counted() -> int:
        stats = httpx.get(f"{link}/stats").json()
        return int(stats["visits"] + stats["bots"])

    eventually(lambda: counted() == number, "all are counted")


def days_of(log: Sequence[Logged], zone: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for each in log:
        day = each.at.astimezone(ZoneInfo(zone)).date().isoformat()
        visits, bots = found.get(day, (0, 0))
        found[day] = (visits, bots + 1) if each.is_bot else (visits + 1, bots)
    return found


def check(stats: Any, log: Sequence[Logged], zone: str) -> None:
    people = [each for each in log if not each.is_bot]
    visitors = {(each.at.date(), each.agent) for each in people if not each.private}
    assert (stats["visits"], stats["visitors"], stats["bots"]) == (len(people), len(visitors), len(log) - len(people))
    assert stats["series"]["zone"] == zone
    series = {each["at"][:10]: (each["visits"], each["bots"]) for each in stats["series"]["buckets"]}
    assert series == days_of(log, zone)
    for name, told in (
        ("referrers", [each.referrer for each in people]),
        ("languages", [each.language for each in people]),
        ("browsers", [AGENTS.get(each.agent, "") for each in people]),
    ):
        assert {each["value"]: each["visits"] for each in stats[name]} == Counter(told), name


def test_statistics_are_those_of_an_independent_log_whatever_the_clock_does(fleet: Fleet) -> None:
    fleet.clock.set(MOMENTS[0] - timedelta(hours=1))
    logs: dict[str, list[Logged]] = {fleet.make(): [] for _ in range(2)}
    for at in MOMENTS:
        fleet.clock.set(at)
        for _ in range(12):
            phrase = fleet.dice.choice([*logs])
            if logged := follow(fleet, phrase, at):
                logs[phrase].append(logged)
    for phrase, log in logs.items():
        link = f"{fleet.urls[0]}/v1/links/{phrase}"
        until_counted(link, len(log))
        for zone in ZONES:
            check(httpx.get(f"{link}/stats", params={"zone": zone}).json(), log, zone)
            start, end = sorted(fleet.dice.sample(MOMENTS[:9], 2))
            span = {"zone": zone, "from": (start - timedelta(minutes=10)).isoformat(), "to": end.isoformat()}
            inside = [each for each in log if start <= each.at < end]
            check(httpx.get(f"{link}/stats", params=span).json(), inside, zone)
