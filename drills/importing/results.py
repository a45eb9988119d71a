"""The table of a series, and the page on which results are published."""

from collections.abc import Sequence
from pathlib import Path

from drills.importing.plan import BUDGETS
from drills.importing.verdicts import Outcome, Verdict
from drills.series import Column, figure, table

PAGE = Path(__file__).parents[1] / "RESULTS.md"


def _budget(verdict: Verdict) -> str:
    return next(each for each in BUDGETS if f"budget in: {each}" in verdict.found)


COLUMNS = (
    Column("budget in", "everything that was planned", _budget),
    figure("requests", "within the budget in every window", "requests"),
    figure("most in 1 s", "within the budget in every window", "most_in_1_s"),
    figure("pace used", "of the pace is used", "used", ".0%"),
    figure("kills", "everything that was planned", "kill"),
    figure("stops", "everything that was planned", "stop"),
    figure("overtaken", "everything that was planned", "stopped worker overtaken"),
    figure("429", "everything that was planned", "429"),
    figure("bare", "everything that was planned", "429-bare"),
    figure("asked again", "no request is wasted", "repeats"),
    figure("places compared", "equals the provider, field by field", "places"),
)


def write_results(places: int, found: Sequence[Outcome]) -> None:
    """In the place of what was there for this size and these stores."""
    text = PAGE.read_text(encoding="utf-8")
    for store in dict.fromkeys(outcome.store for outcome in found):
        rows = table([outcome for outcome in found if outcome.store == store], COLUMNS)
        begin, end = f"<!-- {store} {places} -->", "<!-- end -->"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found_begin or not found_end:
            raise ValueError(f"{PAGE} has no part that begins with {begin} and ends with {end}")
        text = f"{before}{begin}\n\n{rows}\n\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")
