"""Issue: what one warp instruction does in the cycle in which it is selected, and what its write-back does
later.

The machine of the reference engine's file of this name. A group of asynchronous copies is an entry whose item
counts the copies that have not landed.
"""

from __future__ import annotations

from typing import Any

from hwmodels.coalescing import LINE_BYTES
from hwmodels.operations import Operation
from simulator.machine.compiled.barrier import arrive, left
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.cursor import address, advance, lanes_of
from simulator.machine.compiled.fetch import get_line
from simulator.machine.compiled.jit import bit_count, compiled, inlined, load, quotient, store
from simulator.machine.compiled.l1_finish import fence_if_done
from simulator.machine.compiled.l1_tags import ask_set
from simulator.machine.compiled.layout import P_NODES, P_REQUESTS, STATE_BASE, node
from simulator.machine.compiled.layout_sm import block_at, instruction, request_at, sm_at, warp_at
from simulator.machine.compiled.lsu import LG_QUEUE, MIO_QUEUE, push
from simulator.machine.compiled.pools import give, take
from simulator.machine.compiled.scoreboard import UNKNOWN, missing, ready_at
from simulator.machine.compiled.sm_events import EXITED, book_warp, list_candidate, wake_later
from simulator.machine.program import BARRIER_UNIT, COPY_COMMIT, FENCE, LG, MATH, MIO, SPECIAL
from simulator.machine.state import LONG_PENDING, SHORT_PENDING
from simulator.statistics.phases import (
    ASYNC_COPY,
    BARRIER,
    DRAIN,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    LOCAL_STORE,
    LONG_SCOREBOARD,
    MEMBAR,
    NO_INSTRUCTION,
    SELECTED,
    SHARED_STORE,
    SHORT_SCOREBOARD,
    WAIT,
)
from simulator.statistics.schema import INDEX

C_WARP = INDEX["warp_instructions"]
C_THREAD = INDEX["thread_instructions"]
C_CONFLICT = INDEX["operand_conflict_cycles"]
C_ACCESS = INDEX["access_count"]
C_ACCESS_FS = INDEX["access_fs"]
C_FETCH_MISSES = INDEX["instruction_misses"]
OPERATIONS = len(Operation)
CONSUME_INTEGERS = 3


@inlined
def is_store(access_class: int) -> bool:
    """Whether a warp waits only for the hand-over of such a request."""
    return access_class in (GLOBAL_STORE, LOCAL_STORE, SHARED_STORE, GLOBAL_REDUCTION)


@inlined
def fetch_line(m: Any, index: int, cycle: int) -> None:
    """Get the line of the warp's next instruction."""
    warp = warp_at(m.warps, index)
    line = instruction(m.instructions, warp.following).fetch_line
    if line != warp.fetch_line:
        warp.fetch_line = line
        ready, held = get_line(m, warp.sub, warp.kernel, line, cycle)
        warp.fetch_ready = ready
        if not held:
            count(m, warp.kernel, C_FETCH_MISSES, 1)


@inlined
def _bring(m: Any, index: int, register: int, latency_fs: int) -> None:
    """Note how long a register's value took to come."""
    place = index * m.registers + register
    store(m.origins, place, latency_fs)
    for word in range(m.operator_words):
        store(m.fresh, place * m.operator_words + word, -1)


@compiled
def _consume(m: Any, index: int, inst: Any, kernel: int) -> None:
    """Count the first consumption of each operand that is a tensor's value."""
    for operand in range(inst.consumes, inst.consumes + inst.consumes_count):
        place = index * m.registers + load(m.operands, CONSUME_INTEGERS * operand)
        word = place * m.operator_words + load(m.operands, CONSUME_INTEGERS * operand + 1)
        bit = load(m.operands, CONSUME_INTEGERS * operand + 2)
        fresh = load(m.fresh, word)
        if fresh & bit:
            store(m.fresh, word, fresh & ~bit)
            count(m, kernel, C_ACCESS, 1)
            count(m, kernel, C_ACCESS_FS, load(m.origins, place))


@compiled
def _compute(m: Any, index: int, inst: Any, cycle: int) -> None:
    done = cycle + inst.latency + inst.operand_cycles - 1
    for operand in range(inst.dst, inst.dst + inst.dst_count):
        register = load(m.register_lists, operand)
        store(m.ready, index * m.registers + register, done)
        if inst.kind == SPECIAL:
            store(m.short, index * m.registers + register, done)
            warp_at(m.warps, index).has_short = 1
        if inst.produces:
            # Left in a register by its producer: an access to it costs the operand read and no more.
            _bring(m, index, register, inst.operand_cycles * m.sm_period_fs)


@compiled
def _memory(m: Any, index: int, inst: Any, mask: int, cycle: int) -> None:
    warp = warp_at(m.warps, index)
    sm = quotient(index, m.warp_slots)
    own = sm_at(m.sm_states, sm)
    asked = take(m, P_REQUESTS)
    request = request_at(m.requests, asked)
    own.order += 1
    request.warp = index
    request.age = warp.age
    request.sm = sm
    request.kernel = warp.kernel
    request.slot = warp.slot
    request.inst = warp.following
    request.issue = cycle
    request.order = own.order
    request.mask = mask
    request.parts = 0
    request.left = 0
    request.counted = 0
    request.hit_ready = 0
    request.last_fs = -1
    request.last_line = -1
    request.group = -1
    if inst.bytes_per_lane:
        address(m, warp, request)
        if inst.kind == LG and not inst.bypass:
            ask_set(m, sm, request.first_byte // LINE_BYTES)
    pending = LONG_PENDING if inst.kind == LG else SHORT_PENDING
    for operand in range(inst.dst, inst.dst + inst.dst_count):
        store(m.ready, index * m.registers + load(m.register_lists, operand), pending)
    if is_store(inst.access_class):
        warp.unsent += 1
    else:
        warp.loads += 1
    if inst.access_class == ASYNC_COPY:
        if warp.copies < 0:
            warp.copies = take(m, P_NODES)
            node(m.nodes, warp.copies).what = 0
        node(m.nodes, warp.copies).what += 1
        request.group = warp.copies
    push(m, warp.sub, LG_QUEUE if inst.kind == LG else MIO_QUEUE, asked)


@compiled
def _commit(m: Any, warp: Any) -> None:
    """Close the open group of asynchronous copies."""
    group = warp.copies
    if group < 0:
        group = take(m, P_NODES)
        node(m.nodes, group).what = 0
    warp.copies = -1
    node(m.nodes, group).next = -1
    if warp.group_first < 0:
        warp.group_first = group
    else:
        node(m.nodes, warp.group_last).next = group
    warp.group_last = group
    warp.groups += 1


@compiled
def _advance(m: Any, index: int, lanes: int, cycle: int) -> None:
    """Go on behind an instruction after which more than the next one of its line may follow."""
    warp = warp_at(m.warps, index)
    before = warp.following
    advance(m, warp, lanes)
    if warp.following < 0:
        return
    if warp.following != before + 1:
        warp.branch_ready = cycle + m.branch_latency
    if instruction(m.instructions, warp.following).fetch_line != warp.fetch_line:
        fetch_line(m, index, cycle)


@compiled
def _exit(m: Any, index: int, cycle: int) -> None:
    """The last lanes have exited: the warp drains, and barriers no longer wait for it."""
    warp = warp_at(m.warps, index)
    warp.exited = 1
    warp.state = DRAIN
    block_at(m.blocks, warp.block).running -= 1
    left(m, index // m.warp_slots, warp.block, cycle)
    book_warp(m, cycle + 1, EXITED, index)


@inlined
def _foresee(m: Any, own: Any, index: int, cycle: int) -> int:
    """What the warp lacks in the next cycle, where that is known now; whether to look at it then."""
    warp = warp_at(m.warps, index)
    following = cycle + 1
    if warp.fetch_ready > following or warp.branch_ready > following:
        return 1
    inst = instruction(m.instructions, warp.following)
    ready = ready_at(m, index, inst)
    if ready <= following:
        warp.clear = 1
        return 1
    state, wake = missing(m, index, inst, ready, following)
    warp.state = state
    sm_at(m.sm_states, own.sm).foreseen = following
    if wake != UNKNOWN:
        # Nothing else will be lacking then but a pipeline, or a special function's result before the rest.
        warp.clear = 1 if state == WAIT else 0
        wake_later(m, own, index, cycle, wake)
    return 0


@compiled
def issue(m: Any, own: Any, index: int, cycle: int) -> int:
    """Issue the warp's next instruction in sub-core `own`; whether to look at the warp again in the next
    cycle.
    """
    warp = warp_at(m.warps, index)
    inst = instruction(m.instructions, warp.following)
    kernel = warp.kernel
    mask = lanes_of(m, warp)
    count(m, kernel, C_WARP, 1)
    count(m, kernel, C_THREAD, bit_count(mask))
    place = kernel * OPERATIONS + inst.operation
    store(m.operation_counts, place, load(m.operation_counts, place) + 1)
    # `selected` lasts exactly this cycle; what the warp does next is judged in the next one.
    count(m, kernel, STATE_BASE + warp.state, cycle - warp.since)
    count(m, kernel, STATE_BASE + SELECTED, 1)
    warp.state = NO_INSTRUCTION
    warp.since = cycle + 1
    warp.clear = 0
    if inst.operand_cycles > 1:
        own.dispatch_free = cycle + inst.operand_cycles
        count(m, kernel, C_CONFLICT, inst.operand_cycles - 1)
    # The pipeline keeps its fraction of a cycle while instructions follow each other without a gap.
    free = own.pipe_free[inst.pipeline]
    if 10 * cycle - free >= 10:
        free = 10 * cycle
    own.pipe_free[inst.pipeline] = free + inst.interval_tenths
    if inst.consumes_count:
        _consume(m, index, inst, kernel)
    kind = inst.kind
    again = 1
    if inst.simple:
        done = cycle + inst.latency + inst.operand_cycles - 1
        store(m.ready, index * m.registers + inst.result, done)
    elif kind in (MATH, SPECIAL):
        _compute(m, index, inst, cycle)
    elif kind in (LG, MIO):
        if mask:
            _memory(m, index, inst, mask, cycle)
    elif kind == COPY_COMMIT:
        _commit(m, warp)
    elif kind == BARRIER_UNIT:
        warp.state = BARRIER
        again = 0
    elif kind == FENCE:
        warp.state = MEMBAR
        sm_at(m.sm_states, own.sm).fences += 1
        again = 0
        fence_if_done(m, index, cycle)
    if inst.plain:
        warp.following += 1
        warp.step += 1
    else:
        _advance(m, index, mask, cycle)
        if warp.following < 0:
            _exit(m, index, cycle)
            return 0
    if kind == BARRIER_UNIT:
        arrive(m, own.sm, index, inst.count, cycle)
    return _foresee(m, own, index, cycle) if again else 0


@compiled
def returned(m: Any, asked: int, latency_fs: int, cycle: int) -> int:
    """A load, atomic or shuffle writes back (or an asynchronous copy lands, or a shared store is done);
    whether the warp has exited and may end.
    """
    request = request_at(m.requests, asked)
    inst = instruction(m.instructions, request.inst)
    index = request.warp
    warp = warp_at(m.warps, index)
    if is_store(inst.access_class) and inst.access_class != SHARED_STORE:
        return 0  # handed over long ago; the warp may have ended
    for operand in range(inst.dst, inst.dst + inst.dst_count):
        register = load(m.register_lists, operand)
        store(m.ready, index * m.registers + register, cycle)
        if inst.brings:
            _bring(m, index, register, latency_fs)
    if request.group >= 0:
        node(m.nodes, request.group).what -= 1
    if inst.access_class == SHARED_STORE:
        warp.unsent -= 1
        fence_if_done(m, index, cycle)
    else:
        warp.loads -= 1
    if warp.exited:
        return 1
    # What else a warp waits for has its own time.
    if warp.state in (LONG_SCOREBOARD, SHORT_SCOREBOARD):
        list_candidate(m, index)
    return 0


@compiled
def forget_groups(m: Any, warp: Any) -> None:
    """A warp has ended: give back the groups of copies that it never waited for."""
    if warp.copies >= 0:
        give(m, P_NODES, warp.copies)
    while warp.group_first >= 0:
        following = node(m.nodes, warp.group_first).next
        give(m, P_NODES, warp.group_first)
        warp.group_first = following
