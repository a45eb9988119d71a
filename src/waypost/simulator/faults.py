"""What goes wrong on purpose, and how often. The same seed gives the same faults to the same request numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from waypost.kernel.suggesting import did_you_mean
from waypost.simulator.dice import Dice

FAULTS = {
    "429": "too many requests, with Retry-After: 1",
    "429-bare": "too many requests, without a word about when to come again",
    "500": "an internal error",
    "503": "out of service",
    "slow": "the answer begins after a second, and drips for another one",
    "cut": "the connection is closed before the answer, or amid its headers",
    "half": "half of the answer, though its Content-Length promises all of it; then the connection is closed",
    "garbage": "status 200 and a body that is not JSON: half of the answer, or a page for people",
}
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Faults:
    """The share of requests that each fault hits, and faults that certain requests meet for sure."""

    shares: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    # By the number of the request, from 1.
    placed: Mapping[int, str] = field(default_factory=dict)

    def draw(self, number: int) -> str | None:
        """The fault that the request with this number meets, if any."""
        if number in self.placed or not self.shares:
            return self.placed.get(number)
        left = throw(self.seed, number, "fault")
        for name, share in self.shares.items():
            left -= share
            if left < 0:
                return name
        return None


def throw(seed: int, number: int, name: str) -> float:
    """A number from 0 to below 1; the same for the same seed, number and name."""
    return float(Dice(seed, np.array([number])).unit(name)[0])


def parse_faults(text: str) -> dict[str, float]:
    """Reads shares from a text such as `429=0.05,500=0.02`."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.partition("="))
        _refuse_unknown(name)
        if name in shares:
            raise ValueError(f"{name} is named twice")
        shares[name] = _parse_share(name, share)
    if sum(shares.values()) > 1 + _TOLERANCE:
        raise ValueError(f"the shares of all faults add up to more than 1: {text}")
    return shares


def parse_placed(text: str) -> dict[int, str]:
    """Reads faults by the number of their request from a text such as `12=429,30=cut`."""
    placed: dict[int, str] = {}
    for part in text.split(","):
        number, _, name = (word.strip() for word in part.partition("="))
        if not (number.isascii() and number.isdigit() and int(number)):
            raise ValueError(f"write the number of a request and what it meets, as in 12=429; this is {part!r}")
        _refuse_unknown(name)
        if int(number) in placed:
            raise ValueError(f"request {number} is named twice")
        placed[int(number)] = name
    return placed


def _refuse_unknown(name: str) -> None:
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; known are {', '.join(FAULTS)}.{did_you_mean(name, FAULTS)}")


def _parse_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"the share of {name} is a number from 0 to 1, as in {name}=0.05; this is {text!r}")
    return share
