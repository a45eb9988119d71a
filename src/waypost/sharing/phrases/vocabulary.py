"""The known vocabularies: those we ship, and those in the operator's own folder."""

import re
from functools import cache
from importlib import resources
from pathlib import Path

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.sharing.phrases.language import BadVocabulary, Language, Vocabulary
from waypost.sharing.phrases.reading import add, read_addition, read_language

_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_SHIPPED = resources.files(__package__) / "vocabularies"


class UnknownLanguage(AskedWrongly):
    """There is no vocabulary in this language."""


class Vocabularies:
    """Files in the folder are read at once, so that a mistake shows at start-up; shipped ones are read when needed.

    A file for a language that we ship adds words and themes to it. Raises BadVocabulary.
    """

    def __init__(self, folder: Path | None = None) -> None:
        # Only a name listed here becomes a file name: what people type never reaches the file system.
        self._shipped = {name.removesuffix(".toml"): name for name in _toml_files()}
        self._added = files_in(folder) if folder else {}
        self._languages: dict[str, Language] = {}
        self._vocabularies: dict[tuple[str, str | None], Vocabulary] = {}
        for code in self._added:
            self.vocabulary(code)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({*self._shipped, *self._added}))

    def themes(self, language: str) -> tuple[str, ...]:
        return self.language(language).themes

    def language(self, code: str) -> Language:
        known = self.languages
        if code not in known:
            raise UnknownLanguage(
                f"there are no phrases in {code!r}; there are in {', '.join(known)}.{did_you_mean(code, known)}",
                parameter="language",
            )
        if code not in self._languages:
            self._languages[code] = self._read(code)
        return self._languages[code]

    def vocabulary(self, language: str, theme: str | None = None) -> Vocabulary:
        asked = language, theme
        if asked not in self._vocabularies:
            self._vocabularies[asked] = self.language(language).vocabulary(theme)
        return self._vocabularies[asked]

    def _read(self, code: str) -> Language:
        if path := self._added.get(code):
            return read_file(path)[1]
        name = self._shipped[code]
        return read_language(code, (_SHIPPED / name).read_text(encoding="utf-8"), name)


def read_file(path: Path) -> tuple[Language, Language]:
    """Returns the file's own content, and the language it makes together with what we ship. Raises BadVocabulary."""
    code = _code_of(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadVocabulary(f"{path} cannot be read: {reason}") from None
    if code not in shipped().languages:
        language = read_language(code, text, str(path))
        return language, language
    addition = read_addition(shipped().language(code), text, str(path))
    return addition, add(shipped().language(code), addition)


def _code_of(path: Path) -> str:
    """The code of a file's language, taken from its name."""
    if path.suffix != ".toml" or not _CODE.fullmatch(path.stem):
        raise BadVocabulary(
            f"{path} is not named after a language; name it after its code, such as pt.toml or pt-br.toml"
        )
    return path.stem


@cache
def shipped() -> Vocabularies:
    return Vocabularies()


def load(language: str, theme: str | None = None) -> Vocabulary:
    """The vocabulary of a language that we ship."""
    return shipped().vocabulary(language, theme)


def _toml_files() -> list[str]:
    return sorted(file.name for file in _SHIPPED.iterdir() if file.name.endswith(".toml"))


def files_in(folder: Path) -> dict[str, Path]:
    """The vocabulary files in a folder, by language code."""
    if not folder.is_dir():
        raise BadVocabulary(f"{folder} is not a folder; links.vocabularies names the folder with further vocabularies")
    return {_code_of(path): path for path in sorted(folder.glob("*.toml"))}
