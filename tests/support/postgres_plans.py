"""What PostgreSQL would do to answer a statement."""

import json
from collections.abc import Iterator
from typing import Any


async def plan_of(connection: Any, statement: str, *arguments: object) -> list[dict[str, Any]]:
    """The steps of its plan."""
    [[text]] = await connection.fetch(f"explain (format json) {statement}", *arguments)
    return list(_steps(json.loads(text)[0]["Plan"]))


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _steps(part)


def indexes_in(plan: list[dict[str, Any]]) -> set[str]:
    return {step["Index Name"] for step in plan if "Index Name" in step}


def tables_read_whole(plan: list[dict[str, Any]]) -> list[str]:
    return [step["Relation Name"] for step in plan if step["Node Type"] == "Seq Scan"]
