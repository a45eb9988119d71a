"""The files that a definition's paths stand for, and what each is called in shard keys."""

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from waypost.adapters.sources.files.formats import FileUnusable
from waypost.adapters.sources.files.streams import COMPRESSIONS

_LONGEST_NAME = 60


def find_files(paths: Sequence[str], folder: Path) -> dict[str, Path]:
    """Files by name. Raises FileUnusable when one that is named without a pattern is missing, or when there is none."""
    for path in paths:
        if not glob.has_magic(path) and not (folder / path).is_file():
            raise FileUnusable(f"{folder / path} is not there, or is not a file")
    files = list_files(paths, folder)
    if not files:
        raise FileUnusable(f"no file matches {', '.join(paths)} in {folder}")
    return files


def list_files(paths: Sequence[str], folder: Path) -> dict[str, Path]:
    """Returns the files that exist, by name and in the order of their paths."""
    named: dict[str, Path] = {}
    for path in sorted({path for pattern in paths for path in _matching(pattern, folder)}):
        other = named.setdefault(name_of(path, folder), path)
        if other != path:
            raise FileUnusable(f"{other} and {path} would have the same name in shard keys; rename one of them")
    return named


def name_of(path: Path, folder: Path) -> str:
    """Returns a name that is readable, different for each path, and the same wherever the folder lies."""
    relative = os.path.relpath(path, folder)
    digest = hashlib.blake2s(os.fsencode(relative), digest_size=4).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._+]+", "-", stem_of(path)).strip("-.")[:_LONGEST_NAME]
    return f"{readable or 'file'}-{digest}"


def ending_of(path: Path) -> str:
    """The ending that tells the format, without that of a compression."""
    name = path.name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return Path(name).suffix


def stem_of(path: Path) -> str:
    name = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    return Path(name).stem


def _matching(pattern: str, folder: Path) -> list[Path]:
    found = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    paths = [Path(os.path.normpath(folder / each)) for each in found]
    return [path for path in paths if path.is_file()]
