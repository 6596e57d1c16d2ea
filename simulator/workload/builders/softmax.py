"""Softmax and its logarithm over any axes: the greatest element of a row, the sum of exponentials, the
quotients.

A row that fits in registers is read once and its exponentials are kept; a longer one is read three times.
"""

from math import log

from hwmodels.operations import Operation
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.row_feeds import Feed, RowProgram, Sink
from simulator.workload.builders.row_tracks import RowSpace
from simulator.workload.builders.rows import Rows
from simulator.workload.builders.special_functions import LOG2_E, exponential2, logarithm2
from simulator.workload.emit import Flag, Scalar
from simulator.workload.ir import Effect, Function, Kernel, Part


def softmax_kernel(
    name: str,
    operator: str,
    space: RowSpace,
    *,
    logarithm: bool = False,
    threads: int = 0,
    before: RowProgram | None = None,
    behind: RowProgram | None = None,
) -> Kernel:
    """The kernel; the space has the tensor that is read, then the one that is written. Programs may stand
    before and behind the row; `threads` work on a row, 0: as fits.
    """
    rows = Rows(name, operator, space, threads=threads)
    f = rows.floats
    feed, sink = Feed(rows, space.tracks[0], before), Sink(rows, space.tracks[1], behind)
    held: dict[int, list[Part]] = {}
    with rows.emitter.working_for(operator):
        greatest = f.constant(float("-inf"))

        def look(place: Scalar, key: int, flag: Flag | None, counts: Flag | None) -> None:
            cells = feed.read(place, key, flag, first=True)
            for cell in cells:
                accumulate(f, Operation.ALU, Effect.FLOAT_MAXIMUM, greatest, cell, counts)
            if key >= 0:
                held[key] = cells

        rows.each_chunk(look, feed.fetch, feed.together)
        peak = rows.total(greatest, f.maximum)
        lowered = f.multiply(peak, -LOG2_E)
        total = f.constant(0.0)
        powers: dict[int, list[Part]] = {}

        def add_up(place: Scalar, key: int, flag: Flag | None, counts: Flag | None) -> None:
            cells = held[key] if key >= 0 else feed.read(place, key, flag)
            made = [exponential2(f, f.fused(cell, LOG2_E, lowered)) for cell in cells]
            for value in made:
                accumulate(f, Operation.FADD, Effect.FLOAT_ADD, total, value, counts)
            if key >= 0 and not logarithm:
                powers[key] = made

        rows.each_chunk(add_up)
        whole = rows.total(total, f.add)
        if logarithm:
            shift = f.fused(logarithm2(f, whole), -log(2), f.multiply(peak, -1.0))
        else:
            inverse = f.function(Function.RECIPROCAL, whole)

        def write(place: Scalar, key: int, flag: Flag | None, _: Flag | None) -> None:
            homes = sink.homes()
            if logarithm:
                cells = held[key] if key >= 0 else feed.read(place, key, flag)
                made = [f.add(cell, shift, home) for cell, home in zip(cells, homes, strict=True)]
            else:
                if key >= 0:
                    values = powers[key]
                else:
                    cells = feed.read(place, key, flag)
                    values = [exponential2(f, f.fused(cell, LOG2_E, lowered)) for cell in cells]
                made = [f.multiply(value, inverse, home) for value, home in zip(values, homes, strict=True)]
            sink.write(place, key, made, flag)

        rows.each_chunk(write)
    return rows.finish()


def accumulate(
    f: Floats, operation: Operation, effect: Effect, total: Part, value: Part, counts: Flag | None
) -> None:
    """Combine a value into a total in place, where it counts."""
    f.op(operation, effect, (total, value), (), total, counts.part if counts else None)
