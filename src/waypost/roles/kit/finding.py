"""What a check of `waypost doctor` found."""

import msgspec

from waypost.kernel.configuration import redact_url
from waypost.kernel.errors import StoreTrouble, WaypostError


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`advice` is the next command, or what else to do; what is not `needed` is a hint."""

    name: str
    ok: bool
    found: str
    advice: str | None = None
    needed: bool = True


def trouble(name: str, error: Exception, advice: str) -> Finding:
    """What went wrong while `name` was checked. `advice` is for a store that is away, because it names the setting, and
    for errors that have none of their own.
    """
    if isinstance(error, StoreTrouble):
        found = str(error)
    elif isinstance(error, WaypostError):
        found, advice = str(error), error.next_step or advice
    elif isinstance(error, OSError):
        found = error.strerror or str(error)
    else:
        found = f"a defect in Waypost: {type(error).__name__}: {error}"
    return Finding(name=name, ok=False, found=redact_url(found), advice=redact_url(advice))
