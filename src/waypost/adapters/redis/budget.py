"""Budgets on Redis: each change is one script, and the server's clock decides.

Turns that become void are announced on the budget's own channel, so that no caller has to ask before it goes.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.scripts import Script, load_scripts
from waypost.kernel.clock import monotonic
from waypost.scaling.ratelimit.budget import BudgetLook
from waypost.scaling.ratelimit.budget_records import Account, Answered, Asked, Known, Rules

SCRIPTS = {**load_scripts("lua/budget"), **load_scripts("lua/turn")}

_NEWS_SECONDS = 3600.0
# The long way is taken at least this often, because it tells the store who shares the budget.
_LONG_WAY_SECONDS = 20.0
_NO_RULES = Rules(())
# How many numbers are known besides the arrival times.
_KNOWN = 7
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class RedisBudgetStore:
    def __init__(
        self, client: RedisClient, namespace: str = "waypost", scripts: Mapping[str, Script] = SCRIPTS
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._scripts = scripts
        self._long_way_at: dict[str, float] = {}

    async def ask(
        self, key: str, rules: Rules, known: Known, process: str, asked: Sequence[Asked], *, succeeded: bool
    ) -> tuple[Known, list[Answered]]:
        if self._is_simple(key, rules, known, asked, succeeded=succeeded):
            taken = await self._client.run_quickly(
                self._scripts["take"], f"{self.name(key)}:short", _take_arguments(rules, known, asked[0])
            )
            if taken is not None:
                return _read_taken(taken, known)
        self._long_way_at[key] = monotonic() + _LONG_WAY_SECONDS
        return _read(await self._run("ask", key, rules, known, process, succeeded, asked), rules)

    def _is_simple(self, key: str, rules: Rules, known: Known, asked: Sequence[Asked], *, succeeded: bool) -> bool:
        """Whether the short way will do: one caller who asks for the first time, and nothing to tell the store."""
        return (
            len(asked) == 1
            and asked[0].turn == 0
            and known.penalty <= known.now
            and not (succeeded and known.pace < rules.ceiling)
            and monotonic() < self._long_way_at.get(key, 0.0)
        )

    async def penalise(self, key: str, rules: Rules, known: Known, pause: int | None) -> Known:
        return _read(await self._run("penalise", key, rules, known, pause), rules)[0]

    async def advise(self, key: str, rules: Rules, known: Known, remaining: int, reset: int) -> Known:
        return _read(await self._run("advise", key, rules, known, remaining, reset), rules)[0]

    async def leave(self, key: str, rules: Rules, known: Known, turn: int) -> Known:
        return _read(await self._run("leave", key, rules, known, turn), rules)[0]

    async def look(self, key: str) -> BudgetLook:
        now, account, common = msgspec.msgpack.decode(await self._run("look", key, _NO_RULES, Known()))
        return BudgetLook(_account(account), _account(common), now)

    async def epoch(self, key: str) -> int:
        return int(msgspec.msgpack.decode(await self._run("epoch", key, _NO_RULES, Known())))

    async def news(self, key: str) -> int:
        listener = self._client.listener(self.name(key))
        subscription = None
        while subscription is None:
            await listener.wait(_NEWS_SECONDS)
            subscription = listener.subscription
        return subscription

    def subscription(self, key: str) -> int | None:
        return self._client.listener(self.name(key)).subscription

    async def _run(self, script: str, key: str, rules: Rules, known: Known, *arguments: object) -> bytes:
        given = msgspec.msgpack.encode(((*msgspec.structs.astuple(rules), _short_rules(rules)[0]), known, *arguments))
        reply = await self._client.run_quickly(self._scripts[script], self.name(key), given)
        assert reply is not None
        return reply

    def name(self, key: str) -> str:
        """The key in Redis."""
        provider, _, digest = key.partition(":")
        return f"{{{self._namespace}:budget:{provider}}}:{digest}"


@cache
def _short_rules(rules: Rules) -> tuple[int, bytes]:
    """A checksum of the limits' names, which the short way goes by, and their intervals and bursts."""
    names = "\n".join(spacing.name for spacing in rules.spacings)
    pairs = [struct.pack("<dd", spacing.interval, spacing.burst) for spacing in rules.spacings]
    return zlib.crc32(names.encode()), b"".join(pairs)


def _take_arguments(rules: Rules, known: Known, asked: Asked) -> bytes:
    checksum, spacings = _short_rules(rules)
    return struct.pack("<5d", known.born, known.seq, checksum, asked.cost, asked.max_wait) + spacings


def _read_taken(reply: bytes, known: Known) -> tuple[Known, list[Answered]]:
    numbers = struct.unpack(f"<{len(reply) // 8}d", reply)
    now, seq, epoch, pace, members, turn, at = numbers[:7]
    arrivals = tuple(map(int, numbers[7:]))
    told = Known(int(now), known.born, int(seq), int(epoch), pace, known.penalty, int(members), arrivals)
    return told, [Answered("granted", int(turn), int(at))]


def _read(reply: bytes, rules: Rules) -> tuple[Known, list[Answered]]:
    """One list: what is known, the arrival times, then verdict, turn and time of each answer."""
    told = _decode(reply)
    first = _KNOWN + len(rules.spacings)
    answers = [Answered(*told[at : at + 3]) for at in range(first, len(told), 3)]
    now, born, seq, epoch, pace, penalty, members = told[:_KNOWN]
    return Known(now, born, seq, epoch, pace, penalty, members, tuple(told[_KNOWN:first])), answers


def _account(told: dict[str, Any]) -> Account:
    # Lua has one kind of table, and packs an empty one as a list.
    maps = {name: dict(told[name] or {}) for name in ("arrivals", "members")}
    return msgspec.convert(told | maps, Account)
