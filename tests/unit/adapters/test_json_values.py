"""JSON is compared by its values, however they are spelt."""

import json
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.json_values import by_value

EXACT = Context(prec=60)
wholes = st.integers(-(10**30), 10**30)
decimals = st.builds(
    lambda digits, power: Decimal(digits).scaleb(power, EXACT), st.integers(-(10**22), 10**22), st.integers(-330, 60)
)
scalars = st.none() | st.booleans() | wholes | decimals | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


class Speller:
    """Writes a value as JSON, each time in another of all possible ways."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def write(self, value: Any) -> str:
        return f"{self._space()}{self._bare(value)}{self._space()}"

    def _bare(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, int | Decimal):
            return self._number(Decimal(value))
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return f"[{','.join(self.write(each) for each in value)}]"
        pairs = self._draw(st.permutations(list(value.items())))
        return f"{{{','.join(f'{self.write(name)}:{self.write(each)}' for name, each in pairs)}}}"

    def _space(self) -> str:
        return str(self._draw(st.sampled_from(["", "", " ", "\n\t", "\r\n  "])))

    def _text(self, value: str) -> str:
        spelt = json.dumps(value, ensure_ascii=self._draw(st.booleans()))
        return spelt.replace("/", "\\/") if self._draw(st.booleans()) else spelt

    def _number(self, value: Decimal) -> str:
        sign, digits, power = value.as_tuple()
        assert isinstance(power, int)
        whole = "".join(map(str, digits)).lstrip("0") or "0"
        zeros = self._draw(st.integers(0, 3))
        moved = self._draw(st.integers(0, 3))
        plain = f"{whole[: len(whole) - moved] or '0'}.{whole[len(whole) - moved :]}" if 0 < moved < len(whole) else ""
        spellings = [f"{whole}e{power}", f"{whole}E{power:+d}", f"{whole}.{'0' * (zeros + 1)}e{power}"]
        if plain:
            spellings.append(f"{plain}{'0' * zeros}e{power + moved}")
        if -30 < power <= 40:
            spellings.append(f"{value.copy_abs():f}")
            if power < 0:
                spellings.append(f"{value.copy_abs():f}{'0' * zeros}")
        return ("-" if sign else "") + str(self._draw(st.sampled_from(spellings)))


def same(one: Any, other: Any) -> bool:
    """Python takes true for 1, and JSON does not."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return Decimal(one) == Decimal(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return isinstance(one, str) and isinstance(other, str) and one == other


@given(st.data(), values)
def test_the_same_value_is_the_same_however_it_is_spelt(data: st.DataObject, value: Any) -> None:
    speller = Speller(data.draw)
    assert by_value(speller.write(value).encode()) == by_value(speller.write(value).encode())


@given(st.data(), values, values)
def test_other_values_are_others(data: st.DataObject, one: Any, other: Any) -> None:
    speller = Speller(data.draw)
    is_same = by_value(speller.write(one).encode()) == by_value(speller.write(other).encode())
    assert is_same == same(one, other)


@given(st.data(), st.integers(1, 10**22), st.integers(-330, 60), st.integers(-2, 2))
def test_numbers_that_are_next_to_each_other_are_told_apart(
    data: st.DataObject, digits: int, power: int, step: int
) -> None:
    speller = Speller(data.draw)
    one, other = (speller.write(Decimal(number).scaleb(power, EXACT)) for number in (digits, digits + step))
    assert (by_value(one.encode()) == by_value(other.encode())) == (step == 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": [2, {"c": null}]}', '{"b":[2,{"c":null}],"a":1}'),
        ("1", "1.0"),
        ("1.0", "1.00"),
        ("100", "1e2"),
        ("-0", "0.0"),
        ("0e999", "0"),
        ("18446744073709551616", "18446744073709551616.0"),
        ("52.52", "5252e-2"),
        ('"\\u00e9\\/"', '"é/"'),
        ('"\\ud83d\\ude00"', '"😀"'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
    ],
)
def test_spelling_does_not_count(one: str, other: str) -> None:
    assert by_value(one.encode()) == by_value(other.encode())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", '"1"'),
        ("1", "true"),
        ("0", "null"),
        ("0", "false"),
        ("[]", "{}"),
        ("[1, 2]", "[2, 1]"),
        ('{"a": 1, "a": 2}', '{"a": 1}'),
        ('{"a": null}', "{}"),
        ("9007199254740992", "9007199254740993"),
        ("9007199254740992.0", "9007199254740993.0"),
        ("18446744073709551616", "18446744073709551617"),
        ("1e400", "1e401"),
        ("1e-400", "0"),
        ("0.1", "0.10000000000000000001"),
        ("1e400", '"1e400"'),
        ('"é"', '"e\\u0301"'),
    ],
)
def test_other_values_have_other_bytes(one: str, other: str) -> None:
    assert by_value(one.encode()) != by_value(other.encode())


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"NaN",
        b"[Infinity]",
        b'{"a": 1',
        b"\xff",
        b'"\\ud83d"',
        b"[" * 50_000 + b"]" * 50_000,
        b"1e" + b"9" * 5000,
        b"9" * 5000,
        b"[" + b"[]," * 400_000 + b"[]]",
    ],
    ids=["nothing", "NaN", "Infinity", "broken", "no UTF-8", "half", "deep", "exponent", "digits", "large"],
)
def test_what_cannot_be_read_stands_for_itself(text: bytes) -> None:
    assert by_value(text) == b"\0" + text
