"""The secret order: a bijection that can be undone, that depends on its key, and that never changes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.sharing.phrases.permutation import Permutation

keys = st.binary(min_size=1, max_size=80)


@given(size=st.integers(1, 300), key=keys)
def test_every_value_is_hit_exactly_once(size: int, key: bytes) -> None:
    permutation = Permutation(size, key)
    assert sorted(map(permutation, range(size))) == list(range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 15, 16, 17, 1023, 1024, 1025])
def test_sizes_around_a_power_of_two_are_bijections(size: int) -> None:
    permutation = Permutation(size, b"key")
    assert [permutation.inverse(permutation(number)) for number in range(size)] == list(range(size))


@given(data=st.data(), size=st.integers(1, 10**12), key=keys)
def test_the_inverse_leads_back_in_both_directions(data: st.DataObject, size: int, key: bytes) -> None:
    permutation = Permutation(size, key)
    number = data.draw(st.integers(0, size - 1))
    assert 0 <= permutation(number) < size
    assert permutation.inverse(permutation(number)) == number
    assert permutation(permutation.inverse(number)) == number


@given(one=keys, two=keys)
def test_two_keys_give_two_orders(one: bytes, two: bytes) -> None:
    orders = [list(map(Permutation(1000, key), range(50))) for key in (one, two)]
    assert (orders[0] == orders[1]) == (one == two)


def test_two_sizes_give_two_orders_under_one_key() -> None:
    # The last bits of a shared round function would otherwise show through.
    assert list(map(Permutation(1000, b"key"), range(50))) != list(map(Permutation(1001, b"key"), range(50)))


def test_consecutive_numbers_are_not_neighbours() -> None:
    size = 1_000_000
    values = list(map(Permutation(size, b"key"), range(1000)))
    distances = [abs(after - before) for before, after in pairwise(values)]
    # Two random values are a third of the range apart on average, and less than 100 apart once in 5,000 times.
    assert 0.3 * size < sum(distances) / len(distances) < 0.37 * size
    assert sum(distance < 100 for distance in distances) <= 3


def test_the_values_of_the_first_numbers_are_spread_evenly() -> None:
    values = map(Permutation(1_000_000, b"key"), range(10_000))
    tenths = [value // 100_000 for value in values]
    assert all(900 < tenths.count(tenth) < 1100 for tenth in range(10))


def test_the_order_never_changes() -> None:
    # Numbers are handed out once and for all: another order would draw phrases that were given away.
    assert list(map(Permutation(1000, b"key"), range(8))) == [250, 913, 734, 631, 349, 105, 299, 923]


@pytest.mark.parametrize("number", [-1, 10, 11])
def test_a_number_outside_the_range_is_refused(number: int) -> None:
    permutation = Permutation(10, b"key")
    with pytest.raises(ValueError, match=r"outside 0\.\.9"):
        permutation(number)
    with pytest.raises(ValueError, match=r"outside 0\.\.9"):
        permutation.inverse(number)


@pytest.mark.parametrize("size", [0, -1, 2**128 + 1])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size"):
        Permutation(size, b"key")


def test_the_largest_size_works() -> None:
    permutation = Permutation(2**128, b"key")
    assert permutation.inverse(permutation(2**128 - 1)) == 2**128 - 1


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="key"):
        Permutation(10, b"")
