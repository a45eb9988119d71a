"""How often clients call Redis, by its own count, whatever runs inside its scripts."""

from dataclasses import dataclass

from redis import Redis

# Ours: who counts must not count itself.
_COUNTING = frozenset({"info", "client|setinfo", "hello"})


@dataclass(frozen=True)
class Calls:
    counted: dict[str, int]

    @classmethod
    def read(cls, redis: Redis) -> "Calls":
        stats = redis.info("commandstats")
        return cls({name.removeprefix("cmdstat_"): figures["calls"] for name, figures in stats.items()})

    def since(self, before: "Calls", *, in_scripts: frozenset[str]) -> int:
        """Calls by clients. Redis counts a command alike within a script and without, so a limiter has to say which
        commands it only uses within.
        """
        left_out = _COUNTING | in_scripts
        return sum(count - before.counted.get(name, 0) for name, count in self.counted.items() if name not in left_out)
