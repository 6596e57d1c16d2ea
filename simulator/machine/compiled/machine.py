"""The run: components advance in windows, as long as no message can reach them within.

Workers, of which there is one unless threads are asked for, share the SMs and the memory partitions. A
window begins with the earliest tick that is booked and lasts as long as the shortest link, but not beyond
the stop or the edge of an interval: all ticks before those are then done, and none after. Nothing of the
hardware is modelled here.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import launcher, partition, sm
from simulator.machine.compiled.ahead import LOOK_UPS, REQUESTS, WAITERS, look_ahead
from simulator.machine.compiled.dram_refresh import start
from simulator.machine.compiled.jit import compiled, inlined, invoke, load, load_shared, store, store_shared
from simulator.machine.compiled.layout import DONE, EDGES, GROW, WIDTH, component, pool
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.order import NEVER

STOP = 1 << 62
"""A round that never comes: there is no more to do."""
SPINS = 2000
"""Looks at a flag before who waits leaves the processor to others."""
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
            if one.left < one.low:
                return True
    return m.keep_requests != 0 and m.finished_room - m.finished_count < m.finished_low


@compiled
def _next(m: Any) -> int:
    following = NEVER
    for ident in range(m.component_count):
        following = min(following, component(m.components, ident).next_fs)
    return following


# --- a window -----------------------------------------------------------------------------------------------


@inlined
def _prepare(m: Any, ident: int, what: int) -> None:
    if component(m.components, ident).next_fs < m.end_fs:
        look_ahead(m, ident, what)


@compiled
def _share(m: Any, worker: int) -> None:
    """A worker's part of a window: some SMs and some memory partitions."""
    own = machine_at(m.here, worker)
    own.window_from_fs = m.window_from_fs
    end_fs = m.end_fs
    first, last = 1 + own.first_sm, 1 + own.last_sm
    for ident in range(first, last):
        _prepare(m, min(ident + 2, last - 1), WAITERS)
        _prepare(m, min(ident + 1, last - 1), REQUESTS)
        if component(m.components, ident).next_fs < end_fs:
            invoke(m.unit_sm, own.here, ident, end_fs)
    first, last = m.first_partition + own.first_part, m.first_partition + own.last_part
    for ident in range(first, last):
        _prepare(m, min(ident + 1, last - 1), LOOK_UPS)
        if component(m.components, ident).next_fs < end_fs:
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
def _window(m: Any) -> int:
    """All ticks of a window. The launcher and the crossbar, to which all others speak, are the main worker's,
    once the others have done theirs; the order is free, since nothing arrives in the window in which it was
    sent.
    """
    _all_shares(m)
    error = _collect(m)
    if component(m.components, m.crossbar).next_fs < m.end_fs:
        invoke(m.unit_crossbar, m.here, m.crossbar, m.end_fs)
    if component(m.components, 0).next_fs < m.end_fs:
        invoke(m.unit_launcher, m.here, 0, m.end_fs)
    return m.error if m.error else error


def work(here: int, worker: int, _b: int) -> int:
    """What a thread does besides the main one: its share of each window, until there is none."""
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
    return _next(machine_at(here, 0))


@compiled
def _run(m: Any, until_fs: int) -> int:
    while True:
        now_fs = _next(m)
        if now_fs >= until_fs:
            return DONE
        while m.next_edge_fs <= now_fs:
            if m.edges == m.edge_room:
                return EDGES
            _close_edge(m)
        if _is_low(m):
            return GROW
        m.window_from_fs = now_fs
        m.end_fs = min(now_fs + m.window_fs, until_fs, m.next_edge_fs)
        error = _window(m)
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
