"""`waypost vocabulary check` tells a person what is wrong with words."""

import json
from pathlib import Path

import pytest

from waypost.cli.root import waypost
from waypost.sharing.phrases.vocabulary import UnknownLanguage, shipped


def check(*what: str) -> int:
    code = waypost.main(["vocabulary", "check", *what], standalone_mode=False)
    assert isinstance(code, int)
    return code


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_we_ship_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert check() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(shipped().languages)
    assert all("nothing is wrong" in line for line in lines)


def test_a_file_is_checked_with_what_it_adds_to(capsys: pytest.CaptureFixture[str]) -> None:
    Path("en.toml").write_text('[words]\nadverbs = ["zestily", "abruptly"]\n[nouns.food]\nany = ["flour"]\n')
    assert check("en.toml") == 1
    assert capsys.readouterr().out.splitlines() == [
        "en.toml: 2 problems",
        "  'abruptly' stands after 'zestily'; words stand in alphabetical order",
        "  'flour' and 'flower' sound alike; leave one of them out",
    ]


def test_a_file_that_cannot_be_read_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("words/eo.toml", "English.toml") == 1
    assert capsys.readouterr().out.splitlines() == [
        "words/eo.toml: 1 problem",
        "  words/eo.toml cannot be read: No such file or directory",
        "English.toml: 1 problem",
        "  English.toml is not named after a language; name it after its code, such as pt.toml or pt-br.toml",
    ]


def test_the_folder_of_the_settings_is_checked_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAYPOST_LINKS_VOCABULARIES", "words")
    Path("words").mkdir()
    Path("words/eo.toml").write_text('name = "Esperanto"\nown_name = "Esperanto"\n')
    assert check("--json") == 1
    found = {each["language"]: each for each in json.loads(capsys.readouterr().out)["vocabularies"]}
    assert set(found) == {*shipped().languages, "eo"}
    assert found["eo"]["file"] == "words/eo.toml"
    assert found["eo"]["problems"] == ["there must be adverbs, adjectives and nouns, some of each"]
    assert found["en"]["file"] is None
    assert found["en"]["phrases"] > 100_000_000
    assert found["en"]["themes"]["animals"] > 10_000_000
    assert check("eo") == 1
    assert check("en") == 0


def test_an_unknown_language_gets_a_suggestion() -> None:
    with pytest.raises(UnknownLanguage, match=r"Did you mean en\?"):
        check("eng")
