"""Budgets on Redis: each change is one script, and the server's clock decides.

Turns that become void are told of on a channel of the budget's own, so that nobody has to ask before it goes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waypost.adapters.redis.client import Argument, RedisClient
from waypost.adapters.redis.scripts import Script, load_scripts
from waypost.scaling.ratelimit.budget import Look
from waypost.scaling.ratelimit.ledger import Account, Answered, Asked, Known, Rules

SCRIPTS = load_scripts("lua/budget")

_NEWS_SECONDS = 3600.0
_NO_RULES = Rules(())


class RedisBudgetStore:
    def __init__(
        self, client: RedisClient, namespace: str = "waypost", scripts: Mapping[str, Script] = SCRIPTS
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._scripts = scripts
        # Encoding them each time would cost more than the rest of a call.
        self._encoded: dict[Rules, bytes] = {}

    async def ask(
        self, key: str, rules: Rules, known: Known, process: str, asked: Sequence[Asked], *, succeeded: bool
    ) -> tuple[Known, list[Answered]]:
        arguments = process, int(succeeded), msgspec.json.encode(asked)
        reply = await self._run("ask", key, rules, known, *arguments)
        answers = iter(reply[-1])
        return _known(reply), [Answered(*each) for each in zip(answers, answers, answers, strict=True)]

    async def penalise(self, key: str, rules: Rules, known: Known, pause: int | None) -> Known:
        return _known(await self._run("penalise", key, rules, known, "" if pause is None else pause))

    async def advise(self, key: str, rules: Rules, known: Known, remaining: int, reset: int) -> Known:
        return _known(await self._run("advise", key, rules, known, remaining, reset))

    async def leave(self, key: str, rules: Rules, known: Known, turn: int) -> Known:
        return _known(await self._run("leave", key, rules, known, turn))

    async def look(self, key: str) -> Look:
        now, account, common = await self._run("look", key, _NO_RULES, Known())
        return Look(_account(account), _account(common), now)

    async def epoch(self, key: str) -> int:
        return int(await self._run("epoch", key, _NO_RULES, Known()))

    async def news(self, key: str) -> int:
        listener = self._client.listener(self.name(key))
        subscription = None
        while subscription is None:
            await listener.wait(_NEWS_SECONDS)
            subscription = listener.subscription
        return subscription

    def subscription(self, key: str) -> int | None:
        return self._client.listener(self.name(key)).subscription

    async def _run(self, script: str, key: str, rules: Rules, known: Known, *arguments: Argument) -> Any:
        encoded = self._encoded.get(rules)
        if encoded is None:
            encoded = self._encoded[rules] = msgspec.json.encode(rules)
        return await self._client.run(
            self._scripts[script], self.name(key), encoded, msgspec.json.encode(known), *arguments
        )

    def name(self, key: str) -> str:
        """The key in Redis."""
        provider, _, digest = key.partition(":")
        return f"{{{self._namespace}:budget:{provider}}}:{digest}"


def _known(reply: Sequence[Any]) -> Known:
    now, born, seq, epoch, pace, penalty, members, arrivals, _ = reply
    return Known(now, born, seq, epoch, float(pace), penalty, members, tuple(arrivals))


def _account(told: Sequence[Any]) -> Account:
    fields = _dictionary(told)
    maps = {name: _dictionary(fields[name]) for name in ("arrivals", "members")}
    return msgspec.convert(fields | maps, Account, strict=False)


def _dictionary(flat: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
