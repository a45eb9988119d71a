"""Budgets on Redis: each change is one script, and the server's clock decides.

Turns that become void are told of on a channel of the budget's own, so that nobody has to ask before it goes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.scripts import Script, load_scripts
from waypost.scaling.ratelimit.budget import Look
from waypost.scaling.ratelimit.ledger import Account, Answered, Asked, Known, Rules

SCRIPTS = load_scripts("lua/budget")

_NEWS_SECONDS = 3600.0
_NO_RULES = Rules(())
# All that is known but the arrival times.
_KNOWN = 7
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class RedisBudgetStore:
    def __init__(
        self, client: RedisClient, namespace: str = "waypost", scripts: Mapping[str, Script] = SCRIPTS
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._scripts = scripts

    async def ask(
        self, key: str, rules: Rules, known: Known, process: str, asked: Sequence[Asked], *, succeeded: bool
    ) -> tuple[Known, list[Answered]]:
        return _read(await self._run("ask", key, rules, known, process, succeeded, asked), rules)

    async def penalise(self, key: str, rules: Rules, known: Known, pause: int | None) -> Known:
        return _read(await self._run("penalise", key, rules, known, pause), rules)[0]

    async def advise(self, key: str, rules: Rules, known: Known, remaining: int, reset: int) -> Known:
        return _read(await self._run("advise", key, rules, known, remaining, reset), rules)[0]

    async def leave(self, key: str, rules: Rules, known: Known, turn: int) -> Known:
        return _read(await self._run("leave", key, rules, known, turn), rules)[0]

    async def look(self, key: str) -> Look:
        now, account, common = msgspec.msgpack.decode(await self._run("look", key, _NO_RULES, Known()))
        return Look(_account(account), _account(common), now)

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
        given = msgspec.msgpack.encode((rules, known, *arguments))
        return await self._client.run_quickly(self._scripts[script], self.name(key), given)

    def name(self, key: str) -> str:
        """The key in Redis."""
        provider, _, digest = key.partition(":")
        return f"{{{self._namespace}:budget:{provider}}}:{digest}"


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
