"""How settings are found: flag, variable, file, default; and what is said about those that cannot be used."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.configuration import Configuration, Secret, SettingError, redact_url, setting
from waypost.kernel.quantities import parse_count


@dataclass(frozen=True)
class Garden:
    trees: int = setting("garden.trees", "3", parse=parse_count(0, 99), explain="how many trees")
    owner: str = setting("garden.owner", "nobody", explain="whose it is", variable="WAYPOST_GARDENER")
    gate: Secret = setting("garden.gate", "", parse=Secret, explain="what opens the gate")  # noqa: RUF009 - makes a field


FLAG = {"garden.trees": "1"}
VARIABLE = {"WAYPOST_GARDEN_TREES": "2"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "waypost.toml"
    path.write_text("[garden]\ntrees = 5\n")
    return path


def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(file: Path) -> None:
    assert Configuration(FLAG, VARIABLE, file).room(Garden).trees == 1
    assert Configuration({}, VARIABLE, file).room(Garden).trees == 2
    assert Configuration({}, {}, file).room(Garden).trees == 5
    assert Configuration({}, {}, None).room(Garden).trees == 3


def test_where_a_value_came_from_is_remembered(file: Path) -> None:
    def origin(configuration: Configuration) -> str:
        configuration.room(Garden)
        return configuration.found["garden.trees"].origin

    assert origin(Configuration(FLAG, VARIABLE, file)) == "flag"
    assert origin(Configuration({}, VARIABLE, file)) == "WAYPOST_GARDEN_TREES"
    assert origin(Configuration({}, {}, file)) == str(file)
    assert origin(Configuration({}, {}, None)) == "default"


def test_a_setting_may_have_a_variable_of_its_own() -> None:
    assert Configuration({}, {"WAYPOST_GARDENER": "Ada"}, None).room(Garden).owner == "Ada"
    assert Configuration({}, {"WAYPOST_GARDEN_OWNER": "Ada"}, None).room(Garden).owner == "nobody"


def test_a_room_cannot_be_changed() -> None:
    room = Configuration({}, {}, None).room(Garden)
    with pytest.raises(dataclasses.FrozenInstanceError):
        room.trees = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("garden.trees = 7", 7),
        ('garden.trees = "7"', 7),
        ("garden = { trees = 7 }", 7),
    ],
)
def test_the_file_may_be_written_in_any_way_that_toml_knows(tmp_path: Path, written: str, read: int) -> None:
    path = tmp_path / "waypost.toml"
    path.write_text(written)
    assert Configuration({}, {}, path).room(Garden).trees == read


def test_a_list_in_the_file_is_what_commas_are_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "waypost.toml"
    path.write_text('garden.owner = ["Ada", "Bo"]')
    assert Configuration({}, {}, path).room(Garden).owner == "Ada,Bo"


@pytest.mark.parametrize(
    ("flags", "environ", "origin"),
    [
        ({"garden.trees": "many"}, {}, "flag"),
        ({}, {"WAYPOST_GARDEN_TREES": "many"}, "WAYPOST_GARDEN_TREES"),
    ],
)
def test_a_bad_value_is_told_with_its_setting_and_its_origin(
    flags: dict[str, str], environ: dict[str, str], origin: str
) -> None:
    with pytest.raises(SettingError) as refusal:
        Configuration(flags, environ, None).room(Garden)
    assert str(refusal.value) == f"garden.trees ({origin}): 'many' is not a whole number from 0 to 99"
    assert (refusal.value.parameter, refusal.value.exit_code) == ("garden.trees", 2)


def test_a_bad_value_in_the_file_names_the_file(file: Path) -> None:
    file.write_text("garden.trees = 100")
    with pytest.raises(SettingError, match=r"^garden\.trees \(.*waypost\.toml\): '100' is not"):
        Configuration({}, {}, file).room(Garden)


def test_an_unknown_name_in_the_file_is_an_error_that_suggests_the_right_one(file: Path) -> None:
    file.write_text("[garden]\ntress = 5\n")
    configuration = Configuration({}, {}, file)
    configuration.room(Garden)
    with pytest.raises(
        SettingError, match=r"there is no setting garden\.tress\. Did you mean garden\.trees\?"
    ) as refusal:
        configuration.refuse_unknown_names()
    assert str(file) in str(refusal.value)
    assert str(file) in str(refusal.value.next_step)


def test_an_unknown_variable_is_only_warned_about() -> None:
    configuration = Configuration(
        {}, {"WAYPOST_GARDEN_TREE": "5", "WAYPOST_PORT": "tcp://10.0.0.1:80", "HOME": "/"}, None
    )
    configuration.room(Garden)
    assert list(configuration.unknown_variables()) == [
        "there is no setting WAYPOST_GARDEN_TREE. Did you mean WAYPOST_GARDEN_TREES?",
        "there is no setting WAYPOST_PORT.",
    ]


@pytest.mark.parametrize(
    "content", [b"[garden", b"trees = ", b"a = 1\na = 2", b"\xff\xfe", b"garden.gate = hunter2-in-the-open"]
)
def test_a_broken_file_is_told_by_its_name_and_without_its_content(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingError, match=r"waypost\.toml cannot be read: ") as refusal:
        Configuration({}, {}, file)
    assert "hunter2" not in str(refusal.value)


def test_a_file_that_may_not_be_read_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        Configuration({}, {}, tmp_path)


@given(st.text(min_size=1))
def test_a_secret_is_stars_wherever_it_is_printed(text: str) -> None:
    secret = Secret(text)
    assert {str(secret), repr(secret), f"{secret}", f"{secret!r:>3}"} == {"***"}
    assert (secret.reveal(), bool(secret)) == (text, True)


def test_no_secret_is_shown_as_nothing() -> None:
    assert (str(Secret("")), bool(Secret(""))) == ("", False)


def test_a_secret_stays_one_in_its_room_and_in_what_was_found() -> None:
    configuration = Configuration({}, {"WAYPOST_GARDEN_GATE": "hunter2"}, None)
    room = configuration.room(Garden)
    found = configuration.found["garden.gate"]
    assert room.gate.reveal() == "hunter2"
    assert found.shown() == "***"
    for text in (repr(room), str(room), repr(found), repr(configuration.found), str(dataclasses.asdict(room))):
        assert "hunter2" not in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:hunter2@db:5432/waypost", "postgresql://ada:***@db:5432/waypost"),
        ("redis://:hunter2@cache", "redis://:***@cache"),
        ("amqp://a:hunter2@one,amqp://b:hunter2@two", "amqp://a:***@one,amqp://b:***@two"),
        ("postgresql://ada:hunter2@a:5432,b:5432/waypost", "postgresql://ada:***@a:5432,b:5432/waypost"),
        ("postgresql://ada:hun,ter2@a,[::1]:5432/waypost", "postgresql://ada:***@a,[::1]:5432/waypost"),
        ("redis+cluster://:hunter2@a:1,b:2", "redis+cluster://:***@a:1,b:2"),
        ("redis+sentinel://a:1/main?sentinel_password=hunter2", "redis+sentinel://a:1/main?sentinel_password=***"),
        ("redis://:hun,ter2@a,redis+cluster://:hunter2@b,c", "redis://:***@a,redis+cluster://:***@b,c"),
        ("redis://:hunter2/with/slashes@cache/0", "redis://:***@cache/0"),
        ("redis://:hunter2@home@cache/0", "redis://:***@cache/0"),
        ("postgresql://db/waypost?user=ada&password=hunter2", "postgresql://db/waypost?user=ada&password=***"),
        ("https://example.org:8080/a:b", "https://example.org:8080/a:b"),
        ("https://ada@example.org/", "https://ada@example.org/"),
        ("", ""),
    ],
)
def test_the_password_inside_a_url_is_replaced_by_stars(url: str, shown: str) -> None:
    assert redact_url(url) == shown
