"""Instruction supply of an SM: an L0 cache a sub-core, one instruction cache behind them, and the fill from
L2.

The machine of the reference engine's file of this name. A cache is a short table of (line, cycle at which it
is there, LRU stamp); lines are numbered over all kernels.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, load, store
from simulator.machine.compiled.layout_sm import buffer_at, kernel_at

ENTRY = 3
"""Integers of an entry."""


@compiled
def _find(m: Any, which: int, first: int, line: int) -> int:
    """The place of a line, or −1; it becomes the most recently used."""
    own = buffer_at(m.buffers, which)
    end = first + ENTRY * own.lines
    # Lines that follow each other came one after the other, so they stand as far apart as their numbers.
    place = first + own.latest
    place += ENTRY * (line - load(m.buffer_lines, place))
    if not first <= place < end or load(m.buffer_lines, place) != line:
        place = first
        while place < end and load(m.buffer_lines, place) != line:
            place += ENTRY
        if place >= end:
            return -1
    own.latest = place - first
    own.stamp += 1
    store(m.buffer_lines, place + 2, own.stamp)
    return place


@compiled
def _take_in(m: Any, which: int, first: int, capacity: int, line: int, ready: int) -> None:
    """Take a line in, at the cost of the least recently used one."""
    own = buffer_at(m.buffers, which)
    place = first + ENTRY * own.lines
    if own.lines < capacity:
        own.lines += 1
    else:
        place = first
        for other in range(first + ENTRY, first + ENTRY * own.lines, ENTRY):
            if load(m.buffer_lines, other + 2) < load(m.buffer_lines, place + 2):
                place = other
    own.stamp += 1
    store(m.buffer_lines, place, line)
    store(m.buffer_lines, place + 1, ready)
    store(m.buffer_lines, place + 2, own.stamp)


@compiled
def _fill(m: Any, sub: int, line: int, cycle: int) -> int:
    """Bring a line into a sub-core's cache; the cycle at which it is there."""
    sm = sub // m.sub_cores
    behind = m.l0_buffers + sm
    first = m.l1_buffer_first + sm * ENTRY * m.l1_buffer_lines
    place = _find(m, behind, first, line)
    if place >= 0:
        there = load(m.buffer_lines, place + 1)
    else:
        there = cycle + m.l1_instruction_latency
        _take_in(m, behind, first, m.l1_buffer_lines, line, there)
    ready = max(there, cycle) + m.l0_latency
    _take_in(m, sub, sub * ENTRY * m.l0_buffer_lines, m.l0_buffer_lines, line, ready)
    return ready


@compiled
def get_line(m: Any, sub: int, kernel: int, line: int, cycle: int) -> tuple[int, int]:
    """(cycle at which a warp of this sub-core has the line, whether the sub-core had it); starts the next
    one.
    """
    program = kernel_at(m.kernel_states, kernel)
    first = sub * ENTRY * m.l0_buffer_lines
    wanted = program.first_line + line
    place = _find(m, sub, first, wanted)
    held = 1 if place >= 0 else 0
    ready = load(m.buffer_lines, place + 1) if held else _fill(m, sub, wanted, cycle)
    if line + 1 < program.lines and _find(m, sub, first, wanted + 1) < 0:
        _fill(m, sub, wanted + 1, cycle)
    return max(ready, cycle), held
