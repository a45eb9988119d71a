"""Text folding: one plain ASCII form for matching what people type."""

import unicodedata

# NFKD does not take these apart, and dropping what remains would turn Łódź into odz.
_LETTERS = str.maketrans(
    {
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "ı": "i",
        "ĸ": "k",
        "ŋ": "n",
        "ø": "o",
        "ŧ": "t",
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
    }
)


def fold(text: str) -> str:
    """Lower case, no accents, ASCII letters and digits alone; words run together."""
    # Once more after taking apart: NFKD turns signs such as ™ into capitals.
    spread = unicodedata.normalize("NFKD", text.casefold()).casefold().translate(_LETTERS)
    return "".join(letter for letter in spread if letter.isascii() and letter.isalnum())


def slug(text: str) -> str:
    """The folded words of a text, joined by hyphens."""
    return "-".join(folded for word in text.split() if (folded := fold(word)))
