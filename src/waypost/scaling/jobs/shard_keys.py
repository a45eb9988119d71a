"""Shard keys: stable, readable, parseable names for a part of a scope.

    key   = source "/" part *( "/" part )
    part  = axis ":" value
    axis  = lower-case letters
    value = letters, digits and . _ : , + -

For example `ocm/country:DE/full:2026-02-21`. What the values on an axis mean is up to the source that plans along it.
"""

import re
from dataclasses import dataclass

from waypost.kernel.errors import AskedWrongly

# What the keys of chores, our own jobs that ask no provider, begin with.
OURSELVES = "waypost"
_SOURCE = re.compile(r"[a-z][a-z0-9-]*")
_PART = re.compile(r"([a-z]+):([A-Za-z0-9._:,+-]+)")


class BadShardKey(AskedWrongly):
    """A text is not a shard key."""


@dataclass(frozen=True, slots=True)
class ShardKey:
    source: str
    parts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "/".join([self.source, *(f"{axis}:{value}" for axis, value in self.parts)])

    def __getitem__(self, axis: str) -> str:
        """The value on an axis; a key that lacks the axis is a bad key, not a bug."""
        for name, value in self.parts:
            if name == axis:
                return value
        raise BadShardKey(f"{self} has no {axis}")

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(axis for axis, _ in self.parts)

    def having(self, axis: str, value: object) -> "ShardKey":
        """The same key with this value on the axis: in its place where the key has the axis, else at the end."""
        part = (axis, str(value))
        if axis not in self.axes:
            return ShardKey(self.source, (*self.parts, part))
        return ShardKey(self.source, tuple(part if name == axis else (name, old) for name, old in self.parts))

    @classmethod
    def parse(cls, text: str) -> "ShardKey":
        source, *parts = text.split("/")
        matches = [_PART.fullmatch(part) for part in parts]
        if not _SOURCE.fullmatch(source) or not matches or None in matches:
            raise BadShardKey(f"{text!r} is not a shard key; it should look like ocm/country:DE/full:2026-02-21")
        return cls(source, tuple((match[1], match[2]) for match in matches if match))
