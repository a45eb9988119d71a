"""What thousands of small tests need not do each for itself, and other tests do."""

import gc
import os
from collections.abc import Iterator

import pytest

from waypost.sharing.phrases.language import Vocabulary
from waypost.sharing.phrases.vocabulary import Vocabularies, shipped


@pytest.fixture(autouse=True, scope="module")
def _quick_disk() -> Iterator[None]:
    """No power is cut here, so nothing waits for the disk."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="module")
def _words_read_once() -> Iterator[None]:
    """Each server of links reads and checks the words that we ship, and no test changes those."""
    read = Vocabularies.vocabulary

    def vocabulary(self: Vocabularies, language: str, theme: str | None = None) -> Vocabulary:
        return read(self if self._added else shipped(), language, theme)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Vocabularies, "vocabulary", vocabulary)
        yield


def pytest_collection_finish() -> None:
    """Everything that is loaded by now stays, and need not be looked at again by each collection of garbage."""
    gc.collect()
    gc.freeze()
    # Thousands of apps and clients are made and dropped; at Python's own pace a seventh of the time goes into looking.
    gc.set_threshold(20_000, 20, 100)
