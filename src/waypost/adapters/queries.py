"""Statements live in .sql files beside the code that runs them, each after a line `-- name: what it does`."""

import re
from importlib import resources


def load_queries(package: str, file: str) -> dict[str, str]:
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    _, *blocks = re.split(r"^-- (\w+):.*$", text, flags=re.MULTILINE)
    return {name: sql.strip() for name, sql in zip(blocks[::2], blocks[1::2], strict=True)}
