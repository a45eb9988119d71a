"""What `waypost budget show` prints."""

from rich.table import Table

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.sources import open_source
from waypost.cli.live import display, look_repeatedly
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.stopping import Stop
from waypost.scaling.ratelimit.budget_view import BudgetView, LimitView, view_of
from waypost.settings import Settings


class NoBudget(AskedWrongly):
    """A source that asks no provider has no budget."""


async def show_budget(
    settings: Settings, source: str, stop: Stop, *, every: float, times: int | None, as_json: bool
) -> None:
    async with open_source(source, settings) as opened, open_budget(settings, must_exist=True) as budget:
        key, rules = opened.budget_key, settings.budget.rules[opened.name]
        if key is None:
            raise NoBudget(f"the source {opened.name} asks no provider, so it has no budget", parameter="source")

        async def look() -> BudgetView:
            return view_of(key, await budget.look(key), rules)

        with display(_sentence, _table, as_json=as_json) as show:
            await look_repeatedly(look, show, stop, every=every, times=times)


def _sentence(view: BudgetView) -> str:
    limits = ", ".join(f"{limit.limit}{_scope(limit)}: {limit.free} free" for limit in view.limits)
    return f"{view.provider}:{view.key}  {limits}; {_state(view)}"


def _state(view: BudgetView) -> str:
    stopped = f"stopped for {view.penalty:.0f} s, " if view.penalty else ""
    return (
        f"{stopped}pace {view.pace:.0%}, next turn in {view.next_turn:.1f} s,"
        f" {view.waiting} in line, {view.processes} process{'' if view.processes == 1 else 'es'}"
    )


def _table(view: BudgetView) -> Table:
    table = Table(title=f"{view.provider}:{view.key}\n{_state(view)}", title_justify="left")
    for name in ("limit", "free now", "taken ahead"):
        table.add_column(name, justify="left" if name == "limit" else "right")
    for limit in view.limits:
        table.add_row(f"{limit.limit}{_scope(limit)}", str(limit.free), f"{limit.used_ahead:.1f} s")
    return table


def _scope(limit: LimitView) -> str:
    return " for all keys" if limit.scope == "global" else ""
