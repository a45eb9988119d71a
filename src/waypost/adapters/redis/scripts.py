"""Lua lives in .lua files, one folder per port; a folder's prologue.lua is put before each of its scripts."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

_PROLOGUE = "prologue"


@dataclass(frozen=True)
class Script:
    name: str
    text: str
    # What Redis calls it. Known without asking, so that a script need not be loaded before it is called.
    sha: str


def load_scripts(folder: str) -> Mapping[str, Script]:
    texts = {
        file.name.removesuffix(".lua"): file.read_text(encoding="utf-8")
        for file in resources.files(__package__).joinpath(folder).iterdir()
        if file.name.endswith(".lua")
    }
    prologue = texts.pop(_PROLOGUE, "")
    return {name: make_script(name, f"{prologue}\n{text}") for name, text in texts.items()}


def make_script(name: str, text: str) -> Script:
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
