"""How phrases are compared, and which ones a person may choose by hand."""

import unicodedata
from itertools import pairwise
from urllib.parse import unquote

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.folding import fold

SHORTEST = 3
LONGEST = 60
SEPARATORS = "-_ "
# m becomes rn and not the reverse, so that the order of replacement does not matter: "vvv" has one reading.
_LOOKS = str.maketrans({"0": "o", "1": "l", "i": "l", "m": "rn", "w": "vv", "d": "cl"})

# Folded names of everything that is, or may one day be, a route at the root or beside phrases in the API: a phrase
# would hide the route, or be hidden by it.
RESERVED = frozenset(
    """
    api auth account accounts v1 v2 v3 v4 v5 graphql rpc oauth callback webhooks events keys
    collections conformance queryables tiles tilesets styles places place imports jobs snapshots features
    links link bulk history visits report reports abuse stats qr preview expand
    docs redoc swagger openapi openapijson openapiyaml
    livez readyz healthz startupz health live ready status ping version metrics debug
    robots robotstxt favicon faviconico favicons static assets images media index indexhtml indexphp
    sitemap sitemapxml humanstxt adstxt securitytxt security wellknown manifest manifestjson manifestwebmanifest
    serviceworker serviceworkerjs appletouchicon appletouchiconpng appletouchiconprecomposedpng browserconfigxml
    admin login logout signin signout signup register console dashboard settings fleet map search
    about contact help imprint legal privacy terms waypost www root home null undefined
    """.split()  # noqa: SIM905 - a quoted word a line would hide the groups
)


class PhraseRefused(AskedWrongly):
    """A phrase chosen by hand cannot be used."""

    def __init__(self, message: str) -> None:
        super().__init__(message, parameter="phrase")


def fold_phrase(text: str) -> str:
    """A text that is equal for phrases that lead to the same link: case, accents and separators do not count."""
    return fold(text)


def looks(text: str) -> str:
    """A text that is equal for phrases that look alike in small or careless writing: 0 and o, 1, l and i, rn and m."""
    return fold(text).translate(_LOOKS)


def phrase_in(text: str) -> str:
    """The phrase in a whole link, without a query, fragment or preview sign; a bare phrase stays as it is."""
    address = text.strip().partition("?")[0].partition("#")[0].rstrip("/")
    return unquote(address.rpartition("/")[2]).removesuffix("+")


def is_phrase(text: str) -> bool:
    """Whether this could be a link's phrase at all; folding alone would turn almost anything into one."""
    composed = unicodedata.normalize("NFC", text)
    return len(composed) <= 2 * LONGEST and all(
        letter in SEPARATORS or (letter.isalnum() and fold_phrase(letter)) for letter in composed
    )


def check_custom(text: str) -> str:
    """Returns the phrase as it will be shown: as typed, without surrounding space. Raises PhraseRefused."""
    # Composed, so that an accent typed as a mark of its own is part of its letter.
    phrase = unicodedata.normalize("NFC", text.strip())
    # Too long even with a separator after every letter; no need to look at each letter.
    if len(phrase) > 2 * LONGEST:
        raise PhraseRefused(f"the phrase is too long; choose one that has {SHORTEST} to {LONGEST} letters and digits")
    _refuse_shape(phrase)
    for letter in phrase:
        _refuse_letter(letter)
    folded = fold_phrase(phrase)
    if not SHORTEST <= len(folded) <= LONGEST:
        raise PhraseRefused(
            f"the phrase has {len(folded)} letters and digits; choose one that has {SHORTEST} to {LONGEST}"
        )
    if folded in RESERVED:
        raise PhraseRefused(f"{phrase!r} is kept for pages of this site; add a word to it, such as {phrase}-one")
    return phrase


def _refuse_shape(phrase: str) -> None:
    if phrase.startswith("-"):
        raise PhraseRefused("a phrase cannot begin with a hyphen, where the site's own pages live; leave it out")
    if phrase[:1] in tuple(SEPARATORS) or phrase[-1:] in tuple(SEPARATORS):
        raise PhraseRefused(
            "a phrase begins and ends with a letter or a digit; leave out the hyphen or underscore there"
        )
    if any(one in SEPARATORS and two in SEPARATORS for one, two in pairwise(phrase)):
        raise PhraseRefused("between two words stands one hyphen, underscore or space; leave out the others")


def _refuse_letter(letter: str) -> None:
    if letter in SEPARATORS:
        return
    if not (letter.isalpha() or letter.isdecimal()):
        raise PhraseRefused(
            f"a phrase cannot contain {letter!r}; use letters, digits, and single hyphens, underscores or spaces"
        )
    # The letter would be ignored on lookup, so a different phrase would lead here.
    if not fold_phrase(letter):
        raise PhraseRefused(
            f"{letter!r} has no form in the letters a to z; spell the phrase in Latin letters and digits"
        )
