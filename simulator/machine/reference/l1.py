"""L1 of an SM: tags, MSHRs, misses to the crossbar, write-through stores, atomics, and local memory that it
writes back.

Lines of 128 bytes with four sectors; hits under misses; a request to sectors that are on their way waits
behind that miss. Global stores go through without allocating, local stores (spills) stay until evicted. A new
kernel finds L1 empty, as on cards, where L1 is not coherent. An instruction's lines are looked up lowest
first, and where one lacks an MSHR, a way or a crossbar credit the instruction waits at this line, so that
nothing needs more than one of anything to go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.cache import set_of
from hwmodels.coalescing import LINE_BYTES
from simulator.machine.messages import ATOMIC, READ, REDUCE, REQUEST, WRITE, Packet
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.reference.tlb import Tlb
from simulator.machine.state import Line, LinePart, Mshr, Request, Waiter, new_phases
from simulator.statistics.phases import (
    ASYNC_COPY,
    CROSSBAR_REPLY,
    GLOBAL_ATOMIC,
    GLOBAL_LOAD,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    L1,
    LOCAL_LOAD,
    LOCAL_STORE,
    LSU_QUEUE,
    MSHR,
    TLB,
    WRITEBACK,
)
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

NAMES = {
    GLOBAL_LOAD: "global_load",
    LOCAL_LOAD: "local_load",
    ASYNC_COPY: "async_copy",
    GLOBAL_STORE: "global_store",
    LOCAL_STORE: "local_store",
    GLOBAL_ATOMIC: "global_atomic",
    GLOBAL_REDUCTION: "global_reduction",
}
C_REQUESTS = {kind: INDEX[f"l1_{name}_requests"] for kind, name in NAMES.items()}
C_SECTORS = {kind: INDEX[f"l1_{name}_sectors"] for kind, name in NAMES.items()}
LOADS = (GLOBAL_LOAD, LOCAL_LOAD, ASYNC_COPY)
C_HITS = {kind: INDEX[f"l1_{NAMES[kind]}_hits"] for kind in LOADS}
C_MISSES = {kind: INDEX[f"l1_{NAMES[kind]}_misses"] for kind in LOADS}
C_MERGES = {kind: INDEX[f"l1_{NAMES[kind]}_merges"] for kind in LOADS}
C_PASSES = INDEX["l1_data_passes"]
C_STORE_BYTES = INDEX["l1_store_bytes"]
C_FILLS = INDEX["l1_fill_sectors"]
C_EVICTIONS = INDEX["l1_dirty_evictions"]
C_DIRTY_LEFT = INDEX["l1_dirty_left"]
C_PACKETS = INDEX["request_packets"]
C_PACKET_BYTES = INDEX["request_bytes"]
C_REPLIES = INDEX["reply_packets"]
C_REPLY_BYTES = INDEX["reply_bytes"]
C_ACKS = INDEX["acknowledgements"]
C_TLB = INDEX["tlb_misses"]

LOCAL_BASE = 1 << 46
"""Local memory lies above all tensors: each warp slot of each SM has a window of its own."""
LOCAL_WINDOW = 1 << 24
SECTOR_BYTES = 32
OPERATION = {GLOBAL_STORE: WRITE, GLOBAL_ATOMIC: ATOMIC, GLOBAL_REDUCTION: REDUCE}


class L1Cache:
    """The L1 of one SM and its side of the crossbar."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        self.spec = spec = sm.gpu.l1
        shared = sm.gpu.shared_memory
        self.hit_cycles = spec.tag_latency_cycles + shared.access_latency_cycles
        self.tag_cycles = spec.tag_latency_cycles
        self.out_cycles = spec.tag_latency_cycles + spec.miss_latency_cycles
        self.refill_cycles = spec.fill_latency_cycles + shared.access_latency_cycles
        self.interval = shared.pass_interval_cycles
        self.writeback = sm.gpu.sm.writeback_latency_cycles
        self.credits = sm.gpu.crossbar.sm_credits
        self.tlb = Tlb(sm.gpu.tlb)
        self.carveout_bytes = -1
        self.sets: list[list[Line]] = []
        self.tags: dict[int, Line] = {}
        self.stamp = 0
        self.tokens = 0
        self.mshrs: dict[int, Mshr] = {}
        self.by_line: dict[int, list[int]] = {}
        """Line → tokens of the misses that will fill it."""
        self.others: dict[int, Waiter] = {}
        """Token → the store, reduction or atomic that waits for it."""
        self.evictions: dict[int, int] = {}
        """Token → kernel of a local write-back whose acknowledgement is out."""
        self.seen: set[int] = set()
        self.meter = QueueMeter()
        """Of the MSHRs."""

    # --- configuration
    # ----------------------------------------------------------------------------------------

    def prepare(self, kernel: int, carveout_bytes: int) -> None:
        """Before a block of `kernel` starts: take the carve-out, and drop everything at a kernel's first
        block.
        """
        if kernel not in self.seen:
            self.seen.add(kernel)
            self._drop_all()
        if carveout_bytes != self.carveout_bytes:
            self._drop_all()
            self.carveout_bytes = carveout_bytes
            usable = self.spec.usable_kib(-(-carveout_bytes // 1024)) * 1024
            self.sets = [[] for _ in range(max(1, usable // (LINE_BYTES * self.spec.ways)))]

    def _drop_all(self) -> None:
        for lines in self.sets:
            kept = []
            for line in lines:
                if line.dirty:
                    self.sm.counts[line.kernel][C_DIRTY_LEFT] += line.dirty.bit_count()
                line.valid = line.dirty = 0
                if line.pending:
                    kept.append(line)
                else:
                    del self.tags[line.line]
            lines[:] = kept

    def close(self) -> None:
        """At the end of the run: what is dirty stays behind, and is said."""
        self._drop_all()

    # --- requests
    # ---------------------------------------------------------------------------------------------

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
                done = self._load(request, part, cycle)
            elif access_class == LOCAL_STORE:
                done = self._store_locally(request, part, cycle)
            else:
                done = self._send_through(request, part, cycle)
            if not done:
                return False
            lines.pop()
        self._looked_up(request, cycle)
        return True

    def _looked_up(self, request: Request, cycle: int) -> None:
        """All lines are looked up: what is left to wait for?"""
        sm, period = self.sm, self.sm.period_fs
        request.hit_ready = cycle + self.hit_cycles + self.interval * (request.passes - 1)
        if request.access_class in (GLOBAL_STORE, GLOBAL_REDUCTION):
            sm.handed_over_at(cycle + self.out_cycles, request.warp)
        elif request.access_class == LOCAL_STORE:
            sm.handed_over_at(request.hit_ready, request.warp)
        if request.parts:
            return
        if request.last_fs >= 0:
            # Every part came back while a later line waited: the last look-up itself was a hit.
            self._finish(request)
            return
        self._finish_as_hit(request, period)

    def _finish_as_hit(self, request: Request, period: int) -> None:
        phases = request.phases = new_phases()
        looked_up = request.hit_ready - self.hit_cycles - self.interval * (request.passes - 1)
        phases[LSU_QUEUE] = (request.picked - request.issue) * period
        phases[MSHR] = (looked_up - request.picked) * period
        phases[L1] = (request.hit_ready - looked_up) * period
        if request.access_class == LOCAL_STORE:
            self.sm.complete_at(request.hit_ready, request)
            return
        phases[WRITEBACK] = self.writeback * period
        self.sm.complete_at(request.hit_ready + self.writeback, request)

    # --- loads
    # ------------------------------------------------------------------------------------------------

    def _load(self, request: Request, part: LinePart, cycle: int) -> bool:
        bypass = request.decoded.bypass_l1
        entry = None if bypass else self.tags.get(part.line)
        hits = part.sectors & entry.valid if entry else 0
        merges = part.sectors & entry.pending & ~hits if entry else 0
        misses = part.sectors & ~(hits | merges)
        tokens = (
            [t for t in self.by_line.get(part.line, ()) if self.mshrs[t].sectors & merges] if merges else []
        )
        if any(len(self.mshrs[token].waiters) >= self.spec.mshr_merges for token in tokens):
            return False
        if misses:
            if len(self.mshrs) >= self.spec.mshr_entries:
                return False
            if entry is None and not bypass:
                entry = self._allocate(part.line, request.warp.kernel, cycle)
                if entry is None:
                    return False
            if self.credits < 1:
                return False
        counts = self.sm.counts[request.warp.kernel]
        counts[C_HITS[request.access_class]] += hits.bit_count()
        counts[C_MERGES[request.access_class]] += merges.bit_count()
        counts[C_MISSES[request.access_class]] += misses.bit_count()
        if entry is not None:
            self.stamp += 1
            entry.stamp = self.stamp
        if merges or misses:
            waiter = Waiter(request, part.line, merges | misses, -1, cycle)
            request.parts += 1
            for token in tokens:
                self.mshrs[token].waiters.append(waiter)
            if misses:
                waiter.own = self._miss(request, part.line, misses, entry, cycle)
                self.mshrs[waiter.own].waiters.append(waiter)
        return True

    def _allocate(self, line: int, kernel: int, cycle: int) -> Line | None:
        """A place for a line, evicting the least recently used one; None if none can go now."""
        lines = self.sets[set_of(line, len(self.sets))]
        if len(lines) >= self.spec.ways:
            idle = [one for one in lines if not one.pending]
            if not idle:
                return None
            victim = min(idle, key=lambda one: one.stamp)
            if victim.dirty and not self._write_back(victim, cycle):
                return None
            lines.remove(victim)
            del self.tags[victim.line]
        entry = self.tags[line] = Line(line, kernel=kernel)
        lines.append(entry)
        return entry

    def _miss(self, request: Request, line: int, sectors: int, entry: Line | None, cycle: int) -> int:
        token = self._token()
        now_fs = cycle * self.sm.period_fs
        self.mshrs[token] = Mshr(line, sectors, entry is not None, now_fs)
        self.meter.enter(now_fs)
        if entry is not None:
            entry.pending |= sectors
            self.by_line.setdefault(line, []).append(token)
        packet = self._packet(request, READ, LinePart(line, sectors, 0, 0), 0, token, cycle)
        self._send(packet, packet.last_fs)
        return token

    def reply(self, packet: Packet, now_fs: int) -> None:
        """Data from the crossbar: fill the line, and finish the parts that have all their sectors."""
        packet.mark(CROSSBAR_REPLY, now_fs)
        counts = self.sm.counts[packet.kernel]
        counts[C_REPLIES] += 1
        counts[C_REPLY_BYTES] += packet.payload_bytes
        other = self.others.pop(packet.token, None)
        if other is not None:
            self._part_done(other, packet.phases, now_fs)
            return
        mshr = self.mshrs[packet.token]
        arrived = packet.sectors
        counts[C_FILLS] += arrived.bit_count()
        mshr.sectors &= ~arrived
        if mshr.fills:
            entry = self.tags[mshr.line]
            entry.valid |= arrived
            entry.pending &= ~arrived
        for waiter in mshr.waiters:
            if waiter.sectors & arrived:
                waiter.sectors &= ~arrived
                if not waiter.sectors:
                    own = waiter.own == packet.token
                    phases = packet.phases if own else self._merged_phases(waiter, now_fs)
                    self._part_done(waiter, phases, now_fs)
        if not mshr.sectors:
            del self.mshrs[packet.token]
            self.meter.leave(now_fs, mshr.since_fs)
            if mshr.fills:
                tokens = self.by_line[mshr.line]
                tokens.remove(packet.token)
                if not tokens:
                    del self.by_line[mshr.line]

    def _merged_phases(self, waiter: Waiter, now_fs: int) -> list[int]:
        """The life of a part that another request's miss has brought: it waited in the MSHR."""
        request, period = waiter.request, self.sm.period_fs
        phases = new_phases()
        known = min((waiter.looked_up + self.tag_cycles) * period, now_fs)
        phases[LSU_QUEUE] = (request.picked - request.issue) * period
        phases[L1] = known - waiter.looked_up * period
        phases[MSHR] = (waiter.looked_up - request.picked) * period + now_fs - known
        return phases

    def _part_done(self, waiter: Waiter, phases: list[int], now_fs: int) -> None:
        request = waiter.request
        request.parts -= 1
        later = now_fs > request.last_fs or (now_fs == request.last_fs and waiter.line < request.last_line)
        if later:
            request.last_fs, request.last_line = now_fs, waiter.line
            request.phases = list(phases)
        if request.access_class in (GLOBAL_STORE, GLOBAL_REDUCTION):
            request.warp.unacknowledged -= 1
            self.sm.issuing.fence_if_done(request.warp, now_fs // self.sm.period_fs)
        if not request.parts and not request.lines:
            self._finish(request)

    def _finish(self, request: Request) -> None:
        """The last part is there: data from the fill, or from the last hit where that is later."""
        period = self.sm.period_fs
        cycle = request.last_fs // period
        if request.access_class in (GLOBAL_STORE, GLOBAL_REDUCTION):
            self.sm.complete_at(cycle, request)
            return
        ready = cycle + self.refill_cycles
        if request.access_class != GLOBAL_ATOMIC and ready < request.hit_ready:
            self._finish_as_hit(request, period)
            return
        phases: list[int] = request.phases  # type: ignore[assignment]
        phases[WRITEBACK] += (self.refill_cycles + self.writeback) * period
        self.sm.complete_at(ready + self.writeback, request)

    # --- stores and atomics
    # -----------------------------------------------------------------------------------

    def _send_through(self, request: Request, part: LinePart, cycle: int) -> bool:
        """Global stores, atomics and reductions: one packet a line, past L1."""
        if self.credits < 1:
            return False
        token = self._token()
        operation = OPERATION[request.access_class]
        volume = part.lanes * request.decoded.bytes_per_lane
        if operation == WRITE:
            volume = part.sectors.bit_count() * SECTOR_BYTES
        else:
            entry = self.tags.get(part.line)
            if entry is not None:
                entry.valid &= ~part.sectors
        packet = self._packet(request, operation, part, volume, token, cycle)
        packet.lanes = part.lanes if operation != WRITE else 0
        self.others[token] = Waiter(request, part.line, part.sectors, token, cycle)
        request.parts += 1
        if operation != ATOMIC:
            request.warp.unacknowledged += 1
        self._send(packet, packet.last_fs)
        return True

    def acknowledged(self, packet: Packet, now_fs: int) -> None:
        """A store or reduction has reached its place in L2."""
        self.sm.counts[packet.kernel][C_ACKS] += 1
        if self.evictions.pop(packet.token, None) is not None:
            return
        packet.mark(CROSSBAR_REPLY, now_fs)
        self._part_done(self.others.pop(packet.token), packet.phases, now_fs)

    def _store_locally(self, request: Request, part: LinePart, cycle: int) -> bool:
        """A spill: it stays in L1, valid and dirty, without a fetch."""
        entry = self.tags.get(part.line)
        if entry is None:
            entry = self._allocate(part.line, request.warp.kernel, cycle)
            if entry is None:
                return False
        self.stamp += 1
        entry.stamp = self.stamp
        entry.kernel = request.warp.kernel
        entry.valid |= part.sectors
        entry.dirty |= part.sectors
        return True

    def _write_back(self, victim: Line, cycle: int) -> bool:
        """Send a victim's dirty sectors to L2; needs a credit."""
        if self.credits < 1:
            return False
        token = self._token()
        self.evictions[token] = victim.kernel
        dirty = victim.dirty
        counts = self.sm.counts[victim.kernel]
        counts[C_EVICTIONS] += dirty.bit_count()
        now_fs = (cycle + self.out_cycles) * self.sm.period_fs
        volume = dirty.bit_count() * SECTOR_BYTES
        packet = Packet(
            WRITE, self.sm.number, victim.line, dirty, dirty, volume, victim.kernel, token, 0, now_fs
        )
        self._send(packet, now_fs)
        return True

    # --- the way out
    # ------------------------------------------------------------------------------------------

    def _packet(
        self, request: Request, operation: int, part: LinePart, volume: int, token: int, cycle: int
    ) -> Packet:
        """A packet with its life so far: queue, wait for resources, tags, and the way to the port."""
        period = self.sm.period_fs
        extra = self.tlb.extra_cycles(part.line)
        if extra:
            self.sm.counts[request.warp.kernel][C_TLB] += 1
        departure = (cycle + self.out_cycles + extra) * period
        packet = Packet(
            operation,
            self.sm.number,
            part.line,
            part.sectors,
            part.full,
            volume,
            request.warp.kernel,
            token,
            0,
            departure,
        )
        phases = packet.phases
        phases[LSU_QUEUE] = (request.picked - request.issue) * period
        phases[L1] = self.tag_cycles * period
        phases[MSHR] = (cycle - request.picked + self.out_cycles - self.tag_cycles) * period
        phases[TLB] = extra * period
        return packet

    def _send(self, packet: Packet, departure_fs: int) -> None:
        self.credits -= 1
        counts = self.sm.counts[packet.kernel]
        counts[C_PACKETS] += 1
        counts[C_PACKET_BYTES] += packet.payload_bytes
        crossbar = self.sm.crossbar
        self.sm.send(crossbar, departure_fs, crossbar.links.sm_to_crossbar_fs, REQUEST, packet)

    def _token(self) -> int:
        self.tokens += 1
        return self.tokens

    def waits_for(self) -> list[str]:
        """Requests in flight and what a stalled instruction lacks."""
        sm, lines = self.sm, []
        if self.mshrs or self.others or self.evictions:
            lines.append(
                f"{sm.name}: {len(self.mshrs)} misses, {len(self.others)} stores and atomics, "
                f"{len(self.evictions)} write-backs wait for L2"
            )
        stalled = sm.lsu.stalled
        if stalled is not None:
            lines.append(
                f"{sm.name}: a memory instruction waits at line {stalled.lines[-1].line:#x} with "
                f"{self.credits} crossbar credits and {len(self.mshrs)} of {self.spec.mshr_entries} MSHRs in use"
            )
        return lines
