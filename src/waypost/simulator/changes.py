"""Edits, deletes and adds places while the provider is asked: drawn from a seed, so that they can be repeated."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from waypost.simulator.dice import Dice
from waypost.simulator.patches import Birth, Patch
from waypost.simulator.provider import Provider
from waypost.simulator.rendering import uuid_of

# Above the numbers of all places and shared sites.
_CHANGES_FROM = 1 << 41
_TICK_SECONDS = 0.05
# Time lost on a busy machine is not made up for: changes that take too long would pile up for ever.
_MOST_SECONDS = 0.2
_THROWS = 16
_STATUSES = (50, 0, 75, 100, 150, 30)
_COSTS = ("Free", "0.39/kWh", "0.45/kWh", "0.55/kWh", "0.69/kWh", "")
_KILOWATTS = (3.7, 7.4, 11.0, 22.0, 50.0, 150.0, 300.0)
# In degrees.
_SMALLEST_STEP, _LARGEST_STEP = 0.00001, 0.001
_EDITED = re.compile(r" \(\d+\)$")


@dataclass(frozen=True)
class Rates:
    """How many changes are made per second."""

    edits: float = 0.0
    deletions: float = 0.0
    additions: float = 0.0


@dataclass(frozen=True)
class Made:
    """How many changes were made so far."""

    edits: int = 0
    deletions: int = 0
    additions: int = 0


class ProviderChanges:
    """Changes a provider's places, all in one thread. The clock tells seconds since 1970."""

    def __init__(
        self, provider: Provider, seed: int, rates: Rates | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.rates = rates or Rates()
        self.made = Made()
        self._provider = provider
        self._seed = seed
        self._clock = clock
        self._number = 0

    async def run(self) -> None:
        """Makes changes at the given rates until cancelled; a fraction of a change is carried over."""
        due, before = Rates(), time.monotonic()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.monotonic()
            rates, passed, before = self.rates, min(now - before, _MOST_SECONDS), now
            due = Rates(
                due.edits % 1 + rates.edits * passed,
                due.deletions % 1 + rates.deletions * passed,
                due.additions % 1 + rates.additions * passed,
            )
            self.make(int(due.edits), int(due.deletions), int(due.additions))

    def make(self, edits: int = 0, deletions: int = 0, additions: int = 0) -> None:
        """Makes this many changes now."""
        for _ in range(additions):
            self._add()
        self._edit(edits)
        for _ in range(deletions):
            self._delete()

    def _draw(self) -> tuple[int, Dice] | None:
        """Draws a published place, all equally likely, and the dice for the rest of the change; None without places."""
        self._number += 1
        dice = Dice(self._seed, np.array([_CHANGES_FROM + self._number]))
        published = self._provider.columns.published
        for attempt in range(_THROWS if len(published) else 0):
            row = int(dice.below(f"row {attempt}", len(published))[0])
            if published[row]:
                return row, dice
        rows = np.flatnonzero(published)
        return (int(rows[dice.below("row", len(rows))[0]]), dice) if len(rows) else None

    def _edit(self, count: int) -> None:
        """Edits `count` places; their records are made together, which costs little more than making one."""
        drawn = [(change, self._number) for _ in range(count) if (change := self._draw())]
        records = self._provider.records([row for (row, _), _ in drawn]) if drawn else {}
        for (row, dice), number in drawn:
            before = self._provider.patch_of(row) or Patch(self._minute())
            patch = replace(before, minute=self._minute(), **edit(records[row], number, dice))
            self._provider.change(row, patch, records[row])
        self.made = replace(self.made, edits=self.made.edits + len(drawn))

    def _delete(self) -> None:
        if change := self._draw():
            self._provider.unpublish(change[0])
            self.made = replace(self.made, deletions=self.made.deletions + 1)

    def _add(self) -> None:
        if change := self._draw():
            row, dice = change
            minute = self._minute()
            number = int(self._provider.columns.ids[-1]) + 1 + int(dice.below("id", 4)[0])
            uuid = uuid_of(int(dice.bits("low")[0]), int(dice.bits("high")[0])).decode()
            self._provider.copy(row, Patch(minute, Birth(number, uuid, minute)))
            self.made = replace(self.made, additions=self.made.additions + 1)

    def _minute(self) -> int:
        """The current time, rounded as the provider does: to the nearest minute, which may be the next one."""
        return int(self._clock() + 30) // 60


def edit(record: dict[str, Any], number: int, dice: Dice) -> dict[str, Any]:
    """The field of the patch that changes, with its new value: a name, status, price, power or position."""
    address = record.get("AddressInfo")
    address = address if isinstance(address, dict) else {}
    match int(dice.below("field", 5)[0]):
        case 0:
            return {"title": f"{_EDITED.sub('', str(address.get('Title') or 'Charging station'))} ({number})"}
        case 1:
            return {"status": _other(_STATUSES, record.get("StatusTypeID"), dice)}
        case 2:
            return {"cost": _other(_COSTS, record.get("UsageCost"), dice)}
        case 3:
            return {"kilowatts": _other(_KILOWATTS, _first_power(record), dice)}
        case _:
            return {"point": _moved(address, dice)}


def _other(values: tuple[Any, ...], before: object, dice: Dice) -> Any:
    others = [value for value in values if value != before]
    return others[dice.below("value", len(others))[0]]


def _first_power(record: dict[str, Any]) -> object:
    plugs = record.get("Connections")
    return plugs[0].get("PowerKW") if isinstance(plugs, list) and plugs and isinstance(plugs[0], dict) else None


def _moved(address: dict[str, Any], dice: Dice) -> tuple[float, float] | None:
    lat, lon = address.get("Latitude"), address.get("Longitude")
    if not isinstance(lat, float) or not isinstance(lon, float):
        return None
    return _step(lat, dice, "north"), _step(lon, dice, "east")


def _step(degrees: float, dice: Dice, name: str) -> float:
    """Moves a coordinate a little, always towards zero, so that no place falls off the map."""
    step = _SMALLEST_STEP + float(dice.unit(name)[0]) * _LARGEST_STEP
    return round(degrees - step if degrees > 0 else degrees + step, 6)
