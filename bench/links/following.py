"""Links followed over HTTP, by everybody in turns: as often as can be, and at a fixed rate."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import httpx

from bench.importing.watching import RunFailed
from bench.jobs.cpu import family
from bench.links.systems import System
from bench.places.load import Deck
from bench.places.serving import Asked, Effort, Found, Say, measure_in_turns
from bench.places.systems import Serving

Up = Mapping[str, tuple[System, Serving]]

_SCRIPT = Path(__file__).parent / "programs" / "follow.lua"
# wrk has some hundreds of such visitors; h2load knows one.
_HEADERS = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language: en-GB,en;q=0.9",
    "Referer: https://news.example/today",
)
_COMPARED = 20
_LOST = re.compile(r"^waypost_visits_lost_total (\S+)$", re.MULTILINE)


def check_targets(up: Up) -> None:
    """Whoever is compared leads where the links lead."""
    for system, running in up.values():
        for link in system.links[:_COMPARED] if system.knows_links else []:
            answer = httpx.get(running.url + system.path(link), trust_env=False, timeout=60)
            if (answer.status_code, answer.headers.get("Location")) != (HTTPStatus.FOUND, link.target):
                raise RunFailed(f"{system.name}: /{link.phrase} gives {answer.status_code} {answer.text[:200]}")


def measure_following(up: Up, effort: Effort, say: Say) -> dict[str, Found]:
    everybody = {
        name: Asked(_deck(system, running.url), family(running.pid), warmed=len(system.links))
        for name, (system, running) in up.items()
    }
    # What one has remembered for another costs nobody less: each has all of them in memory, or none.
    return measure_in_turns("follow", everybody, effort, say, same_list=set(up))


def visits_lost(running: Serving) -> int:
    """As Waypost itself tells."""
    found = _LOST.search(httpx.get(f"{running.url}/metrics", trust_env=False, timeout=60).text)
    if not found:
        raise RunFailed(f"{running.url}/metrics does not tell how many visits were lost")
    return round(float(found[1]))


def _deck(system: System, url: str) -> Deck:
    paths = [system.path(link) for link in system.links]
    return Deck(url, paths, script=_SCRIPT, headers=_HEADERS, status=HTTPStatus.FOUND)
