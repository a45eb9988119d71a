"""What can be written as UTF-8."""


def is_text(text: str) -> bool:
    """JSON and arguments of commands can spell what is no character at all, and what no hash takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
