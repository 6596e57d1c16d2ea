"""The run: components take turns, and each goes on for as long as no message can reach it.

They form a star: SMs and memory partitions speak only to the crossbar and the launcher in its middle. Where
the middle stands at a time, an SM may go on beyond it by the shortest message from there, and when all have,
the middle may go on beyond them by the shortest message back: so a turn lasts as long as a message there and
back, more than twice what it would if all set out from the same moment. None goes beyond the stop or the edge
of an interval: all ticks before those are then done, and none after.

Workers, of which there is one unless threads are asked for, share the SMs and the memory partitions. Nothing
of the hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import launcher, partition, sm
from simulator.machine.compiled.ahead import LOOK_UPS, MESSAGES, REQUESTS, WAITERS, look_ahead
from simulator.machine.compiled.dram_refresh import start
from simulator.machine.compiled.jit import compiled, inlined, invoke, load, load_shared, store, store_shared
from simulator.machine.compiled.layout import DONE, EDGES, GROW, WIDTH, component, pool
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.compiled.pools import left
from simulator.machine.order import NEVER

STOP = 1 << 62
"""A round that never comes: there is no more to do."""
SPINS = 2000
"""Looks at a flag before who waits leaves the processor to others."""
MANY = 400
"""Messages that wait for the crossbar: with more of them turns are short, so that they are still in the
processor's cache when they are read. Threads wait for each other in each turn: for them it is always long.
"""
FLAG_INTEGERS = 8
"""A flag has a cache line for itself."""


@compiled
def _settle(m: Any, now_fs: int) -> None:
    for number in range(m.sms):
        sm.settle(m, number, now_fs // m.sm_period_fs)


@compiled
def _close_edge(m: Any) -> None:
    """Store the counters at the edge of an interval."""
    _settle(m, m.next_edge_fs)
    size = m.kernels * WIDTH
    for place in range(size):
        total = 0
        for worker in range(m.workers):
            total += load(machine_at(m.here, worker).counts, place)
        store(m.snapshots, m.edges * size + place, total)
    m.edges += 1
    m.next_edge_fs += m.interval_fs


@compiled
def _is_low(m: Any) -> bool:
    for worker in range(m.workers):
        pools = machine_at(m.here, worker).pools
        for number in range(m.pool_count):
            one = pool(pools, number)
            if left(one) < one.low:
                return True
    return m.keep_requests != 0 and m.finished_room - m.finished_count < m.finished_low


@inlined
def _next_of(m: Any, first: int, last: int) -> int:
    following = NEVER
    for ident in range(first, last):
        own = component(m.components, ident)
        following = min(following, own.next_fs, own.notice_fs)
    return following


@compiled
def _begin_turn(m: Any, until_fs: int) -> int:
    """Say how far all may go in the next turn, not beyond `until_fs`; the earliest tick of any."""
    of_sms = _next_of(m, 1, m.crossbar)
    of_partitions = _next_of(m, m.first_partition, m.component_count)
    of_middle = min(component(m.components, 0).next_fs, component(m.components, m.crossbar).next_fs)
    now_fs = min(of_middle, of_sms, of_partitions)
    stop_fs = min(until_fs, m.next_edge_fs)
    if m.wheel_count > MANY and not m.threads:
        stop_fs = min(stop_fs, now_fs + m.window_fs)
    m.middle_fs = min(of_middle, of_sms + m.from_sms_fs, of_partitions + m.from_partitions_fs)
    m.sms_end_fs = min(m.middle_fs + m.to_sms_fs, stop_fs)
    m.partitions_end_fs = min(m.middle_fs + m.to_partitions_fs, stop_fs)
    m.middle_end_fs = min(m.sms_end_fs + m.from_sms_fs, m.partitions_end_fs + m.from_partitions_fs, stop_fs)
    return now_fs


# --- a turn -------------------------------------------------------------------------------------------------


@inlined
def _goes_on(m: Any, ident: int, end_fs: int) -> bool:
    """Whether a component has something to do in its turn."""
    own = component(m.components, ident)
    return min(own.next_fs, own.notice_fs) < end_fs


@inlined
def _prepare(m: Any, ident: int, end_fs: int, what: int) -> None:
    if _goes_on(m, ident, end_fs):
        look_ahead(m, ident, what)


@compiled
def _share(m: Any, worker: int) -> None:
    """A worker's part of a turn: some SMs and some memory partitions."""
    own = machine_at(m.here, worker)
    own.middle_fs = m.middle_fs
    end_fs = m.sms_end_fs
    first, last = 1 + own.first_sm, 1 + own.last_sm
    for ident in range(first, last):
        _prepare(m, min(ident + 3, last - 1), end_fs, MESSAGES)
        _prepare(m, min(ident + 2, last - 1), end_fs, WAITERS)
        _prepare(m, min(ident + 1, last - 1), end_fs, REQUESTS)
        if _goes_on(m, ident, end_fs):
            invoke(m.unit_sm, own.here, ident, end_fs)
    first, last = m.first_partition + own.first_part, m.first_partition + own.last_part
    end_fs = m.partitions_end_fs
    for ident in range(first, last):
        _prepare(m, min(ident + 2, last - 1), end_fs, MESSAGES)
        _prepare(m, min(ident + 1, last - 1), end_fs, LOOK_UPS)
        if _goes_on(m, ident, end_fs):
            invoke(m.unit_partition, own.here, ident, end_fs)


@inlined
def _wait(m: Any, place: int, before: int) -> int:
    """Wait until a flag is beyond a number; its value. Who waits long leaves the processor to others."""
    tries = 0
    value = load_shared(m.rounds, place)
    while value <= before:
        tries += 1
        if tries > SPINS:
            invoke(m.yields, 0, 0, 0)
        value = load_shared(m.rounds, place)
    return value


@compiled
def _all_shares(m: Any) -> None:
    if m.threads:
        due = load(m.rounds, 0) + 1
        store_shared(m.rounds, 0, due)
        _share(m, 0)
        for worker in range(1, m.workers):
            _wait(m, FLAG_INTEGERS * worker, due - 1)
    else:
        for worker in range(m.workers):
            _share(m, worker)


@compiled
def _collect(m: Any) -> int:
    """Hand over what the workers have sent to the launcher and the crossbar; the first error."""
    error = 0
    waiting = 0
    launcher_own = component(m.components, 0)
    crossbar_own = component(m.components, m.crossbar)
    for worker in range(m.workers):
        own = machine_at(m.here, worker)
        if own.error and not error:
            error = own.error
        launcher_own.next_fs = min(launcher_own.next_fs, own.launcher_next)
        crossbar_own.next_fs = min(crossbar_own.next_fs, own.crossbar_next)
        own.launcher_next = NEVER
        own.crossbar_next = NEVER
        waiting += own.wheel_count
        own.wheel_count = 0
    m.wheel_count = waiting
    return error


@compiled
def _turn(m: Any) -> int:
    """All ticks of a turn. The launcher and the crossbar are the main worker's, once the others have done
    theirs.
    """
    _all_shares(m)
    error = _collect(m)
    if component(m.components, m.crossbar).next_fs < m.middle_end_fs:
        invoke(m.unit_crossbar, m.here, m.crossbar, m.middle_end_fs)
    if component(m.components, 0).next_fs < m.middle_end_fs:
        invoke(m.unit_launcher, m.here, 0, m.middle_end_fs)
    return m.error if m.error else error


def work(here: int, worker: int, _b: int) -> int:
    """What a thread does besides the main one: its share of each turn, until there is none."""
    m = machine_at(here, 0)
    due = 0
    while True:
        due = _wait(m, 0, due)
        if due >= STOP:
            return 0
        _share(m, worker)
        store_shared(m.rounds, FLAG_INTEGERS * worker, due)


def next_fs(here: int, _a: int, _b: int) -> int:
    """The time of the next tick of any component; NEVER when nothing is booked."""
    m = machine_at(here, 0)
    return _next_of(m, 0, m.component_count)


@compiled
def _run(m: Any, until_fs: int) -> int:
    while True:
        now_fs = _begin_turn(m, until_fs)
        if now_fs >= until_fs:
            return DONE
        if m.next_edge_fs <= now_fs:
            if m.edges == m.edge_room:
                return EDGES
            _close_edge(m)
            continue
        if _is_low(m):
            return GROW
        error = _turn(m)
        if error:
            return error


def run(here: int, until_fs: int, _b: int) -> int:
    """Do all that is due before `until_fs` and nothing after."""
    m = machine_at(here, 0)
    answer = _run(m, until_fs)
    store_shared(m.rounds, 0, STOP)
    return answer


def close(here: int, now_fs: int, _b: int) -> int:
    """The run is over: account what lasts until now, and what stays dirty."""
    m = machine_at(here, 0)
    _settle(m, now_fs)
    for number in range(m.sms):
        sm.close(m, number, now_fs // m.sm_period_fs)
    for ident in range(m.first_partition, m.component_count):
        partition.close(m, ident, now_fs)
    return 0


def preload(here: int, first_line: int, last_line: int) -> int:
    """Put lines into L2 at their homes, as of time 0 without traffic."""
    partition.preload(machine_at(here, 0), first_line, last_line)
    return 0


def begin(here: int, _a: int, _b: int) -> int:
    """Before time 0: the first refreshes, and the first kernel of each stream."""
    m = machine_at(here, 0)
    for ch in range(m.channel_count):
        start(m, ch)
    for stream in range(m.streams):
        launcher.schedule(m, load(m.stream_current, stream), 0, 0, -m.host_fs)
    return 0
