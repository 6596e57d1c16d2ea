"""Parts of a launch: each block of a part walks exactly as its counterpart in the whole launch."""

import dataclasses

import pytest

from simulator.trace.expression import Variable
from simulator.trace.kernels import from_spec
from simulator.trace.part import first_blocks, inner_blocks, last_blocks, moved
from simulator.trace.schema import Guard, KernelTrace, Loop
from simulator.trace.tally import tally

SPECS = (
    "copy,megabytes=0.1",
    "chain,megabytes=0.0625,stages=2,fused=1",
    "cache_read,kilobytes=1,blocks=11,repeats=2",
)


def walk(trace: KernelTrace, block: int, warp: int) -> list[tuple[int, int, list[int]]]:
    """Static index, lanes and addresses of each instruction of a warp."""
    cursor = trace.cursor(block, warp)
    steps = []
    while cursor.peek() >= 0:
        address = cursor.instruction.address
        steps.append((cursor.peek(), cursor.mask(), cursor.addresses() if address is not None else []))
        cursor.advance()
    return steps


def in_rows(trace: KernelTrace, columns: int) -> KernelTrace:
    """The same blocks in a grid of rows, with guards and addresses over x and y in place of the number."""
    assert trace.program is not None

    def turned(items):  # type: ignore[no-untyped-def]
        for item in items:
            if isinstance(item, Loop):
                yield Loop(rewritten(item.trips), tuple(turned(item.body)))
            else:
                guards = tuple(Guard(rewritten(one.expression), one.low, one.high) for one in item.guards)
                address = None if item.address is None else rewritten(item.address)
                yield dataclasses.replace(item, guards=guards, address=address)

    def rewritten(one):  # type: ignore[no-untyped-def]
        terms = tuple(dataclasses.replace(term, variables=tuple(spread(term))) for term in one.terms)
        return dataclasses.replace(one, terms=terms)

    def spread(term):  # type: ignore[no-untyped-def]
        for variable, factor in term.variables:
            if variable in {Variable.BLOCK, Variable.BLOCK_X}:
                yield Variable.BLOCK_X, factor
                yield Variable.BLOCK_Y, columns * factor
            else:
                yield variable, factor

    program = dataclasses.replace(trace.program, body=tuple(turned(trace.program.body)))
    return dataclasses.replace(trace, grid=(columns, trace.blocks // columns, 1), program=program)


@pytest.mark.parametrize("spec", SPECS)
def test_first_blocks_walk_as_in_the_whole(spec: str) -> None:
    (whole,) = from_spec(spec)
    part = first_blocks(whole, whole.blocks // 2)
    assert part.blocks == whole.blocks // 2
    assert part.grid == whole.grid
    assert all(walk(part, block, 0) == walk(whole, block, 0) for block in range(part.blocks))


@pytest.mark.parametrize("spec", SPECS)
def test_last_blocks_walk_as_in_the_whole(spec: str) -> None:
    (whole,) = from_spec(spec)
    part = last_blocks(whole, 4)
    assert part.blocks == 4
    ahead = whole.blocks - 4
    for block in range(4):
        for warp in range(whole.warps_per_block):
            assert walk(part, block, warp) == walk(whole, ahead + block, warp)


def test_last_blocks_of_rows_begin_with_a_row() -> None:
    (line,) = from_spec("copy,megabytes=0.09375")
    whole = in_rows(line, 4)
    assert (line.blocks, whole.grid, inner_blocks(whole)) == (24, (4, 6, 1), 4)
    assert walk(whole, 23, 0) == walk(line, 23, 0)
    part = last_blocks(whole, 5)
    assert part.grid == (4, 2, 1)
    assert [walk(part, block, 1) for block in range(8)] == [walk(line, 16 + block, 1) for block in range(8)]


def test_instructions_of_first_and_last_blocks_make_the_whole() -> None:
    (whole,) = from_spec("copy,megabytes=0.1")
    head, tail = first_blocks(whole, 10), last_blocks(whole, whole.blocks - 10)
    assert [a + b for a, b in zip(tally(head), tally(tail), strict=True)] == tally(whole)


def test_all_blocks_are_the_trace_itself() -> None:
    (whole,) = from_spec("copy,megabytes=0.1")
    assert first_blocks(whole, whole.blocks) is whole
    assert last_blocks(whole, whole.blocks) is whole


def test_moved_tensors_are_walked_further_on() -> None:
    trace = from_spec("copy,megabytes=0.1")[0]
    further = moved(trace, {"input": 1 << 30})
    (given,) = (one for one in trace.tensors if one.kind == "input")
    inside = range(given.base_address, given.base_address + given.bytes)
    for own, other in zip(trace.tensors, further.tensors, strict=True):
        assert other.base_address - own.base_address == (1 << 30 if own.kind == "input" else 0)
    for (_, _, before), (_, _, after) in zip(walk(trace, 1, 0), walk(further, 1, 0), strict=True):
        shift = 1 << 30 if before and before[0] in inside else 0
        assert after == [address + shift for address in before]


def test_nothing_to_move_is_the_trace_itself() -> None:
    trace = from_spec("copy,megabytes=0.1")[0]
    assert moved(trace, {"weight": 4096}) is trace
