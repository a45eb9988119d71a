"""How words are heard, roughly: enough to notice two that would be confused on the phone."""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Sounding:
    """A language's rules, from its vocabulary: each of `rules` is a pattern and the sound heard instead.

    They are applied in order to the word as it is spelt, in lower case; a rule writes capitals so that later rules do
    not take a sound for a letter, and a space so that two sounds do not merge. Then each letter of the first text in
    `blurred` becomes the letter at the same position in the second.
    """

    rules: tuple[tuple[str, str], ...] = ()
    blurred: tuple[str, str] = ("", "")

    def key(self, word: str) -> str:
        """A text that is equal for words that sound alike.

        It errs on the side of caution: words that share a key need not be homophones, but there are enough words to do
        without one of them.
        """
        heard = word
        for pattern, sound in self._compiled:
            heard = pattern.sub(sound, heard)
        heard = heard.upper().translate(self._table)
        return re.sub(r"(.)\1+", r"\1", heard).replace(" ", "")

    @cached_property
    def _compiled(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        return tuple((re.compile(pattern), sound) for pattern, sound in self.rules)

    @cached_property
    def _table(self) -> dict[int, int]:
        return str.maketrans(*self.blurred)
