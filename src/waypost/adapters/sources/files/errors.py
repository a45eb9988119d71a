"""What can be wrong with a file. Formats raise FileBroken; callers see FileUnusable, which names the file."""

from waypost.kernel.errors import TerminalError


class FileUnusable(TerminalError):
    """A file is gone, may not be read, is damaged, or changes all the time; an import of it would not be whole."""


class FileBroken(Exception):
    """The file does not hold together: there is no telling where its next record begins, or that there is none."""


def missing_library(needed_for: str) -> FileUnusable:
    return FileUnusable(f"{needed_for} needs pyarrow, which is not installed", next_step="pip install 'waypost[files]'")
