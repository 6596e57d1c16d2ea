"""A sub-core: its warps, its scheduler and its pipelines. One instruction issues a cycle.

The machine of the reference engine's file of this name; candidates are a list of warps in a table.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.issue import issue
from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import P_NODES, node
from simulator.machine.compiled.layout_sm import instruction, sub_core, warp_at
from simulator.machine.compiled.lsu import LG_QUEUE, MIO_QUEUE, waiters_of
from simulator.machine.compiled.order import enqueue
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.sm_events import WAKE, book_warp, change_state
from simulator.machine.program import COPY_WAIT, LG, MATH, MIO, SPECIAL
from simulator.machine.state import LONG_PENDING, SHORT_PENDING
from simulator.statistics.phases import (
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    NO_INSTRUCTION,
    NOT_SELECTED,
    SHORT_SCOREBOARD,
    WAIT,
)

ELIGIBLE = -1
UNKNOWN = -1
"""A wake-up that some event will bring."""
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


@compiled
def _dependency(m: Any, index: int, inst: Any, ready: int, cycle: int) -> tuple[int, int]:
    if ready >= LONG_PENDING:
        return LONG_SCOREBOARD, UNKNOWN
    if ready >= SHORT_PENDING:
        return SHORT_SCOREBOARD, UNKNOWN
    if warp_at(m.warps, index).has_short:
        special = 0
        for operand in range(inst.depends, inst.depends + inst.depends_count):
            place = index * m.registers + load(m.register_lists, operand)
            at = load(m.ready, place)
            if at > cycle and load(m.short, place) == at:
                special = max(special, at)
        if special:
            return SHORT_SCOREBOARD, special
    return WAIT, ready


@inlined
def _pipeline(own: Any, inst: Any, cycle: int) -> tuple[int, int]:
    """(state, cycle at which to look again) of a warp that lacks nothing else."""
    free = own.pipe_free[inst.pipeline]
    if free > cycle * 10:
        return MATH_PIPE_THROTTLE, -(-free // 10)
    if own.dispatch_free > cycle:
        return DISPATCH_STALL, own.dispatch_free
    return ELIGIBLE, UNKNOWN


@compiled
def _judge(m: Any, own: Any, sub: int, index: int, cycle: int) -> tuple[int, int]:
    """(state, cycle at which to look again); ELIGIBLE when it may issue now."""
    warp = warp_at(m.warps, index)
    inst = instruction(m.instructions, warp.following)
    if not warp.clear:
        if warp.fetch_ready > cycle:
            return NO_INSTRUCTION, warp.fetch_ready
        if warp.branch_ready > cycle:
            return BRANCH_RESOLVING, warp.branch_ready
        ready = 0
        for operand in range(inst.depends, inst.depends + inst.depends_count):
            ready = max(ready, load(m.ready, index * m.registers + load(m.register_lists, operand)))
        if ready > cycle:
            return _dependency(m, index, inst, ready, cycle)
        warp.clear = 1
    kind = inst.kind
    if kind == LG:
        if own.queued[LG_QUEUE] >= m.lg_depth:
            enqueue(m, waiters_of(sub, LG_QUEUE), index, 0)
            return LG_THROTTLE, UNKNOWN
    elif kind == MIO:
        if own.queued[MIO_QUEUE] >= m.mio_depth:
            enqueue(m, waiters_of(sub, MIO_QUEUE), index, 0)
            return MIO_THROTTLE, UNKNOWN
    elif kind == COPY_WAIT and _open_groups(m, warp) > inst.count:
        return LONG_SCOREBOARD, UNKNOWN
    return _pipeline(own, inst, cycle)


@compiled
def _pick(m: Any, own: Any, first: int, eligible: int) -> int:
    """The place of the scheduler's choice; keys are architectural, never the order of the list."""
    best = 0
    best_key = 0
    for place in range(eligible):
        warp = warp_at(m.warps, load(m.candidates, first + place))
        if m.scheduler == GTO and warp.age == own.last_age:
            return place
        key = warp.age
        if m.scheduler == LRR:
            key = warp.slot + (m.warp_slots if warp.slot <= own.last_slot else 0)
        if place == 0 or key < best_key:
            best = place
            best_key = key
    return best


@compiled
def step(m: Any, sub: int, cycle: int) -> None:
    """The issue phase: sort the candidates into states, let the scheduler pick, issue."""
    own = sub_core(m.sub_core_states, sub)
    first = sub * m.sub_slots
    eligible = 0
    soon = 0
    for place in range(own.candidates):
        index = load(m.candidates, first + place)
        warp = warp_at(m.warps, index)
        inst = instruction(m.instructions, warp.following)
        # What most candidates wait for is known without a call.
        if warp.clear and inst.kind in (MATH, SPECIAL):
            state, wake = _pipeline(own, inst, cycle)
        else:
            state, wake = _judge(m, own, sub, index, cycle)
        if state == ELIGIBLE:
            # Those who may issue stand before those who only stay on the list.
            store(m.candidates, first + eligible + soon, load(m.candidates, first + eligible))
            store(m.candidates, first + eligible, index)
            eligible += 1
            continue
        if warp.state != state:
            change_state(m, warp, state, cycle)
        if wake == cycle + 1:
            store(m.candidates, first + eligible + soon, index)
            soon += 1
            continue
        warp.listed = 0
        if wake != UNKNOWN:
            book_warp(m, wake, WAKE, index)
    own.candidates = eligible + soon
    if not eligible:
        return
    chosen = 0 if eligible == 1 else _pick(m, own, first, eligible)
    for place in range(eligible):
        warp = warp_at(m.warps, load(m.candidates, first + place))
        if place != chosen and warp.state != NOT_SELECTED:
            change_state(m, warp, NOT_SELECTED, cycle)
    index = load(m.candidates, first + chosen)
    warp = warp_at(m.warps, index)
    own.last_age = warp.age
    own.last_slot = warp.slot
    if not issue(m, own, index, cycle):
        warp.listed = 0
        own.candidates -= 1
        store(m.candidates, first + chosen, load(m.candidates, first + own.candidates))
