"""Random generated traces, and a naive walk over a program tree to judge the cursors by."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from hwmodels.operations import Operation
from simulator.trace.expand import Dynamic
from simulator.trace.expression import VARIABLES, Expression, Term, Variable
from simulator.trace.schema import FULL_MASK, LANES, Guard, Instruction, KernelTrace, Loop, Program

UNIFORM = [Variable.BLOCK, Variable.BLOCK_X, Variable.BLOCK_Y, Variable.BLOCK_Z, Variable.WARP]
LANE = [Variable.LANE, Variable.THREAD]


@st.composite
def terms(draw: st.DrawFn, variables: list[Variable], coefficient: int) -> Term:
    factors = draw(st.lists(st.tuples(st.sampled_from(variables), st.integers(-9, 9)), max_size=3))
    divisor, modulus = draw(st.integers(1, 9)), draw(st.sampled_from([0, 0, 1, 2, 3, 8, 13]))
    return Term(
        draw(st.integers(-coefficient, coefficient)),
        tuple(factors),
        draw(st.integers(-50, 50)),
        divisor,
        modulus,
    )


@st.composite
def expressions(draw: st.DrawFn, depth: int, *, lanes: bool, low: int, coefficient: int = 64) -> Expression:
    variables = (
        UNIFORM + [Variable(Variable.LOOP0 + level) for level in range(depth)] + (LANE if lanes else [])
    )
    return Expression(
        draw(st.integers(low, low + 9)), tuple(draw(st.lists(terms(variables, coefficient), max_size=3)))
    )


@st.composite
def instructions(draw: st.DrawFn, depth: int) -> Instruction:
    operation = draw(
        st.sampled_from([Operation.FFMA, Operation.LDG, Operation.LDGSTS, Operation.EXIT, Operation.STS])
    )
    memory = operation in {Operation.LDG, Operation.LDGSTS, Operation.STS}
    guard = st.builds(
        Guard, expressions(depth, lanes=True, low=-5), st.integers(-300, 50), st.integers(-50, 300)
    )
    address = expressions(depth, lanes=True, low=1 << 20)
    return Instruction(
        operation,
        src=(draw(st.integers(0, 254)),),
        mask=draw(st.sampled_from([FULL_MASK, FULL_MASK, 0x0000FFFF, 0x80000001, 0])),
        guards=tuple(draw(st.lists(guard, max_size=2))),
        address=draw(address) if memory else None,
        bytes_per_lane=1 if memory else 0,
        shared_address=draw(address) if operation is Operation.LDGSTS else None,
    )


@st.composite
def bodies(draw: st.DrawFn, depth: int) -> tuple[Instruction | Loop, ...]:
    items: list[Instruction | Loop] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth < 3 and draw(st.booleans()):
            items.append(
                Loop(draw(expressions(depth, lanes=False, low=-4, coefficient=1)), draw(bodies(depth + 1)))
            )
        else:
            items.append(draw(instructions(depth)))
    return tuple(items)


@st.composite
def traces(draw: st.DrawFn) -> KernelTrace:
    grid = (draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    block = (draw(st.integers(1, 50)), draw(st.integers(1, 2)), 1)
    body = (*draw(bodies(0)), Instruction(Operation.EXIT))
    return KernelTrace("random", grid, block, 255, program=Program(body))


def naive(trace: KernelTrace) -> Iterator[Dynamic]:
    """Walk the program tree, evaluating every expression as it is written, with NumPy over the lanes."""
    assert trace.program is not None
    tree, _ = numbered(trace.program.body, 0)
    for block in range(trace.blocks):
        for warp in range(trace.warps_per_block):
            yield from NaiveWarp(trace, block, warp).walk(tree, 0)


def numbered(items: tuple[Instruction | Loop, ...], number: int) -> tuple[list[Any], int]:
    tree: list[Any] = []
    for item in items:
        if isinstance(item, Loop):
            inside, number = numbered(item.body, number)
            tree.append((item, inside))
        else:
            tree.append((item, number))
            number += 1
    return tree, number


class NaiveWarp:
    def __init__(self, trace: KernelTrace, block: int, warp: int) -> None:
        lane = np.arange(LANES, dtype=np.int64)
        self.place = (block, warp)
        self.alive = lane + LANES * warp < trace.threads_per_block
        self.values: list[Any] = [0] * VARIABLES
        x, y, _ = trace.grid
        self.values[Variable.BLOCK : Variable.WARP] = [block, block % x, block // x % y, block // x // y]
        self.values[Variable.WARP], self.values[Variable.LANE] = warp, lane
        self.values[Variable.THREAD] = LANES * warp + lane

    def walk(self, tree: list[Any], depth: int) -> Iterator[Dynamic]:
        for item, inside in tree:
            if isinstance(item, Instruction):
                if self.alive.any():
                    yield self.issue(item, inside)
                continue
            for turn in range(int(item.trips.evaluate(self.values))):
                self.values[Variable.LOOP0 + depth] = turn
                yield from self.walk(inside, depth + 1)
            self.values[Variable.LOOP0 + depth] = 0

    def issue(self, item: Instruction, static: int) -> Dynamic:
        active = self.alive & (item.mask >> np.arange(LANES) & 1).astype(bool)
        for guard in item.guards:
            value = guard.expression.evaluate(self.values) + np.zeros(LANES, dtype=np.int64)
            active = active & (guard.low <= value) & (value < guard.high)
        if item.operation is Operation.EXIT:
            self.alive = self.alive & ~active
        mask = sum(1 << lane for lane in range(LANES) if active[lane])
        both = [self.lanes(source, active) for source in (item.address, item.shared_address)]
        return Dynamic(*self.place, static, mask, both[0], both[1])

    def lanes(self, source: Expression | None, active: Any) -> tuple[int, ...] | None:
        if source is None:
            return None
        return tuple(np.where(active, source.evaluate(self.values), 0).tolist())


@pytest.fixture(scope="session")
def naive_walk() -> Any:
    return naive


@pytest.fixture(scope="session")
def random_traces() -> Any:
    return traces()
