"""Walks the dynamic instructions of one warp: what an engine asks for the next instruction, its lanes and
its addresses.

State is plain integers and lists (step, loop counters and limits, exited lanes), so that a checkpoint can
hold it. A branch was taken exactly where the next static index is not the previous one plus one. This is
the inner loop of the reference engine, hence the attributes that are read directly and the values that are
kept until the next `advance`.
"""

from collections.abc import Sequence

from simulator.trace.compiled_expression import CompiledExpression, Offsets
from simulator.trace.expression import MAX_LOOP_DEPTH, VARIABLES, Variable
from simulator.trace.flat import BEGIN, END, EXITED, FlatProgram
from simulator.trace.schema import Instruction, KernelTrace

UNKNOWN = -1
ENDED = -1
FIRST_LOOP = int(Variable.LOOP0)


class WarpCursor:
    """A walk over a generated program for one warp of one block.

    `static` is the index of the next instruction, -1 once the program ended.
    """

    __slots__ = ("_mask", "exited", "flat", "launched", "limits", "static", "step", "steps", "values")

    def __init__(self, trace: KernelTrace, block: int, warp: int) -> None:
        self.flat: FlatProgram = trace.flat()
        self.steps = self.flat.steps
        self.launched = trace.launched_mask(warp)
        self.exited = 0
        self.values = [0] * VARIABLES
        self.values[Variable.BLOCK] = block
        self.values[Variable.BLOCK_X : Variable.BLOCK_Z + 1] = trace.block_index(block)
        self.values[Variable.WARP] = warp
        self.limits = [0] * MAX_LOOP_DEPTH
        self.step = -1
        self.static = 0
        self._mask = UNKNOWN
        self.advance()

    def peek(self) -> int:
        """The static index of the next instruction, or -1 when the program has ended."""
        return self.static

    @property
    def instruction(self) -> Instruction:
        """The next instruction; there must be one."""
        return self.flat.instructions[self.static]

    def mask(self) -> int:
        """The lanes that the next instruction works for: launched, not exited, not masked, not guarded."""
        mask = self._mask
        if mask < 0:
            static = self.static
            mask = self.flat.instructions[static].mask & self.launched & ~self.exited
            if self.flat.guards[static]:
                mask = self._guarded(mask)
            self._mask = mask
        return mask

    def _guarded(self, mask: int) -> int:
        for guard in self.flat.guards[self.static]:
            base, offsets, least, greatest = guard.expression.evaluate(self.values)
            low, high = guard.low - base, guard.high - base
            if least >= low and greatest < high:
                continue
            if greatest < low or least >= high:
                return 0
            for lane, offset in enumerate(offsets):
                if not low <= offset < high:
                    mask &= ~(1 << lane)
        return mask

    def access(self) -> tuple[int, Offsets]:
        """(base, offsets): lane i of the next instruction accesses byte base + offsets[i], active or not."""
        return self._evaluated(self.flat.addresses[self.static])

    def shared_access(self) -> tuple[int, Offsets]:
        """The same for the shared-memory side of LDGSTS."""
        return self._evaluated(self.flat.shared_addresses[self.static])

    def _evaluated(self, address: CompiledExpression | None) -> tuple[int, Offsets]:
        assert address is not None, "the instruction has no such address"
        if address.lane_terms or address.quotients:
            base, offsets, _, _ = address.evaluate(self.values)
            return base, offsets
        values = self.values
        base = address.constant
        for variable, factor in address.linear:
            base += factor * values[variable]
        return base, address.offsets

    def addresses(self) -> list[int]:
        """The byte address of each lane of the next instruction, 0 where the lane is inactive."""
        base, offsets = self.access()
        mask = self.mask()
        return [base + offset if mask >> lane & 1 else 0 for lane, offset in enumerate(offsets)]

    def exit(self, mask: int) -> None:
        """Take lanes out of the warp for good. `advance` does this for EXIT itself."""
        self.exited |= mask

    def advance(self) -> None:
        """Go on to the next instruction of this warp."""
        self.step += 1
        static = self.steps[self.step]
        if static < 0:
            static = self._pass_marks(static)
        self.static = static
        self._mask = UNKNOWN

    def _pass_marks(self, static: int) -> int:
        marks, steps, values = self.flat.marks, self.steps, self.values
        step = self.step
        while static < 0:
            mark = marks[-1 - static]
            if mark.kind == END:
                turn = values[mark.variable] + 1
                if turn < self.limits[mark.variable - FIRST_LOOP]:
                    values[mark.variable] = turn
                    step = mark.partner
                else:
                    values[mark.variable] = 0
            elif mark.kind == BEGIN:
                assert mark.trips is not None, "a loop's beginning always has trips"
                trips = mark.trips.uniform(values)
                values[mark.variable] = 0
                self.limits[mark.variable - FIRST_LOOP] = trips
                if trips <= 0:
                    step = mark.partner
            elif mark.kind == EXITED:
                self.exited |= self.mask()
                if not self.launched & ~self.exited:
                    return ENDED
            else:
                self.step = step
                return ENDED
            step += 1
            static = steps[step]
        self.step = step
        return static

    def dump(self) -> list[int]:
        """Everything that moves, for a checkpoint."""
        return [self.step, self.static, self.exited, self.launched, *self.values, *self.limits]

    def restore(self, state: Sequence[int]) -> None:
        """Stand where `dump` stood; block and warp are part of it."""
        self.step, self.static, self.exited, self.launched = state[:4]
        self.values[:] = state[4 : 4 + VARIABLES]
        self.limits[:] = state[4 + VARIABLES :]
        self._mask = UNKNOWN


def open_cursor(trace: KernelTrace, block: int, warp: int) -> WarpCursor:
    """A cursor for either form of trace."""
    if trace.recording is None:
        return WarpCursor(trace, block, warp)
    from simulator.trace.recorded_cursor import RecordedCursor

    return RecordedCursor(trace, block, warp)
