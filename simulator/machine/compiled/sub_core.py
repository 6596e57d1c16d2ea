"""A sub-core: its warps, its scheduler and its pipelines. One instruction issues a cycle.

The machine of the reference engine's file of this name; candidates are bits of the SM's warp slots.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.issue import issue
from simulator.machine.compiled.jit import as_bits, compiled, inlined, load_bits, lowest_bit, store_bits
from simulator.machine.compiled.layout import P_NODES, node
from simulator.machine.compiled.layout_sm import instruction, sub_core, warp_at
from simulator.machine.compiled.lsu import LG_QUEUE, MIO_QUEUE, QUEUES
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.scoreboard import UNKNOWN, missing, ready_at
from simulator.machine.compiled.sm_events import add_bits, change_state, wake_later, warp_of
from simulator.machine.program import COPY_WAIT, LG, MATH, MIO, SPECIAL
from simulator.statistics.phases import (
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    NO_INSTRUCTION,
    NOT_SELECTED,
)

ELIGIBLE = -1
GTO, LRR, OLDEST = range(3)
SCHEDULERS = ("gto", "lrr", "oldest")


@inlined
def _open_groups(m: Any, warp: Any) -> int:
    """Groups of copies that have not landed, but for landed ones behind them."""
    while warp.group_first >= 0 and node(m.nodes, warp.group_first).what == 0:
        following = node(m.nodes, warp.group_first).next
        give(m, P_NODES, warp.group_first)
        warp.group_first = following
        warp.groups -= 1
    return warp.groups


@inlined
def _pipeline(own: Any, inst: Any, cycle: int) -> tuple[int, int]:
    """(state, cycle at which to look again) of a warp that lacks nothing else."""
    free = own.pipe_free[inst.pipeline]
    if free > cycle * 10:
        return MATH_PIPE_THROTTLE, -(-free // 10)
    if own.dispatch_free > cycle:
        return DISPATCH_STALL, own.dispatch_free
    return ELIGIBLE, UNKNOWN


@inlined
def _throttle(m: Any, own: Any, warp: Any, which: int) -> None:
    """Let a warp wait for a place in a queue of the load/store unit."""
    add_bits(m.throttled, QUEUES * own.word + which, as_bits(1 << warp.bit))


@compiled
def _judge(m: Any, own: Any, index: int, cycle: int) -> tuple[int, int]:
    """(state, cycle at which to look again); ELIGIBLE when it may issue now."""
    warp = warp_at(m.warps, index)
    inst = instruction(m.instructions, warp.following)
    if not warp.clear:
        if warp.fetch_ready > cycle:
            return NO_INSTRUCTION, warp.fetch_ready
        if warp.branch_ready > cycle:
            return BRANCH_RESOLVING, warp.branch_ready
        ready = ready_at(m, index, inst)
        if ready > cycle:
            return missing(m, index, inst, ready, cycle)
        warp.clear = 1
    kind = inst.kind
    if kind == LG:
        if own.queued[LG_QUEUE] >= m.lg_depth:
            _throttle(m, own, warp, LG_QUEUE)
            return LG_THROTTLE, UNKNOWN
    elif kind == MIO:
        if own.queued[MIO_QUEUE] >= m.mio_depth:
            _throttle(m, own, warp, MIO_QUEUE)
            return MIO_THROTTLE, UNKNOWN
    elif kind == COPY_WAIT and _open_groups(m, warp) > inst.count:
        return LONG_SCOREBOARD, UNKNOWN
    return _pipeline(own, inst, cycle)


@inlined
def _key(m: Any, own: Any, warp: Any) -> int:
    """The scheduler's choice is the least; keys are architectural, never the order of looking."""
    if m.scheduler == LRR:
        return warp.bit + (m.warp_slots if warp.bit <= own.last_bit else 0)
    return -1 if m.scheduler == GTO and warp.age == own.last_age else warp.age


@inlined
def _wait_for_turn(m: Any, index: int, cycle: int) -> None:
    """Another warp has been selected."""
    warp = warp_at(m.warps, index)
    if warp.state != NOT_SELECTED:
        change_state(m, warp, NOT_SELECTED, cycle)


@inlined
def _selected(m: Any, own: Any, cycle: int) -> int:
    """The warp that the scheduler picks, or −1; the others get the states that they are in, and those that
    an event or a later cycle wakes are no longer listed.
    """
    best = -1
    best_key = 0
    looked = load_bits(m.looked, own.word)
    left = looked & as_bits(own.mask)
    while left:
        bit = lowest_bit(left)
        left &= left - 1
        index = warp_of(m, own, bit)
        warp = warp_at(m.warps, index)
        inst = instruction(m.instructions, warp.following)
        # What most candidates wait for is known without a call.
        if warp.clear and inst.kind in (MATH, SPECIAL):
            state, wake = _pipeline(own, inst, cycle)
        else:
            state, wake = _judge(m, own, index, cycle)
        if state == ELIGIBLE:
            key = _key(m, own, warp)
            if best < 0:
                best = index
                best_key = key
            elif key < best_key:
                _wait_for_turn(m, best, cycle)
                best = index
                best_key = key
            else:
                _wait_for_turn(m, index, cycle)
            continue
        if warp.state != state:
            change_state(m, warp, state, cycle)
        if wake != cycle + 1:
            looked &= ~(1 << bit)
            if wake != UNKNOWN:
                wake_later(m, own, index, cycle, wake)
    store_bits(m.looked, own.word, looked)
    return best


@compiled
def step(m: Any, sub: int, cycle: int) -> int:
    """The issue phase: sort the candidates into states, let the scheduler pick, issue; the bits of the
    sub-cores behind this one.
    """
    own = sub_core(m.sub_core_states, sub)
    index = _selected(m, own, cycle)
    if index >= 0:
        warp = warp_at(m.warps, index)
        own.last_age = warp.age
        own.last_bit = warp.bit
        if not issue(m, own, index, cycle):
            store_bits(m.looked, own.word, load_bits(m.looked, own.word) & ~as_bits(1 << warp.bit))
    return as_bits(own.above)
