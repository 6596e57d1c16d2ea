"""The SM's port to the crossbar: packets with their life so far, credits, tokens, and write-backs of local
memory.

A packet leaves after the tag stage and the miss path, later by what address translation adds. Each takes a
credit, which comes back when the packet leaves the request network. A token is the SM's own name for what it
waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import REQUEST, WRITE, Packet
from simulator.machine.reference.tlb import Tlb
from simulator.machine.state import Line, LinePart, Request
from simulator.statistics.phases import L1, LSU_QUEUE, MSHR, TLB
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

SECTOR_BYTES = 32
C_EVICTIONS = INDEX["l1_dirty_evictions"]
C_PACKETS = INDEX["request_packets"]
C_PACKET_BYTES = INDEX["request_bytes"]
C_TLB = INDEX["tlb_misses"]


class L1Port:
    """The way out of one SM."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        spec = sm.gpu.l1
        self.tag_cycles = spec.tag_latency_cycles
        self.out_cycles = spec.tag_latency_cycles + spec.miss_latency_cycles
        self.credits = sm.gpu.crossbar.sm_credits
        self.tlb = Tlb(sm.gpu.tlb)
        self.tokens = 0
        self.evictions: dict[int, int] = {}
        """Token → kernel of a write-back whose acknowledgement is out."""

    def token(self) -> int:
        """A new name for something to wait for."""
        self.tokens += 1
        return self.tokens

    def request(
        self, request: Request, operation: int, part: LinePart, volume: int, token: int, cycle: int
    ) -> None:
        """Send a packet for one line of a warp request that was looked up in `cycle`; there is a credit."""
        sm, kernel = self.sm, request.warp.kernel
        period = sm.period_fs
        extra = self.tlb.extra_cycles(part.line)
        if extra:
            sm.counts[kernel][C_TLB] += 1
        departure = (cycle + self.out_cycles + extra) * period
        lanes = part.lanes if operation != WRITE else 0
        packet = Packet(
            operation, sm.number, part.line, part.sectors, part.full, volume, kernel, token, lanes, departure
        )
        phases = packet.phases
        phases[LSU_QUEUE] = (request.picked - request.issue) * period
        phases[L1] = self.tag_cycles * period
        phases[MSHR] = (cycle - request.picked + self.out_cycles - self.tag_cycles) * period
        phases[TLB] = extra * period
        self._send(packet)

    def write_back(self, victim: Line, cycle: int) -> bool:
        """Send a victim's dirty sectors to L2; False without a credit."""
        if self.credits < 1:
            return False
        sm, dirty = self.sm, victim.dirty
        token = self.token()
        self.evictions[token] = victim.kernel
        sm.counts[victim.kernel][C_EVICTIONS] += dirty.bit_count()
        departure = (cycle + self.out_cycles) * sm.period_fs
        volume = dirty.bit_count() * SECTOR_BYTES
        self._send(
            Packet(WRITE, sm.number, victim.line, dirty, dirty, volume, victim.kernel, token, 0, departure)
        )
        return True

    def _send(self, packet: Packet) -> None:
        self.credits -= 1
        counts = self.sm.counts[packet.kernel]
        counts[C_PACKETS] += 1
        counts[C_PACKET_BYTES] += packet.payload_bytes
        crossbar = self.sm.crossbar
        self.sm.send(crossbar, packet.last_fs, crossbar.links.sm_to_crossbar_fs, REQUEST, packet)
