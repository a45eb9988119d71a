"""How an adjective changes with the noun it stands before."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Agreement:
    """A language's table: an ending of adjectives, and what stands in its place before a noun of each class.

    As it is here, there is one class of nouns and adjectives never change.
    """

    classes: tuple[str, ...] = ("any",)
    endings: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("",)})

    def forms(self, adjective: str) -> tuple[str, ...] | None:
        """One form for each class, in their order; None when no ending fits. The longest that fits is taken."""
        for start in range(len(adjective) + 1):
            if (found := self.endings.get(adjective[start:])) is not None:
                return tuple(adjective[:start] + ending for ending in found)
        return None
