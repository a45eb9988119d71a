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
    """Of the drill on one store; `folder` is where its logs are, if they were kept."""

    store: str
    verdicts: Sequence[Verdict]
    seconds: float
    folder: str | None = None

    @property
    def kept(self) -> bool:
        return all(verdict.kept for verdict in self.verdicts)


def as_text(outcome: Outcome) -> str:
    head = f"{outcome.store}: {'all promises kept' if outcome.kept else 'BROKEN PROMISES'}, {outcome.seconds:.0f} s"
    lines = [head]
    for verdict in outcome.verdicts:
        lines.append(f"  {'ok    ' if verdict.kept else 'BROKEN'} {verdict.promise}: {verdict.found}")
        lines += [f"           {example}" for example in verdict.examples]
    if outcome.folder:
        lines.append(f"  logs are in {outcome.folder}")
    return "\n".join(lines)


def as_json(outcome: Outcome) -> str:
    return msgspec.json.encode({**msgspec.to_builtins(outcome), "kept": outcome.kept}).decode()
