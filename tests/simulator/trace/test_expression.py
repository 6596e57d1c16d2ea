"""Expressions built by operators against Python's own arithmetic; compiled against plain ones; bounds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.trace.compiled_expression import MEMO_LIMIT, Patterns, compile_expression
from simulator.trace.expression import (
    VARIABLES,
    Expression,
    Variable,
    block,
    expression,
    lane,
    loop,
    of,
    thread,
    warp,
)
from simulator.trace.intervals import interval

NUMBERS = st.integers(-20, 20)


@st.composite
def built(draw: st.DrawFn) -> tuple[Expression, Any]:
    """An expression made by operators and the same as a function of the values."""
    variable = draw(st.sampled_from(list(Variable)))
    tree: tuple[Expression, Any] = (of(variable), lambda values: values[variable])
    for _ in range(draw(st.integers(0, 5))):
        tree = step(draw, tree)
    return tree


def step(draw: st.DrawFn, tree: tuple[Expression, Any]) -> tuple[Expression, Any]:
    made, value = tree
    kind, number = draw(st.sampled_from("+-*r/%v")), draw(NUMBERS)
    positive = abs(number) + 1
    try:
        if kind == "/":
            return made // positive, lambda values: value(values) // positive
        if kind == "%":
            return made % positive, lambda values: value(values) % positive
    except InputError:
        return tree
    other = draw(st.sampled_from(list(Variable)))
    return {
        "+": (made + number, lambda values: value(values) + number),
        "-": (made - number, lambda values: value(values) - number),
        "*": (number * made, lambda values: value(values) * number),
        "r": (number - made, lambda values: number - value(values)),
        "v": (made + of(other) * number, lambda values: value(values) + values[other] * number),
    }[kind]


@settings(max_examples=200, deadline=None)
@given(tree=built(), values=st.lists(st.integers(0, 300), min_size=VARIABLES, max_size=VARIABLES))
def test_operators_mean_what_they_say(tree: tuple[Expression, Any], values: list[int]) -> None:
    made, value = tree
    assert made.evaluate(values) == value(values)
    low, high = interval(made, [(0, 300)] * VARIABLES)
    assert low <= made.evaluate(values) <= high


@settings(max_examples=200, deadline=None)
@given(tree=built(), values=st.lists(st.integers(0, 300), min_size=VARIABLES, max_size=VARIABLES))
def test_compiled_expressions_give_the_same_lanes(tree: tuple[Expression, Any], values: list[int]) -> None:
    made, _ = tree
    lanes: list[Any] = list(values)
    lanes[Variable.LANE] = np.arange(32)
    lanes[Variable.THREAD] = 32 * values[Variable.WARP] + np.arange(32)
    base, offsets, low, high = compile_expression(made, Patterns()).evaluate(values)
    assert [base + offset for offset in offsets] == (made.evaluate(lanes) + np.zeros(32, dtype=int)).tolist()
    assert (low, high) == (min(offsets), max(offsets))
    assert offsets[0] == 0


def test_affine_intervals_are_exact() -> None:
    box = [(0, 0)] * VARIABLES
    box[Variable.BLOCK], box[Variable.LANE] = (0, 9), (0, 31)
    assert interval(block * 128 - lane * 4 + 5, box) == (5 - 124, 9 * 128 + 5)


def test_the_memo_of_patterns_stays_bounded() -> None:
    compiled = compile_expression((lane * 3 + loop(0)) % 100_003, Patterns())
    values = [0] * VARIABLES
    for turn in range(MEMO_LIMIT + 100):
        values[Variable.LOOP0] = turn
        assert compiled.evaluate(values)[0] == turn
    assert len(compiled.memo) <= MEMO_LIMIT


def test_sums_are_kept_simple() -> None:
    assert thread + thread == thread * 2
    assert thread - thread == Expression()
    assert (thread * 4 + block) % 1 == Expression()
    assert (thread % 8) // 8 == Expression()
    assert ((block * 4 + 3) // 2) // 5 == (block * 4 + 3) // 10
    assert expression(5) == Expression(5)
    assert (block + warp).variables() == {Variable.BLOCK, Variable.WARP}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: block * thread, "product of two variables"),
        (lambda: (thread // 3 + block) // 2, "quotient of a sum of quotients"),
        (lambda: (thread % 6) % 4, "has no closed term"),
        (lambda: (thread % 6) // 4, "has no closed term"),
        (lambda: thread // 0, "cannot divide by 0"),
        (lambda: thread % -2, "no remainder by -2"),
        (lambda: loop(8), "no loop at depth 8"),
    ],
)
def test_what_has_no_closed_form_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
