"""Writes at their home slice: sectors that are written whole become readable at once."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count, mark
from simulator.machine.compiled.jit import bit_count, compiled
from simulator.machine.compiled.l2_answers import hold_port, invalidate_copy
from simulator.machine.compiled.l2_output import acknowledge
from simulator.machine.compiled.l2_room import own_slot
from simulator.machine.compiled.l2_tags import touch
from simulator.machine.compiled.layout import packet
from simulator.machine.compiled.layout_memory import l2_line
from simulator.machine.state_l2 import FREE
from simulator.statistics.phases import L2_QUEUE
from simulator.statistics.schema import INDEX

C_REQUESTS = INDEX["l2_write_requests"]
C_SECTORS = INDEX["l2_write_sectors"]
C_BYTES = INDEX["l2_write_bytes"]


@compiled
def write(m: Any, slice_id: int, which: int, asked: int, cycle: int, now_fs: int) -> int:
    """Look up a write; 0 when it must wait."""
    one = packet(m.packets, asked)
    slot = own_slot(m, slice_id, which, one.line, now_fs)
    if slot == FREE:
        return 0
    touch(m, slice_id, slot)
    line = l2_line(m.l2_lines, slot)
    line.valid |= one.full
    line.dirty |= one.sectors
    line.owner = one.kernel
    invalidate_copy(m, slice_id, asked, slot, cycle)
    count(m, one.kernel, C_REQUESTS, 1)
    count(m, one.kernel, C_SECTORS, bit_count(one.sectors))
    count(m, one.kernel, C_BYTES, one.payload)
    hold_port(m, slice_id, cycle, one.payload)
    mark(one, L2_QUEUE, now_fs)
    acknowledge(m, slice_id, asked, cycle + m.access_cycles)
    return 1
