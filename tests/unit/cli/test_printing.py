"""Whatever commands print goes through one door, where nothing is left that a terminal would obey."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import waypost.cli
from waypost.kernel.text import harmless, harmless_json


@given(st.text())
def test_json_stays_the_same_document(text: str) -> None:
    encoded = msgspec.json.encode({"name": text.encode(errors="replace").decode()}).decode()
    shown = harmless_json(encoded)
    assert msgspec.json.decode(shown) == msgspec.json.decode(encoded)
    assert harmless(shown) == shown


@given(st.text())
def test_text_keeps_its_letters_and_loses_its_commands(text: str) -> None:
    shown = harmless(text)
    assert all(letter.isprintable() or letter in "\n\t" for letter in shown if ord(letter) < 0xA0)
    assert shown == text or not text.isprintable()


@pytest.mark.parametrize("text", ["Łódź", "日本語", "👩‍👩‍👧", "می‌خواهم", "a\tb\nc", "\\x1b"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


def test_no_command_prints_past_the_door() -> None:
    folder = Path(waypost.cli.__file__).parent
    past = [file.name for file in folder.glob("*.py") if file.name != "frame.py" and "click.echo" in file.read_text()]
    assert past == []
