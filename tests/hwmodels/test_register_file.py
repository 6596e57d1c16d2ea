"""Operand read cycles against a count by sets, and the published V100 cases."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwmodels.register_file import operand_cycles

register = st.one_of(st.integers(-1, 8), st.integers(250, 262))


@given(st.tuples(register, register, register, register), st.integers(1, 8), st.integers(1, 4))
def test_cycles_are_those_of_the_busiest_bank(registers, banks, ports):
    loads = Counter(number % banks for number in {r for r in registers if 0 <= r < 255})
    expected = max([1, *(-(-load // ports) for load in loads.values())])
    assert operand_cycles(*registers, banks, ports) == expected


@pytest.mark.parametrize(
    ("registers", "cycles"),
    [
        ((97, 99, 101), 2),  # three odd sources on two banks of two ports: the published conflict
        ((96, 99, 101), 1),
        ((98, 98, 98), 1),
        ((97, 99, 97), 1),
        ((97, 99, 255), 1),
        ((-1, -1, -1), 1),
    ],
)
def test_fused_multiply_add_on_volta(registers, cycles):
    assert operand_cycles(*registers, -1, 2, 2) == cycles
