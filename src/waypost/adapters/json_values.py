"""JSON compared by its value and not by its spelling.

White space, the order of keys, escapes and the spelling of numbers do not matter. Numbers are equal if they are so to
the last digit: 1, 1.0 and 10e-1, but not 0.1 and 0.10000000000000000001. If a key occurs twice, the last one counts,
as it does when a record becomes a place. A text that is not JSON, is nested too deeply or is larger than a mebibyte is
compared byte by byte. Only a whole number of more than a hundred digits is a different one when it is written with an
exponent.
"""

import msgspec

# A double tells all decimal numbers with this many digits apart, unless they are very large or very small.
_EXACT_DIGITS = 15
_EXACT_POWER = 300
_LONGEST_WHOLE = 100
# No place needs more, and a value of two bytes takes fifty in memory.
_LARGEST = 1024 * 1024


def by_value(text: bytes) -> bytes:
    """Returns the same bytes for the same value, and different bytes for different values."""
    try:
        return _encode(_decode(text)) if len(text) <= _LARGEST else _itself(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _itself(text)


def _itself(text: bytes) -> bytes:
    """Marks a text that is compared byte by byte: no JSON begins like this."""
    return b"\0" + text


def _number(text: str) -> int | float | msgspec.Raw:
    """Reads a number that has a point or an exponent."""
    if len(text) <= _EXACT_DIGITS + 1 and "e" not in text and "E" not in text:
        value = float(text)
        return int(value) if value.is_integer() else value
    return _spelt_anew(text)


def _spelt_anew(text: str) -> int | float | msgspec.Raw:
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return 0
    sign = "-" if text.startswith("-") else ""
    power = int(exponent or "0") - len(fraction) + len(digits) - len(significant)
    if power >= 0 and len(significant) + power <= _LONGEST_WHOLE:
        return int(f"{sign}{significant}{'0' * power}")
    if power < 0 and len(significant) <= _EXACT_DIGITS and abs(power + len(significant)) < _EXACT_POWER:
        return float(f"{sign}{significant}e{power}")
    return msgspec.Raw(f"{sign}{significant}e{power}".encode())


_decode = msgspec.json.Decoder(float_hook=_number).decode
_encode = msgspec.json.Encoder(order="sorted").encode
