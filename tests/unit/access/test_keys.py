"""Keys open what their scopes say, and nobody can tell a secret from what is stored of it."""

import hashlib
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.links import NOON
from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.keys import (
    SCOPES,
    Key,
    KeyExpired,
    KeyInvalid,
    KeyNotRotated,
    KeyRefused,
    check_scopes,
    check_secret,
    make_key,
    parse_token,
    rotate,
)

DAY = timedelta(days=1)


def a_key(*scopes: str) -> Key:
    return make_key("ada", scopes or ["links:read"], NOON)[0]


def opens(key: Key, token: str, after: timedelta = timedelta()) -> bool:
    """Whether the token proves the key so long after noon."""
    parsed = parse_token(token)
    assert parsed
    try:
        check_secret(key, parsed[1], NOON + after)
    except (KeyRefused, KeyExpired):
        return False
    return True


def test_a_token_names_its_key_and_proves_it() -> None:
    key, token = make_key(" Ada's laptop ", ["admin", "links:read", "admin"], NOON)
    assert (key.name, key.scopes, key.created_at, key.revoked_at) == (
        "Ada's laptop",
        ("links:read", "admin"),
        NOON,
        None,
    )
    parsed = parse_token(token)
    assert parsed
    assert parsed[0] == key.id
    check_secret(key, parsed[1], NOON)
    assert parsed[1] not in repr(key)
    assert key.digest == hashlib.sha256(parsed[1].encode()).digest()


def test_no_two_keys_are_alike() -> None:
    made = [make_key("ada", ["admin"], NOON) for _ in range(100)]
    assert len({key.id for key, _ in made}) == len({token for _, token in made}) == 100


@given(st.text(max_size=80))
def test_whatever_else_is_shown_is_no_token(text: str) -> None:
    key, token = make_key("ada", ["admin"], NOON)
    parsed = parse_token(text)
    assert parsed is None or not opens(key, text)
    assert parse_token(token + text) is None or not text
    assert parse_token(text + token) is None or not text


def test_another_secret_does_not_fit() -> None:
    key, other = make_key("ada", ["admin"], NOON)[0], make_key("ada", ["admin"], NOON)[1]
    parsed = parse_token(other)
    assert parsed
    with pytest.raises(KeyRefused):
        check_secret(key, parsed[1], NOON)


@pytest.mark.parametrize("scopes", [[], ["links"], ["links:read", "links:wirte"], ["ADMIN"]])
def test_a_scope_that_there_is_not_is_refused(scopes: list[str]) -> None:
    with pytest.raises(KeyInvalid) as refused:
        check_scopes(scopes)
    assert refused.value.parameter == "scopes"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    with pytest.raises(KeyInvalid):
        make_key(name, ["admin"], NOON)


def test_an_admin_may_everything_and_others_what_their_scopes_say() -> None:
    assert all(a_key("admin").allows(scope) for scope in SCOPES)
    reader = a_key("links:read")
    assert [reader.allows(scope) for scope in SCOPES] == [True, False, False, False, False]


def test_callers_are_told_apart_by_their_key_or_where_they_are() -> None:
    key = a_key("links:write")
    caller = Caller(key, is_local=True)
    assert (caller.name, caller.owner, caller.is_admin) == (f"key:{key.id}", key.id, False)
    assert (LOCAL.name, LOCAL.owner, LOCAL.is_admin) == ("local", "local", True)
    assert (ANONYMOUS.name, ANONYMOUS.owner, ANONYMOUS.is_admin) == ("anonymous", None, False)
    assert not any(ANONYMOUS.allows(scope) for scope in SCOPES)


def test_a_key_opens_until_the_moment_it_expires() -> None:
    key, token = make_key("ada", ["admin"], NOON, NOON + DAY)
    assert opens(key, token, DAY - timedelta(microseconds=1))
    assert not opens(key, token, DAY)
    assert [key.state(NOON + after) for after in (0 * DAY, DAY)] == ["active", "expired"]
    with pytest.raises(KeyExpired, match=f"waypost key rotate {key.id} --expires"):
        check_secret(key, token.split("_", 2)[2], NOON + DAY)


@pytest.mark.parametrize("ends", [NOON, NOON - DAY, NOON.replace(year=9999)])
def test_a_key_ends_later_than_it_begins_and_when_a_store_can_say_it(ends: datetime) -> None:
    with pytest.raises(KeyInvalid):
        make_key("ada", ["admin"], NOON, ends)


def test_a_rotated_key_has_two_secrets_until_the_overlap_ends() -> None:
    key, first = make_key("ada", ["links:read"], NOON)
    rotated, second = rotate(key, NOON, 7 * DAY)
    assert (rotated.id, rotated.name, rotated.scopes, rotated.created_at) == (key.id, key.name, key.scopes, NOON)
    assert first != second
    assert opens(rotated, first, 6 * DAY)
    assert [opens(rotated, first, 7 * DAY), opens(rotated, second, 7 * DAY)] == [False, True]
    with pytest.raises(KeyExpired, match="newer secret"):
        check_secret(rotated, first.split("_", 2)[2], NOON + 7 * DAY)
    again, third = rotate(rotated, NOON + 7 * DAY, DAY)
    assert [opens(again, token, 7 * DAY) for token in (first, second, third)] == [False, True, True]


def test_a_third_secret_has_to_wait_unless_the_others_end_at_once() -> None:
    key, first = make_key("ada", ["links:read"], NOON)
    rotated, second = rotate(key, NOON, DAY)
    with pytest.raises(KeyNotRotated, match="valid until 2026-02-22T12:00:00Z"):
        rotate(rotated, NOON + DAY / 2, DAY)
    alone, third = rotate(rotated, NOON + DAY / 2, timedelta())
    assert [opens(alone, token, DAY / 2) for token in (first, second, third)] == [False, False, True]


def test_rotating_prolongs_no_older_secret() -> None:
    key, first = make_key("ada", ["links:read"], NOON, NOON + DAY)
    rotated, second = rotate(key, NOON, 7 * DAY, NOON + 90 * DAY)
    assert [opens(rotated, first, DAY), opens(rotated, second, DAY), opens(rotated, second, 90 * DAY)] == [
        False,
        True,
        False,
    ]
    assert rotate(key, NOON, DAY)[0].expires_at == NOON + DAY


def test_what_has_ended_is_not_rotated_back_to_life_by_accident() -> None:
    expired = make_key("ada", ["links:read"], NOON, NOON + DAY)[0]
    with pytest.raises(KeyNotRotated, match="expired"):
        rotate(expired, NOON + DAY, DAY)
    renewed, token = rotate(expired, NOON + DAY, DAY, NOON + 2 * DAY)
    assert opens(renewed, token, DAY)
    revoked = msgspec.structs.replace(a_key(), revoked_at=NOON)
    with pytest.raises(KeyNotRotated, match="revoked"):
        rotate(revoked, NOON, DAY, NOON + 2 * DAY)
