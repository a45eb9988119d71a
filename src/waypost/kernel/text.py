"""What can be written as UTF-8."""


def is_text(text: str) -> bool:
    """JSON and arguments of commands can spell what is no character at all, and what no hash takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    """The same, with a question mark for whatever is no character: the bytes of a file's name need not be text."""
    return text.encode(errors="replace").decode()
