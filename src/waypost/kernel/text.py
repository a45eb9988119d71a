"""What can be written as UTF-8."""


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
