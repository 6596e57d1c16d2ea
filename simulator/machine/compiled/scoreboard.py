"""When the registers that an instruction needs can be read, and what its warp waits for until then."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_sm import warp_at
from simulator.machine.state import LONG_PENDING, SHORT_PENDING
from simulator.statistics.phases import LONG_SCOREBOARD, SHORT_SCOREBOARD, WAIT

UNKNOWN = -1
"""A wake-up that some event will bring."""
SINGLE = 2
"""Registers of an instruction that it names itself; more stand in a list."""


@inlined
def ready_at(m: Any, index: int, inst: Any) -> int:
    """The cycle at which all registers of a warp's instruction can be read, or a pending mark."""
    if inst.depends_count == 0:
        return 0
    first = index * m.registers
    ready = max(load(m.ready, first + inst.needs[0]), load(m.ready, first + inst.needs[1]))
    for operand in range(inst.depends + SINGLE, inst.depends + inst.depends_count):
        ready = max(ready, load(m.ready, first + load(m.register_lists, operand)))
    return ready


@compiled
def _special(m: Any, index: int, inst: Any, cycle: int) -> int:
    """When the last special-function result that is missing will be there, or 0."""
    special = 0
    for operand in range(inst.depends, inst.depends + inst.depends_count):
        place = index * m.registers + load(m.register_lists, operand)
        at = load(m.ready, place)
        if at > cycle and load(m.short, place) == at:
            special = max(special, at)
    return special


@inlined
def missing(m: Any, index: int, inst: Any, ready: int, cycle: int) -> tuple[int, int]:
    """(state, cycle at which to look again) of a warp whose registers are ready only later."""
    if ready >= LONG_PENDING:
        return LONG_SCOREBOARD, UNKNOWN
    if ready >= SHORT_PENDING:
        return SHORT_SCOREBOARD, UNKNOWN
    if warp_at(m.warps, index).has_short:
        special = _special(m, index, inst, cycle)
        if special:
            return SHORT_SCOREBOARD, special
    return WAIT, ready
