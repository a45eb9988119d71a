"""How long a phrase takes in each language: its words, drawn by their number, and written as one."""

import time
from statistics import median

from waypost.sharing.phrases.formats import join
from waypost.sharing.phrases.space import Space
from waypost.sharing.phrases.vocabulary import Vocabularies

_KEY = b"a key for measuring"
_ROUNDS = 5


def measure_phrases(count: int) -> dict[str, float]:
    """Microseconds, by language; and of the next space, whose phrases have a word more."""
    vocabularies, found = Vocabularies(), {}
    for language in vocabularies.languages:
        vocabulary = vocabularies.vocabulary(language)
        found[language] = _micros(Space(language, None, vocabulary, _KEY), count)
        found[f"{language}, four words"] = _micros(Space(language, None, vocabulary.longer(), _KEY), count)
    return found


def _micros(space: Space, count: int) -> float:
    _draw(space, range(min(count, space.size // 2)))
    return median(_draw(space, range(start, start + count)) for start in range(0, _ROUNDS * count, count))


def _draw(space: Space, numbers: range) -> float:
    began = time.perf_counter()
    for number in numbers:
        join(space.words(number), "kebab")
    return (time.perf_counter() - began) / len(numbers) * 1e6
