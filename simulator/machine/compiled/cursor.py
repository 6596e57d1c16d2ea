"""The walk of a warp through its trace, in either form: next instruction, its lanes, its addresses.

The reference is `simulator/trace/cursor.py` and `recorded_cursor.py`; what moves stands in the warp's record.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.expression import (
    OWN_OFFSETS,
    kept_pattern,
    lane_offsets,
    put_offsets,
    uniform,
)
from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_sm import (
    LANES,
    expression,
    guard_at,
    instruction,
    kept_offsets,
    kernel_at,
    mark_at,
    pattern_at,
)
from simulator.trace.cursor import FIRST_LOOP
from simulator.trace.expression import Variable
from simulator.trace.flat import BEGIN, END, EXITED
from simulator.trace.schema import FULL_MASK

ENDED = -1
BLOCK, BLOCK_X, BLOCK_Y, BLOCK_Z, WARP = (
    int(Variable.BLOCK),
    int(Variable.BLOCK_X),
    int(Variable.BLOCK_Y),
    int(Variable.BLOCK_Z),
    int(Variable.WARP),
)


@inlined
def _inside(mask: int, base: int, offsets: Any, guard: Any) -> int:
    """The lanes of a mask that a guard lets through."""
    for lane in range(LANES):
        if not guard.low <= base + offsets[lane] < guard.high:
            mask &= ~(1 << lane)
    return mask


@compiled
def _guarded(m: Any, warp: Any, mask: int) -> int:
    one = instruction(m.instructions, warp.following)
    for index in range(one.guard, one.guard + one.guard_count):
        guard = guard_at(m.guards, index)
        source = expression(m.expressions, guard.expression)
        base = uniform(m, guard.expression, warp)
        low, high, pattern = source.low, source.high, source.pattern
        if source.lane_count:
            slot, added = kept_pattern(m, guard.expression, warp)
            if slot == OWN_OFFSETS:
                base += lane_offsets(m, guard.expression, warp, m.scratch)
                mask = _inside(mask, base, m.scratch, guard)
                continue
            kept = kept_offsets(m.kept_offsets, slot)
            base += added
            low, high, pattern = kept.low, kept.high, m.first_kept + slot
        if base + low >= guard.low and base + high < guard.high:
            continue
        if base + high < guard.low or base + low >= guard.high:
            return 0
        mask = _inside(mask, base, pattern_at(m.patterns, pattern).offsets, guard)
    return mask


@compiled
def lanes_of(m: Any, warp: Any) -> int:
    """The lanes that the next instruction works for: launched, not exited, not masked, not guarded."""
    one = instruction(m.instructions, warp.following)
    mask = one.mask & warp.alive
    if not one.asks_lanes:
        return mask
    kernel = kernel_at(m.kernel_states, warp.kernel)
    if kernel.recorded:
        return load(m.variant_masks, kernel.first_variant + load(m.variants, warp.place))
    return _guarded(m, warp, mask)


@compiled
def address(m: Any, warp: Any, request: Any) -> None:
    """Put base and offsets of the next instruction's addresses into a request."""
    if kernel_at(m.kernel_states, warp.kernel).recorded:
        request.first_byte = load(m.bases, warp.access)
        request.pattern = load(m.pattern_ids, warp.access)
        return
    which = instruction(m.instructions, warp.following).address
    source = expression(m.expressions, which)
    request.first_byte = uniform(m, which, warp)
    request.pattern = source.pattern
    if source.lane_count:
        request.first_byte += put_offsets(m, which, warp, request)


@compiled
def _pass_marks(m: Any, warp: Any, step: int, static: int, lanes: int) -> int:
    """Go through the marks at a step; the instruction of the kernel that follows them, or ENDED. `lanes` are
    those of the instruction before.
    """
    kernel = kernel_at(m.kernel_states, warp.kernel)
    while static < 0:
        mark = mark_at(m.marks, kernel.mark_first - 1 - static)
        depth = mark.variable - FIRST_LOOP
        if mark.kind == END:
            turn = warp.values[mark.variable] + 1
            if turn < warp.limits[depth]:
                warp.values[mark.variable] = turn
                step = mark.partner
            else:
                warp.values[mark.variable] = 0
        elif mark.kind == BEGIN:
            trips = uniform(m, mark.trips, warp)
            warp.values[mark.variable] = 0
            warp.limits[depth] = trips
            if trips <= 0:
                step = mark.partner
        elif mark.kind == EXITED:
            warp.alive &= ~lanes
            if not warp.alive:
                return ENDED
        else:
            warp.step = step
            return ENDED
        step += 1
        static = load(m.steps, kernel.step_first + step)
    warp.step = step
    return static


@inlined
def _settle_recorded(m: Any, warp: Any, kernel: Any) -> None:
    warp.following = ENDED
    if warp.place < warp.end:
        static = load(m.variant_statics, kernel.first_variant + load(m.variants, warp.place))
        warp.following = kernel.first + static


@compiled
def advance(m: Any, warp: Any, lanes: int) -> None:
    """Go on to the next instruction of this warp; `lanes` worked for the one before."""
    kernel = kernel_at(m.kernel_states, warp.kernel)
    if kernel.recorded:
        warp.access += instruction(m.instructions, warp.following).accesses
        warp.place += 1
        _settle_recorded(m, warp, kernel)
        return
    step = warp.step + 1
    warp.step = step
    static = load(m.steps, kernel.step_first + step)
    if static < 0:
        static = _pass_marks(m, warp, step, static, lanes)
    warp.following = kernel.first + static if static >= 0 else ENDED


@compiled
def start(m: Any, warp: Any, block: int, index: int) -> None:
    """Stand before the first instruction of a warp of a block."""
    kernel = kernel_at(m.kernel_states, warp.kernel)
    lanes = kernel.threads - LANES * index
    warp.alive = FULL_MASK if lanes >= LANES else (1 << lanes) - 1
    warp.following = ENDED
    if kernel.recorded:
        row = load(m.recorded_rows, kernel.first_row + block) + index
        warp.place = load(m.starts, 3 * row)
        warp.end = load(m.starts, 3 * row + 1)
        warp.access = load(m.starts, 3 * row + 2)
        _settle_recorded(m, warp, kernel)
        return
    for variable in range(len(warp.values)):
        warp.values[variable] = 0
    warp.values[BLOCK] = block
    warp.values[BLOCK_X] = block % kernel.grid_x
    warp.values[BLOCK_Y] = block // kernel.grid_x % kernel.grid_y
    warp.values[BLOCK_Z] = block // (kernel.grid_x * kernel.grid_y)
    warp.values[WARP] = index
    warp.step = -1
    advance(m, warp, 0)
