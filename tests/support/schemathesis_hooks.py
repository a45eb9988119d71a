"""Teaches schemathesis to send JSON lines."""

from typing import Any

import msgspec
import schemathesis


@schemathesis.serializer("application/x-ndjson")
def to_lines(_context: Any, value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"
