"""How an adjective changes with the noun it stands before."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Agreement:
    """A language's table: for each ending of adjectives, the ending that replaces it before a noun of each class.

    By default there is one class of nouns, and adjectives never change.
    """

    classes: tuple[str, ...] = ("any",)
    endings: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("",)})

    def forms(self, adjective: str) -> tuple[str, ...] | None:
        """Returns one form for each class, in order; None when no ending fits. The longest ending that fits counts."""
        for start in range(len(adjective) + 1):
            if (found := self.endings.get(adjective[start:])) is not None:
                return tuple(adjective[:start] + ending for ending in found)
        return None
