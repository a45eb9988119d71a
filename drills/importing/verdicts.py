"""What was found, beside what was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True)
class Verdict:
    """`found` is for people, `figures` for machines; `examples` are of what is wrong."""

    promise: str
    kept: bool
    found: str
    figures: Mapping[str, float] = field(default_factory=dict)
    examples: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """Of the drill on one store with one seed; `folder` is where its logs are, if they were kept."""

    store: str
    seed: int
    verdicts: Sequence[Verdict]
    seconds: float
    folder: str | None = None

    @property
    def kept(self) -> bool:
        return all(verdict.kept for verdict in self.verdicts)

    @property
    def broken(self) -> str:
        return "; ".join(verdict.promise for verdict in self.verdicts if not verdict.kept)


def as_text(outcome: Outcome) -> str:
    result = "all promises kept" if outcome.kept else "BROKEN PROMISES"
    lines = [f"{outcome.store} with --seed {outcome.seed}: {result}, {outcome.seconds:.0f} s"]
    for verdict in outcome.verdicts:
        lines.append(f"  {'ok    ' if verdict.kept else 'BROKEN'} {verdict.promise}: {verdict.found}")
        lines += [f"           {example}" for example in verdict.examples]
    if outcome.folder:
        lines.append(f"  logs are in {outcome.folder}")
    return "\n".join(lines)


def as_json(outcome: Outcome) -> str:
    return msgspec.json.encode({**msgspec.to_builtins(outcome), "kept": outcome.kept}).decode()
