"""L1 of an SM: takes warp instructions from the load/store unit, coalesces them, and follows them to their
end.

Lines of 128 bytes with four sectors; hits under misses. Global stores, atomics and reductions go through
without allocating; local stores (spills) stay until evicted. An instruction's lines are looked up lowest
first, and where one lacks an MSHR, a way or a credit the instruction waits at this line, so that nothing
needs more than one of anything to go on. Tags, misses and the way out are in files of their own beside this
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.coalescing import LINE_BYTES
from simulator.machine.local_memory import LOCAL_BASE, LOCAL_WINDOW
from simulator.machine.messages import ATOMIC, REDUCE, WRITE, Packet
from simulator.machine.reference.l1_misses import LOADS, L1Misses
from simulator.machine.reference.l1_port import SECTOR_BYTES, L1Port
from simulator.machine.reference.l1_tags import L1Tags
from simulator.machine.state import LinePart, Request, Waiter, new_phases
from simulator.statistics.phases import (
    CROSSBAR_REPLY,
    GLOBAL_ATOMIC,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    L1,
    LOCAL_LOAD,
    LOCAL_STORE,
    LSU_QUEUE,
    MSHR,
    WRITEBACK,
)
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

NAMES = LOADS | {
    GLOBAL_STORE: "global_store",
    LOCAL_STORE: "local_store",
    GLOBAL_ATOMIC: "global_atomic",
    GLOBAL_REDUCTION: "global_reduction",
}
C_REQUESTS = {kind: INDEX[f"l1_{name}_requests"] for kind, name in NAMES.items()}
C_SECTORS = {kind: INDEX[f"l1_{name}_sectors"] for kind, name in NAMES.items()}
C_PASSES = INDEX["l1_data_passes"]
C_STORE_BYTES = INDEX["l1_store_bytes"]
C_REPLIES = INDEX["reply_packets"]
C_REPLY_BYTES = INDEX["reply_bytes"]
C_ACKS = INDEX["acknowledgements"]

OPERATION = {GLOBAL_STORE: WRITE, GLOBAL_ATOMIC: ATOMIC, GLOBAL_REDUCTION: REDUCE}
POSTED = (GLOBAL_STORE, GLOBAL_REDUCTION)


class L1Cache:
    """The L1 of one SM."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        spec, shared = sm.gpu.l1, sm.gpu.shared_memory
        self.hit_cycles = spec.tag_latency_cycles + shared.access_latency_cycles
        self.refill_cycles = spec.fill_latency_cycles + shared.access_latency_cycles
        self.interval = shared.pass_interval_cycles
        self.writeback = sm.gpu.sm.writeback_latency_cycles
        self.tags = L1Tags(sm)
        self.port = L1Port(sm)
        self.misses = L1Misses(sm, self, self.tags, self.port)
        self.others: dict[int, Waiter] = {}
        """Token → the store, reduction or atomic that waits for it."""

    # --- from the load/store unit
    # -----------------------------------------------------------------------------

    def accept(self, request: Request) -> int:
        """Coalesce an instruction that the load/store unit has taken; returns its data-port cycles."""
        inst = request.decoded
        if request.access_class in (LOCAL_LOAD, LOCAL_STORE):
            parts, data = self._local_parts(request)
        else:
            pattern, data = self.sm.footprints.lines(
                request.base, request.offsets, request.mask, inst.bytes_per_lane
            )
            first = request.base // LINE_BYTES
            parts = [LinePart(first + delta, sectors, full, lanes) for delta, sectors, full, lanes in pattern]
        passes = max(data, self.sm.footprints.tag_passes([part.line for part in parts]), 1)
        request.lines = parts[::-1]
        request.passes = passes
        counts = self.sm.counts[request.warp.kernel]
        counts[C_REQUESTS[request.access_class]] += 1
        counts[C_SECTORS[request.access_class]] += sum(part.sectors.bit_count() for part in parts)
        counts[C_PASSES] += passes
        if request.access_class == GLOBAL_STORE:
            counts[C_STORE_BYTES] += request.mask.bit_count() * inst.bytes_per_lane
        return passes

    def _local_parts(self, request: Request) -> tuple[list[LinePart], int]:
        """Local memory interleaves threads: a word of all 32 lanes is one line."""
        warp = request.warp
        window = self.sm.number * self.sm.gpu.sm.warp_slots + warp.slot
        first = (LOCAL_BASE + window * LOCAL_WINDOW) // LINE_BYTES + request.base // 4
        sectors = sum(1 << s for s in range(4) if request.mask >> (8 * s) & 0xFF)
        words = max(1, request.decoded.bytes_per_lane // 4)
        lanes = request.mask.bit_count()
        return [LinePart(first + word, sectors, sectors, lanes) for word in range(words)], words

    def proceed(self, request: Request, cycle: int) -> bool:
        """Look up the lines that are left; False if the next one has to wait."""
        access_class = request.access_class
        lines = request.lines
        while lines:
            part = lines[-1]
            if access_class in LOADS:
                done = self.misses.load(request, part, cycle)
            elif access_class == LOCAL_STORE:
                done = self._store_locally(request, part, cycle)
            else:
                done = self._send_through(request, part, cycle)
            if not done:
                return False
            lines.pop()
        self._looked_up(request, cycle)
        return True

    def _store_locally(self, request: Request, part: LinePart, cycle: int) -> bool:
        """A spill: it stays in L1, valid and dirty, without a fetch."""
        kernel = request.warp.kernel
        entry = self.tags.lines.get(part.line) or self.misses.allocate(part.line, kernel, cycle)
        if entry is None:
            return False
        self.tags.touch(entry)
        entry.kernel = kernel
        entry.valid |= part.sectors
        entry.dirty |= part.sectors
        return True

    def _send_through(self, request: Request, part: LinePart, cycle: int) -> bool:
        """Global stores, atomics and reductions: one packet a line, past L1; needs a credit."""
        if self.port.credits < 1:
            return False
        operation = OPERATION[request.access_class]
        if operation == WRITE:
            volume = part.sectors.bit_count() * SECTOR_BYTES
        else:
            volume = part.lanes * request.decoded.bytes_per_lane
            entry = self.tags.lines.get(part.line)
            if entry is not None:
                entry.valid &= ~part.sectors
        token = self.port.token()
        self.others[token] = Waiter(request, part.line, part.sectors, token, cycle)
        request.parts += 1
        if operation != ATOMIC:
            request.warp.unacknowledged += 1
        self.port.request(request, operation, part, volume, token, cycle)
        return True

    # --- from the crossbar
    # ------------------------------------------------------------------------------------

    def reply(self, packet: Packet, now_fs: int) -> None:
        """Data from the crossbar: of an atomic, or of a miss."""
        packet.mark(CROSSBAR_REPLY, now_fs)
        counts = self.sm.counts[packet.kernel]
        counts[C_REPLIES] += 1
        counts[C_REPLY_BYTES] += packet.payload_bytes
        atomic = self.others.pop(packet.token, None)
        if atomic is not None:
            self.part_done(atomic, packet.phases, now_fs)
        else:
            self.misses.fill(packet, now_fs)

    def acknowledged(self, packet: Packet, now_fs: int) -> None:
        """A store, reduction or write-back has reached its place in L2."""
        self.sm.counts[packet.kernel][C_ACKS] += 1
        if self.port.evictions.pop(packet.token, None) is None:
            packet.mark(CROSSBAR_REPLY, now_fs)
            self.part_done(self.others.pop(packet.token), packet.phases, now_fs)

    # --- to the end of a request
    # ------------------------------------------------------------------------------

    def part_done(self, waiter: Waiter, phases: list[int], now_fs: int) -> None:
        """One line of a request has all that it waited for. The last part to arrive gives the request its
        phases.
        """
        request = waiter.request
        request.parts -= 1
        later = now_fs > request.last_fs or (now_fs == request.last_fs and waiter.line < request.last_line)
        if later:
            request.last_fs, request.last_line = now_fs, waiter.line
            request.phases = list(phases)
        if request.access_class in POSTED:
            request.warp.unacknowledged -= 1
            self.sm.issuing.fence_if_done(request.warp, now_fs // self.sm.period_fs)
        if not request.parts and not request.lines:
            self._finish(request)

    def _looked_up(self, request: Request, cycle: int) -> None:
        """All lines are looked up: what is left to wait for?"""
        sm = self.sm
        request.hit_ready = cycle + self.hit_cycles + self.interval * (request.passes - 1)
        if request.access_class in POSTED:
            sm.handed_over_at(cycle + self.port.out_cycles, request.warp)
        elif request.access_class == LOCAL_STORE:
            sm.handed_over_at(request.hit_ready, request.warp)
        if request.parts:
            return
        if request.last_fs >= 0:
            # Every part came back while a later line waited: the last look-up itself was a hit.
            self._finish(request)
        else:
            self._finish_as_hit(request)

    def _finish(self, request: Request) -> None:
        """The last part is there: data from the fill, or from the last hit where that is later."""
        sm = self.sm
        cycle = request.last_fs // sm.period_fs
        if request.access_class in POSTED:
            sm.complete_at(cycle, request)
            return
        ready = cycle + self.refill_cycles
        if request.access_class != GLOBAL_ATOMIC and ready < request.hit_ready:
            self._finish_as_hit(request)
            return
        phases: list[int] = request.phases  # type: ignore[assignment]
        phases[WRITEBACK] += (self.refill_cycles + self.writeback) * sm.period_fs
        sm.complete_at(ready + self.writeback, request)

    def _finish_as_hit(self, request: Request) -> None:
        """What L1 held, or took, decides: the port's passes after the last look-up."""
        period = self.sm.period_fs
        phases = request.phases = new_phases()
        looked_up = request.hit_ready - self.hit_cycles - self.interval * (request.passes - 1)
        phases[LSU_QUEUE] = (request.picked - request.issue) * period
        phases[MSHR] = (looked_up - request.picked) * period
        phases[L1] = (request.hit_ready - looked_up) * period
        end = request.hit_ready
        if request.access_class != LOCAL_STORE:
            phases[WRITEBACK] = self.writeback * period
            end += self.writeback
        self.sm.complete_at(end, request)

    def waits_for(self) -> list[str]:
        """Requests in flight and what a stalled instruction lacks."""
        sm, lines = self.sm, []
        misses, port = self.misses, self.port
        if misses.mshrs or self.others or port.evictions:
            lines.append(
                f"{sm.name}: {len(misses.mshrs)} misses, {len(self.others)} stores and atomics, "
                f"{len(port.evictions)} write-backs wait for L2"
            )
        stalled = sm.lsu.stalled
        if stalled is not None:
            lines.append(
                f"{sm.name}: a memory instruction waits at line {stalled.lines[-1].line:#x} with "
                f"{port.credits} crossbar credits, {len(misses.mshrs)} of {misses.entries} MSHRs in use"
            )
        return lines
