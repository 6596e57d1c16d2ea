"""The SM's port to the crossbar: packets with their life so far, credits, tokens, and write-backs of local
memory.

A token says in its low bits what waits (a miss, another request, a write-back), above them which.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.inbox import FROM_SMS, send_packet
from simulator.machine.compiled.jit import bit_count, compiled, load, quotient
from simulator.machine.compiled.layout import P_PACKETS, PACKET_PHASES, packet
from simulator.machine.compiled.layout_sm import l1_line, request_at, sm_at, waiter_at
from simulator.machine.compiled.pools import take
from simulator.machine.compiled.routing import route
from simulator.machine.compiled.tlb import extra_cycles
from simulator.machine.messages import REQUEST, WRITE
from simulator.machine.state_l2 import SECTOR_BYTES
from simulator.statistics.schema import INDEX

C_EVICTIONS = INDEX["l1_dirty_evictions"]
C_PACKETS = INDEX["request_packets"]
C_PACKET_BYTES = INDEX["request_bytes"]
C_TLB = INDEX["tlb_misses"]
MISS, OTHER, EVICTION = range(3)
TOKEN_BITS = 2


@compiled
def _send(m: Any, sm: int, index: int) -> None:
    one = packet(m.packets, index)
    sm_at(m.sm_states, sm).credits -= 1
    count(m, one.kernel, C_PACKETS, 1)
    count(m, one.kernel, C_PACKET_BYTES, one.payload)
    route(m, one)
    cycle = quotient(one.last_fs + m.sm_to_crossbar_fs + m.l2_period_fs - 1, m.l2_period_fs)
    send_packet(m, 1 + sm, FROM_SMS, cycle, REQUEST, index)


@compiled
def _packet(
    m: Any, sm: int, operation: int, line: int, sectors: int, full: int, payload: int, kernel: int
) -> int:
    index = take(m, P_PACKETS)
    one = packet(m.packets, index)
    one.operation = operation
    one.sm = sm
    one.line = line
    one.sectors = sectors
    one.full = full
    one.payload = payload
    one.kernel = kernel
    one.lanes = 0
    for phase in range(PACKET_PHASES):
        one.phases[phase] = 0
    return index


@compiled
def ask(
    m: Any,
    asked: int,
    operation: int,
    line: int,
    sectors: int,
    full: int,
    payload: int,
    token: int,
    waiter: int,
    cycle: int,
) -> None:
    """Send a packet for one line of a warp request that was looked up in `cycle`, for which `waiter` waits;
    there is a credit.
    """
    request = request_at(m.requests, asked)
    extra = extra_cycles(m, request.sm, line)
    if extra:
        count(m, request.kernel, C_TLB, 1)
    index = _packet(m, request.sm, operation, line, sectors, full, payload, request.kernel)
    one = packet(m.packets, index)
    one.token = token
    one.last_fs = (cycle + m.out_cycles + extra) * m.sm_period_fs
    who = waiter_at(m.waiters, waiter)
    who.looked_up = cycle
    who.extra = extra
    _send(m, request.sm, index)


@compiled
def write_back(m: Any, sm: int, slot: int, cycle: int) -> int:
    """Send a victim's dirty sectors to L2; 0 without a credit."""
    own = sm_at(m.sm_states, sm)
    if own.credits < 1:
        return 0
    victim = l1_line(m.l1_lines, slot)
    sectors = bit_count(victim.dirty)
    own.evictions += 1
    count(m, victim.kernel, C_EVICTIONS, sectors)
    index = _packet(
        m, sm, WRITE, load(m.l1_tags, slot), victim.dirty, victim.dirty, sectors * SECTOR_BYTES, victim.kernel
    )
    one = packet(m.packets, index)
    one.token = EVICTION
    one.last_fs = (cycle + m.out_cycles) * m.sm_period_fs
    _send(m, sm, index)
    return 1
