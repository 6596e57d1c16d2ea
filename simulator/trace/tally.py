"""How often each static instruction is issued, without walking: warps are counted side by side, plain loops
are multiplied.

A loop is stepped turn by turn only where its counter decides something inside (an inner trip count, an
EXIT). Warps that cannot differ are counted once. So a kernel of 10^8 instructions with constant trips takes
microseconds, a bounds check at the start one comparison a warp. Counts are exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.expression import VARIABLES, Expression, Variable
from simulator.trace.intervals import interval, launch_box
from simulator.trace.schema import FULL_MASK, LANES, Guard, Instruction, KernelTrace, Loop

ROWS = 1 << 14
ROW_LIMIT = 1 << 26
STEP_LIMIT = 200_000
Items = tuple[Instruction | Loop, ...]
Counts = NDArray[np.int64]


def is_final_exit(item: Instruction) -> bool:
    """Whether the instruction ends the warp whatever was before."""
    return item.operation is Operation.EXIT and item.mask == FULL_MASK and not item.guards


def loops(items: Items) -> Iterator[Loop]:
    """All loops, inner ones too."""
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from loops(item.body)


def exits(items: Items, *, outermost: bool = True) -> Iterator[Instruction]:
    """All EXITs that may take lanes, but one at the very end of the program that ends every warp."""
    for position, item in enumerate(items):
        if isinstance(item, Loop):
            yield from exits(item.body, outermost=False)
            continue
        final = outermost and position == len(items) - 1 and is_final_exit(item)
        if item.operation is Operation.EXIT and item.mask and not final:
            yield item


def control_variables(items: Items) -> frozenset[Variable]:
    """Whatever decides how often something is issued; WARP too wherever lanes leave early."""
    found: set[Variable] = set()
    for one in loops(items):
        found |= one.trips.variables()
    for leaving in exits(items):
        found.add(Variable.WARP)
        for guard in leaving.guards:
            found |= guard.expression.variables()
    return frozenset(found)


@dataclass(slots=True)
class Batch:
    """Some warps counted side by side. `counts[i]` is how often each of them issues static instruction i."""

    trace: KernelTrace
    blocks: Counts
    warps: Counts
    multiplicity: int
    counts: list[Counts] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    alive: NDArray[np.bool_] | None = None
    steps: int = 0

    def run(self) -> "Batch":
        """Count, and return self."""
        assert self.trace.program is not None, "only a generated trace is tallied"
        x, y, _ = self.trace.grid
        self.values = [0] * VARIABLES
        self.values[: Variable.WARP] = [
            self.blocks,
            self.blocks % x,
            self.blocks // x % y,
            self.blocks // (x * y),
        ]
        self.values[Variable.WARP] = self.warps
        if any(exits(self.trace.program.body)):
            lanes = self.warps[:, None] * LANES + np.arange(LANES)
            self.alive = lanes < self.trace.threads_per_block
        self.counts = [np.zeros(len(self.blocks), dtype=np.int64) for _ in self.trace.flat().instructions]
        self.body(self.trace.program.body, np.ones(len(self.blocks), dtype=np.int64), 0, 0)
        return self

    def body(self, items: Items, weight: Counts, first: int, depth: int) -> None:
        """Count the items, each warp `weight` times; `first` is the static index of the first instruction."""
        for item in items:
            self.steps += 1
            if self.steps > STEP_LIMIT:
                raise InputError(
                    self.trace.name,
                    f"counting its instructions takes more than {STEP_LIMIT} steps",
                    "use fewer loops whose counter decides an inner trip count or an EXIT",
                )
            if isinstance(item, Loop):
                self.loop(item, weight, first, depth)
                first += static_size(item.body)
                continue
            self.counts[first] += weight if self.alive is None else weight * self.alive.any(axis=1)
            if item.operation is Operation.EXIT and self.alive is not None:
                leaving = self.leaving(item) & (weight > 0)[:, None]
                self.alive = self.alive & ~leaving
            first += 1

    def loop(self, item: Loop, weight: Counts, first: int, depth: int) -> None:
        trips = np.maximum(item.trips.evaluate(self.values) + np.zeros(len(self.blocks), dtype=np.int64), 0)
        variable = Variable(Variable.LOOP0 + depth)
        if (
            variable not in control_variables(item.body)
            and next(exits((*item.body, item.body[-1])), None) is None
        ):
            self.body(item.body, weight * trips, first, depth + 1)
            return
        for turn in range(int(trips[weight > 0].max(initial=0))):
            if self.alive is not None and not self.alive.any():
                break
            self.values[variable] = turn
            self.body(item.body, np.where(turn < trips, weight, 0), first, depth + 1)
        self.values[variable] = 0

    def leaving(self, item: Instruction) -> NDArray[np.bool_]:
        """Which lanes of which warps the EXIT takes."""
        lanes = np.arange(LANES)
        taken = np.broadcast_to((item.mask >> lanes & 1).astype(bool), (len(self.blocks), LANES))
        for guard in item.guards:
            taken = taken & self.inside(guard)
        return taken

    def inside(self, guard: Guard) -> NDArray[np.bool_] | bool:
        box = launch_box(self.trace)
        for variable in (*range(Variable.LANE), *range(Variable.LOOP0, VARIABLES)):
            present = np.asarray(self.values[variable])
            box[variable] = (int(present.min()), int(present.max()))
        low, high = interval(guard.expression, box)
        if guard.low <= low and high < guard.high:
            return True
        if high < guard.low or low >= guard.high:
            return False
        values: list[Any] = [
            value[:, None] if isinstance(value, np.ndarray) else value for value in self.values
        ]
        values[Variable.LANE] = np.arange(LANES)
        values[Variable.THREAD] = self.warps[:, None] * LANES + np.arange(LANES)
        found: Any = guard.expression.evaluate(values)
        inside: NDArray[np.bool_] = (guard.low <= found) & (found < guard.high)
        return inside


def static_size(items: Items) -> int:
    """Static instructions in a body."""
    return sum(static_size(item.body) if isinstance(item, Loop) else 1 for item in items)


def batches(trace: KernelTrace, *, by_warp: bool = False) -> Iterator[Batch]:
    """All warps of a generated trace, equal ones once; `by_warp` keeps those of a block apart."""
    assert trace.program is not None, "only a generated trace is tallied"
    needed = control_variables(trace.program.body)
    by_block = bool(needed & {Variable.BLOCK, Variable.BLOCK_X, Variable.BLOCK_Y, Variable.BLOCK_Z})
    warps = trace.warps_per_block if by_warp or Variable.WARP in needed or Variable.THREAD in needed else 1
    blocks = trace.blocks if by_block else 1
    if blocks * warps > ROW_LIMIT:
        raise InputError(
            trace.name,
            f"{blocks * warps} warps that may differ are too many to count",
            f"keep grid x warps at or below {ROW_LIMIT} where trips or EXITs depend on the block",
        )
    multiplicity = (1 if by_block else trace.blocks) * (1 if warps > 1 else trace.warps_per_block)
    step = max(1, ROWS // warps)
    for start in range(0, blocks, step):
        numbers = np.arange(start, min(blocks, start + step), dtype=np.int64)
        rows = np.repeat(numbers, warps)
        yield Batch(trace, rows, np.tile(np.arange(warps, dtype=np.int64), len(numbers)), multiplicity).run()


def tally(trace: KernelTrace) -> list[int]:
    """How often each static instruction is issued in the whole launch; either form of trace."""
    totals = [0] * len(trace.flat().instructions)
    if trace.recording is not None:
        statics = trace.recording.variant_statics
        for page in trace.recording.pages:
            counted = np.bincount(statics[page.variants], minlength=len(totals))
            totals = [total + int(more) for total, more in zip(totals, counted, strict=True)]
        return totals
    for batch in batches(trace):
        for index, counts in enumerate(batch.counts):
            totals[index] += batch.multiplicity * int(counts.sum())
    return totals


def most_trips(expression: Expression, box: list[tuple[int, int]]) -> int:
    """An upper bound of a trip count over the box."""
    return max(0, interval(expression, box)[1])
