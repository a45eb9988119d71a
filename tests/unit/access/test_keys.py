"""Keys open what their scopes say, and nobody can tell a secret from what is stored of it."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.links import NOON
from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.keys import SCOPES, Key, KeyInvalid, check_scopes, fits, make_key, parse_token


def a_key(*scopes: str) -> Key:
    return make_key("ada", scopes or ["links:read"], NOON)[0]


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
    assert fits(key, parsed[1])
    assert parsed[1] not in repr(key)
    assert key.digest == hashlib.sha256(parsed[1].encode()).digest()


def test_no_two_keys_are_alike() -> None:
    made = [make_key("ada", ["admin"], NOON) for _ in range(100)]
    assert len({key.id for key, _ in made}) == len({token for _, token in made}) == 100


@given(st.text(max_size=80))
def test_whatever_else_is_shown_is_no_token(text: str) -> None:
    key, token = make_key("ada", ["admin"], NOON)
    parsed = parse_token(text)
    assert parsed is None or not fits(key, parsed[1])
    assert parse_token(token + text) is None or not text
    assert parse_token(text + token) is None or not text


def test_another_secret_does_not_fit() -> None:
    key, other = make_key("ada", ["admin"], NOON)[0], make_key("ada", ["admin"], NOON)[1]
    parsed = parse_token(other)
    assert parsed
    assert not fits(key, parsed[1])


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
    assert [reader.allows(scope) for scope in SCOPES] == [True, False, False]


def test_callers_are_told_apart_by_their_key_or_where_they_are() -> None:
    key = a_key("links:write")
    caller = Caller(key, is_local=True)
    assert (caller.name, caller.owner, caller.is_admin) == (f"key:{key.id}", key.id, False)
    assert (LOCAL.name, LOCAL.owner, LOCAL.is_admin) == ("local", "local", True)
    assert (ANONYMOUS.name, ANONYMOUS.owner, ANONYMOUS.is_admin) == ("anonymous", None, False)
    assert not any(ANONYMOUS.allows(scope) for scope in SCOPES)
