"""How an English word sounds, roughly: enough to notice two that would be confused on the phone."""

import re

# Applied in this order; capitals stand for sounds, so that a later rule does not take them for letters.
_RULES = [
    (re.compile(pattern), heard)
    for pattern, heard in (
        (r"^[kgpm]n", "N"),
        (r"^wr", "R"),
        (r"^(?:ps|x)", "S"),
        (r"^wh(?=o)", "H"),
        (r"^wh", "W"),
        (r"^gh", "G"),
        (r"gh", ""),
        (r"gn(?=s?$)", "N"),
        (r"s[tc](?=le)", "S"),
        (r"m[bn](?=s?$)|lm", "M"),
        (r"lk", "K"),
        (r"ph", "F"),
        (r"sch", "SK"),
        (r"t?ch", "C"),
        (r"sh|[tcs]i(?=[aou])", "X"),
        (r"th", "T"),
        (r"dge?|g(?=[eiy])", "J"),
        (r"s?c(?=[eiy])", "S"),
        (r"ck|c", "K"),
        (r"qu", "KW"),
        (r"x", "KS"),
        # After a vowel these only colour it: flour and flower are one sound.
        (r"(?<=[aeiou])[wy]", ""),
        (r"(?<=.)[hy]", "e"),
    )
]
# A telephone line hardly tells these apart: bat and pad, fan and van, chilly and jelly.
_BLURRED = str.maketrans("BDGJQVZ", "PTKCKFS")


def sound(word: str) -> str:
    """The consonants one hears, in order, with "A" before them when the word begins with a vowel.

    Vowels are left out because they are what differs between speakers. So the key errs on the side of caution: that
    two words share it does not make them homophones, but there are enough words to do without one of the two.
    """
    spelt = word
    for pattern, heard in _RULES:
        spelt = pattern.sub(heard, spelt)
    # Vowels leave a gap until doubled letters are merged, so that "papaya" keeps both of its sounds.
    consonants = re.sub(r"[aeiou]+", " ", spelt).upper().translate(_BLURRED)
    merged = re.sub(r"([A-Z])\1+", r"\1", consonants)
    return ("A" if merged.startswith(" ") else "") + merged.replace(" ", "")
