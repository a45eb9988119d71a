"""Ids: random ones that sort by time, for what we make."""

import os
import time
import uuid


def new_id() -> uuid.UUID:
    """A version 7 UUID: 48 bits of milliseconds, then random bits, so that new rows land at the end of an index."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
