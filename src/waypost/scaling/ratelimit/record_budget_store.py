"""Budgets for stores that can lock a record while we compute: the arithmetic is here, the locking is the adapter's."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol, TypeVar

import msgspec

from waypost.scaling.ratelimit.budget import BudgetLook
from waypost.scaling.ratelimit.budget_records import Account, Answered, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import Ledger

Result = TypeVar("Result")
# Takes the records' texts, None for one that does not exist, and the store's time; returns texts to keep and a result.
Change = Callable[[Sequence[bytes | None], int], tuple[Sequence[bytes], Result]]

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Account).decode


class BudgetRecords(Protocol):
    async def change(self, names: Sequence[str], change: Change[Result]) -> Result:
        """Locks these records, calls `change` with the store's time from then on, and keeps the texts it returns.

        Names are always given in the same order, so that two callers who lock several do not wait for each other.
        """

    async def read(self, names: Sequence[str]) -> tuple[Sequence[bytes | None], int]: ...


class RecordBudgetStore:
    """A budget is a record; so are the limits that all keys of a provider share."""

    def __init__(self, records: BudgetRecords) -> None:
        self._records = records

    async def ask(
        self, key: str, rules: Rules, known: Known, process: str, asked: Sequence[Asked], *, succeeded: bool
    ) -> tuple[Known, list[Answered]]:
        def work(ledger: Ledger) -> tuple[Known, list[Answered]]:
            answers = ledger.ask(process, asked, succeeded=succeeded)
            return ledger.known(), answers

        return await self._change(key, rules, known, work)

    async def penalise(self, key: str, rules: Rules, known: Known, pause: int | None) -> Known:
        return await self._change(key, rules, known, lambda ledger: ledger.penalise(pause))

    async def advise(self, key: str, rules: Rules, known: Known, remaining: int, reset: int) -> Known:
        return await self._change(key, rules, known, lambda ledger: ledger.advise(remaining, reset))

    async def leave(self, key: str, rules: Rules, known: Known, turn: int) -> Known:
        return await self._change(key, rules, known, lambda ledger: ledger.leave(turn))

    async def look(self, key: str) -> BudgetLook:
        (own, common), now = await self._records.read([key, _provider(key)])
        return BudgetLook(_read(own), _read(common), now)

    async def epoch(self, key: str) -> int:
        (own,), _ = await self._records.read([key])
        return _read(own).epoch

    async def news(self, key: str) -> NoReturn:  # noqa: ARG002 - these stores announce nothing
        await asyncio.Future()
        raise AssertionError("unreachable")

    def subscription(self, key: str) -> int | None:  # noqa: ARG002
        """These stores do not announce new epochs: a caller whose turn has come looks, which is quick here."""
        return None

    async def _change(self, key: str, rules: Rules, known: Known, work: Callable[[Ledger], Result]) -> Result:
        # All keys would wait for the provider's record: it is locked only if there is something in it.
        names = [key, _provider(key)] if any(spacing.shared for spacing in rules.spacings) else [key]

        def change(texts: Sequence[bytes | None], now: int) -> tuple[Sequence[bytes], Result]:
            own, common = _read(texts[0]), _read(texts[-1] if len(texts) > 1 else None)
            result = work(Ledger(own, common, rules, known, now))
            return [_encode(each) for each in (own, common)[: len(names)]], result

        return await self._records.change(names, change)


def _provider(key: str) -> str:
    return key.partition(":")[0]


def _read(text: bytes | None) -> Account:
    return Account() if text is None else _decode(text)
