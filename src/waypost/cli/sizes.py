"""Sizes as people read them."""

_STEP = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def read_aloud(size: int) -> str:
    """A size such as `1.5 MiB`; only small ones are in bytes."""
    if size < _STEP:
        return f"{size} B"
    amount = float(size)
    for unit in _UNITS:
        amount /= _STEP
        if round(amount, 1) < _STEP or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}"
    raise AssertionError
