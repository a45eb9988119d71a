"""Facts on MongoDB."""

from pymongo.errors import DuplicateKeyError

from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.mongodb.errors import at_the_border

_QUICK = 10


class MongoFacts:
    def __init__(self, database: MongoDatabase) -> None:
        self._facts = database.database.facts

    @at_the_border(_QUICK)
    async def get(self, name: str) -> str | None:
        found = await self._facts.find_one({"_id": name})
        return found["value"] if found else None

    @at_the_border(_QUICK)
    async def set(self, name: str, value: str) -> None:
        await self._facts.update_one({"_id": name}, {"$set": {"value": value}}, upsert=True)

    @at_the_border(_QUICK)
    async def replace(self, name: str, old: str | None, new: str) -> bool:
        if old is not None:
            changed = await self._facts.update_one({"_id": name, "value": old}, {"$set": {"value": new}})
            return changed.matched_count == 1
        try:
            await self._facts.insert_one({"_id": name, "value": new})
        except DuplicateKeyError:
            return False
        return True
