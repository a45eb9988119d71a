"""What can be written as UTF-8, and what can be shown to a person."""

# What a terminal obeys instead of showing it: control characters but for the end of a line and the tab, and those that
# turn the direction of reading around.
_OBEYED = (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _OBEYED}  # noqa: PLR2004 - a byte
_IN_JSON = {code: f"\\u{code:04x}" for code in _OBEYED}


def is_text(text: str) -> bool:
    """Whether it can be encoded: JSON and command arguments can spell what is not a character, and no hash takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    """The text, with a question mark for whatever is not a character: the bytes of a file's name need not be text."""
    return text.encode(errors="replace").decode()


def harmless(text: str) -> str:
    """The text with escapes that can be read for whatever a terminal would obey."""
    return text.translate(_SHOWN)


def harmless_json(document: str) -> str:
    """The same JSON document without anything that a terminal would obey."""
    return document.translate(_IN_JSON)
