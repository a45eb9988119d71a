"""The blocks as a process knows them: read again within seconds of a change in any process."""

from collections.abc import Awaitable, Callable, Sequence

from waypost.kernel.clock import utc_now
from waypost.scaling.repeating import repeat
from waypost.sharing.blocks.block import Block, BlockKind, TooManyBlocks, UnknownBlock, block_value
from waypost.sharing.blocks.store import BlockStore
from waypost.telemetry.logs import get_logger

log = get_logger("links")

_EVERY_SECONDS = 2.0


async def _tell_nobody(_hosts: frozenset[str]) -> None:
    pass


class LiveBlocks:
    """`configured` hosts, from the settings, stay blocked. `tell` is called with all hosts when they change."""

    def __init__(
        self,
        store: BlockStore,
        configured: frozenset[str] = frozenset(),
        tell: Callable[[frozenset[str]], Awaitable[None]] = _tell_nobody,
    ) -> None:
        self._store, self._configured, self._tell = store, configured, tell
        self._version = -1
        self.hosts, self.words = configured, frozenset[str]()

    async def look(self) -> None:
        """Reads the blocks, if they have changed."""
        version = await self._store.version()
        if version == self._version:
            return
        found, before = await self._store.list(), self.hosts
        self.hosts = self._configured | {each.value for each in found if each.kind == "host"}
        self.words = frozenset(each.value for each in found if each.kind == "word")
        self._version = version
        if self.hosts != before:
            await self._tell(self.hosts)

    async def keep_looking(self) -> None:
        """Looks every two seconds until cancelled; while the store is away, what was known stays."""
        await repeat(self.look, _EVERY_SECONDS, log=log, failing="blocks are not read again for now", at_once=False)

    async def list(self) -> Sequence[Block]:
        return await self._store.list()

    async def add(self, kind: BlockKind, text: str, by: str) -> Block:
        block = Block(kind=kind, value=block_value(kind, text), added_at=utc_now(), added_by=by)
        if not await self._store.add(block):
            raise TooManyBlocks
        await self.look()
        return block

    async def remove(self, kind: BlockKind, text: str) -> str:
        """Returns how the host or word is spelt. Raises UnknownBlock."""
        value = block_value(kind, text)
        if not await self._store.remove(kind, value):
            raise UnknownBlock(f"the {kind} {value[:80]!r} is not blocked here", next_step="waypost block list")
        await self.look()
        return value
