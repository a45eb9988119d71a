"""How words are heard, roughly: enough to notice two that would be confused on the phone."""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Sounding:
    """A language's rules, as its vocabulary has them: `rules` are patterns and what is heard instead.

    They are applied in order to the word as it is spelt, in lower case; a rule writes capitals where a later one shall
    not take a sound for a letter again, and a space where two sounds shall not merge. Then each letter of the first
    text in `blurred` becomes the one below it in the second.
    """

    rules: tuple[tuple[str, str], ...] = ()
    blurred: tuple[str, str] = ("", "")

    def key(self, word: str) -> str:
        """The same for two words that sound alike.

        It errs on the side of caution: that two words share it does not make them homophones, but there are enough
        words to do without one of the two.
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
