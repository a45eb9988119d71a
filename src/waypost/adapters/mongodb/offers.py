"""What a claimer offers to do: to lease these jobs, each with a fence of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from waypost.adapters.mongodb.documents import DUE, EXPIRED, Document, later, literal


@dataclass(frozen=True)
class Offer:
    """The fences are those from `first` on, in the order of the ids; so a leased job's fence tells who leased it."""

    ids: Sequence[str]
    first: int
    owner: str
    lease: float
    max_vanished: int

    @property
    def free(self) -> Document:
        """The jobs of the offer that may be leased at the moment.

        A claimer with newer fences than ours may have had the job and given it back since we looked; with ours, its
        fence would go backwards.
        """
        return {
            "_id": {"$in": list(self.ids)},
            "fence": {"$lt": self.first},
            "$or": [DUE, {**EXPIRED, "attempts": {"$lt": self.max_vanished}}],
        }

    @property
    def ours(self) -> Document:
        """The jobs that were leased by this offer."""
        return {
            "_id": {"$in": list(self.ids)},
            "status": "leased",
            "fence": {"$gte": self.first, "$lt": self.first + len(self.ids)},
        }

    @property
    def leasing(self) -> list[Document]:
        return [
            {
                "$set": {
                    "status": "leased",
                    "lease_owner": literal(self.owner),
                    "lease_until": later(self.lease),
                    "fence": {"$add": [self.first, {"$indexOfArray": [literal(list(self.ids)), "$_id"]}]},
                    "attempts": {"$add": ["$attempts", 1]},
                    "attempts_total": {"$add": ["$attempts_total", 1]},
                }
            }
        ]

    @property
    def halves(self) -> tuple[Self, Self]:
        middle = len(self.ids) // 2
        return replace(self, ids=self.ids[:middle]), replace(self, ids=self.ids[middle:], first=self.first + middle)
