"""Keys of a file open what they say while the file says so; one secret of two, each until its own end."""

from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from support.links import NOON
from waypost.access.configured_keys import ConfiguredKeys
from waypost.access.key_file import KeyFileInvalid, add_to_key_file, read_key_file
from waypost.access.key_ring import KeyRing
from waypost.access.keys import KeyExpired, KeyRefused, make_key
from waypost.access.settings import KeysSettings
from waypost.kernel.configuration import Secret

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "keys.toml"
    made.touch(mode=0o600)
    return made


def a_token(key: str = "0123456789ab", letter: str = "x") -> str:
    return f"wp_{key}_{letter * 43}"


def configured(file: Path) -> ConfiguredKeys:
    return ConfiguredKeys(KeysSettings(file=str(file), bootstrap=Secret("")))


def test_a_key_that_is_added_to_a_file_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    keys = [
        make_key('Zoë\'s "other" \\ laptop', ["links:read", "admin"], NOON, NOON + 365 * DAY)[0],
        make_key("ci", ["places:read"], NOON)[0],
    ]
    for key in keys:
        add_to_key_file(path, key)
    found = read_key_file(path)
    assert [(key.id, key.name, key.scopes, key.digest, key.expires_at) for key in found] == [
        (key.id, key.name, key.scopes, key.digest, key.expires_at) for key in keys
    ]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def rotated(file: Path) -> ConfiguredKeys:
    """One key with two secrets, of which the first ends after a day."""
    file.write_text(
        f"[[key]]\nname = 'ci'\nscopes = ['links:write']\ntoken = '{a_token(letter='x')}'\n"
        f"expires_at = {(NOON + DAY).isoformat()}\n"
        f"[[key]]\nname = 'ci'\nscopes = ['links:write']\ntoken = '{a_token(letter='y')}'\n"
    )
    return configured(file)


async def test_two_entries_with_one_id_are_two_secrets_of_one_key(rotated: ConfiguredKeys) -> None:
    now = NOON
    ring = KeyRing(None, rotated, clock=lambda: now)
    assert [(await ring.recognise(a_token(letter=letter))).owner for letter in "xy"] == ["0123456789ab"] * 2
    for wrong in (a_token(letter="z"), a_token("0123456789ac"), ""):
        assert ring.recall(wrong) is None
        with pytest.raises(KeyRefused):
            await ring.recognise(wrong)
    now = NOON + DAY
    assert [ring.recall(a_token(letter=letter)) is None for letter in "xy"] == [True, False]
    with pytest.raises(KeyExpired):
        await ring.recognise(a_token(letter="x"))


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(file: Path) -> None:
    keys = configured(file)
    assert len(keys) == 0
    add_to_key_file(file, make_key("one", ["admin"], NOON)[0])
    keys.look()
    assert [(key.name, kept) for key, kept in keys] == [("one", "file")]
    with capture_logs() as told:
        file.chmod(0o666)
        keys.look()
        keys.look()
        file.unlink()
        keys.look()
    assert [line["log_level"] for line in told] == ["error", "error"]
    assert len(keys) == 1
    file.touch(mode=0o640)
    keys.look()
    assert len(keys) == 0


@pytest.mark.parametrize(
    "text",
    [
        "name = 'no table'",
        "[[key]]\nscopes = ['admin']\ntoken = 'SECRET'",
        "[[key]]\nname = 'a'\nscopes = 'admin'\ntoken = 'SECRET'",
        "[[key]]\nname = 'a'\nscopes = []\ntoken = 'SECRET'",
        "[[key]]\nname = 'a'\nscopes = ['admin']\ntoken = 'SECRET'\nid = '0123456789ab'",
        "[[key]]\nname = 'a'\nscopes = ['admin']\nid = '0123456789ab'\ndigest = 'abc'",
        "[[key]]\nname = 'a'\nscopes = ['admin']\nid = '0123456789AB'\ndigest = '" + "a" * 64 + "'",
        "[[key]]\nname = 'a'\nscopes = ['admin']\ntoken = 'SECRET'\nexpires_at = 2027-01-01T00:00:00",
        "[[key]]\nname = 'a'\nscopes = ['admin']\ntoken = 'SECRET'\nexpires_at = 2027-01-01",
        "[[key]]\nname = 'a'\nscopes = ['admin']\ntoken = 'SECRET'\nexpires_at = 0001-01-01T00:00:00+23:00",
        "[[key]]\nname = ''\nscopes = ['admin']\ntoken = 'SECRET'",
        "[[key]]\ntoken = 'SECRET",
        "\0",
        "#" * (1024 * 1024 + 1),
    ],
)
def test_what_is_wrong_in_a_file_is_told_without_its_secrets(file: Path, text: str) -> None:
    secret = a_token()
    file.write_text(text.replace("SECRET", secret))
    with pytest.raises(KeyFileInvalid) as refused:
        read_key_file(file)
    assert secret[16:] not in str(refused.value)
    assert str(file) not in refused.value.outside


def test_what_is_no_file_is_refused(tmp_path: Path, file: Path) -> None:
    file.write_bytes(b"\xff")
    for path in (tmp_path, tmp_path / "nowhere", file):
        with pytest.raises(KeyFileInvalid):
            read_key_file(path)
