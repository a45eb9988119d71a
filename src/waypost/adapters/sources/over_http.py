"""What sources have in common whose provider is asked over HTTP."""

from waypost.adapters.sources.http import ProviderClient
from waypost.importing.base import BaseSource


class HttpSource(BaseSource):
    """A subclass sets the client, and what the budget is counted by."""

    _client: ProviderClient
    _budget_key: str

    @property
    def budget_key(self) -> str:
        return self._budget_key

    async def close(self) -> None:
        await self._client.close()
