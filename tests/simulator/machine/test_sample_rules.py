"""Which kernels may be sampled, and after how many blocks they repeat themselves."""

import dataclasses

from simulator.machine.sample_rules import period_blocks, reason_for_whole, uneven_ppm
from simulator.trace.builder import KernelBuilder
from simulator.trace.expand import recorded
from simulator.trace.expression import Expression, Term, Variable
from simulator.trace.kernels import from_spec
from simulator.trace.schema import Guard, KernelTrace, Loop, Program

BLOCK = Expression(0, (Term(1, ((Variable.BLOCK, 1),)),))


def copy() -> KernelTrace:
    (trace,) = from_spec("copy,megabytes=0.5")
    return trace


def rewritten(trace: KernelTrace, **changes: object) -> KernelTrace:
    """The trace with its first load changed."""
    assert trace.program is not None
    body = list(trace.program.body)
    place = next(at for at, one in enumerate(body) if not isinstance(one, Loop) and one.address is not None)
    body[place] = dataclasses.replace(body[place], **changes)  # type: ignore[type-var]
    return dataclasses.replace(trace, program=Program(tuple(body)))


def test_generated_kernels_qualify_and_recordings_do_not() -> None:
    assert reason_for_whole(copy()) == ""
    assert reason_for_whole(recorded(copy())) == "a recording"


def test_trips_that_depend_on_the_block_are_refused() -> None:
    trace = copy()
    assert trace.program is not None
    loop = Loop(BLOCK % 7, (trace.program.body[0],))
    uneven = dataclasses.replace(trace, program=Program((loop, *trace.program.body)))
    assert reason_for_whole(uneven) == "trip counts depend on the block"


def test_a_line_of_blocks_has_no_period() -> None:
    assert period_blocks(copy()) == 1


def test_rows_of_a_grid_and_remainders_are_periods() -> None:
    trace = copy()
    assert trace.blocks == 128
    assert period_blocks(dataclasses.replace(trace, grid=(4, 32, 1))) == 4
    assert period_blocks(dataclasses.replace(trace, grid=(4, 8, 4))) == 32
    rotated = rewritten(trace, address=(BLOCK * 2 % 32) * 65536)
    assert period_blocks(rotated) == 16
    table = rewritten(trace, address=(BLOCK % 32) * 128)
    assert period_blocks(table) == 1


def test_lanes_of_blocks_left_out_are_counted() -> None:
    trace = copy()
    half = rewritten(trace, guards=(Guard(BLOCK, 0, 64),))
    assert uneven_ppm(trace, 32, 1) == 0
    # Of six probes each before and behind block 64, those behind lose one of the program's instructions.
    assert uneven_ppm(half, 32, 1) > 50_000


def test_guards_at_the_edges_of_rows_are_met_at_the_same_place() -> None:
    trace = dataclasses.replace(copy(), grid=(4, 32, 1))
    column = Expression(0, (Term(1, ((Variable.BLOCK_X, 1),)),))
    edged = rewritten(trace, guards=(Guard(column, 0, 3),))
    assert uneven_ppm(edged, 16, 4) == 0


def test_a_builder_s_kernel_without_guards_is_even() -> None:
    k = KernelBuilder("plain", (64, 1, 1), (32, 1, 1))
    k.exit()
    assert uneven_ppm(k.build(), 8, 1) == 0
