"""Loads at L1: hits, misses with their MSHRs, merges behind a miss that is on its way, and fills.

A load needs, for the sectors of one line that are neither there nor coming, an MSHR, a way and a crossbar
credit; for those that are coming, a place among the waiters of each miss that brings some. What it can't have
makes it wait, and nothing is held meanwhile but a way that it may have cleared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.messages import READ, Packet
from simulator.machine.reference.l1_port import L1Port
from simulator.machine.reference.l1_tags import L1Tags
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state import Line, LinePart, Mshr, Request, Waiter, new_phases
from simulator.statistics.phases import ASYNC_COPY, GLOBAL_LOAD, L1, LOCAL_LOAD, LSU_QUEUE, MSHR
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.l1 import L1Cache
    from simulator.machine.reference.sm import Sm

LOADS = {GLOBAL_LOAD: "global_load", LOCAL_LOAD: "local_load", ASYNC_COPY: "async_copy"}
C_HITS = {kind: INDEX[f"l1_{name}_hits"] for kind, name in LOADS.items()}
C_MISSES = {kind: INDEX[f"l1_{name}_misses"] for kind, name in LOADS.items()}
C_MERGES = {kind: INDEX[f"l1_{name}_merges"] for kind, name in LOADS.items()}
C_FILLS = INDEX["l1_fill_sectors"]


class L1Misses:
    """The MSHRs of one SM."""

    def __init__(self, sm: Sm, cache: L1Cache, tags: L1Tags, port: L1Port) -> None:
        self.sm, self.cache, self.tags, self.port = sm, cache, tags, port
        self.entries = sm.gpu.l1.mshr_entries
        self.merges = sm.gpu.l1.mshr_merges
        self.tag_cycles = sm.gpu.l1.tag_latency_cycles
        self.mshrs: dict[int, Mshr] = {}
        self.by_line: dict[int, list[int]] = {}
        """Line → tokens of the misses that will fill it."""
        self.meter = QueueMeter()

    def load(self, request: Request, part: LinePart, cycle: int) -> bool:
        """Look up one line of a load; False if it has to wait."""
        bypass = request.decoded.bypass_l1
        entry = None if bypass else self.tags.lines.get(part.line)
        hits = part.sectors & entry.valid if entry else 0
        merges = part.sectors & entry.pending & ~hits if entry else 0
        misses = part.sectors & ~(hits | merges)
        bringing = self.by_line.get(part.line, ()) if merges else ()
        tokens = [token for token in bringing if self.mshrs[token].sectors & merges]
        if any(len(self.mshrs[token].waiters) >= self.merges for token in tokens):
            return False
        if misses:
            if len(self.mshrs) >= self.entries:
                return False
            if entry is None and not bypass:
                entry = self.allocate(part.line, request.warp.kernel, cycle)
                if entry is None:
                    return False
            if self.port.credits < 1:
                return False
        counts, kind = self.sm.counts[request.warp.kernel], request.access_class
        counts[C_HITS[kind]] += hits.bit_count()
        counts[C_MERGES[kind]] += merges.bit_count()
        counts[C_MISSES[kind]] += misses.bit_count()
        if entry is not None:
            self.tags.touch(entry)
        if merges or misses:
            waiter = Waiter(request, part.line, merges | misses, -1, cycle)
            request.parts += 1
            for token in tokens:
                self.mshrs[token].waiters.append(waiter)
            if misses:
                waiter.own = self._miss(request, part.line, misses, entry, cycle)
                self.mshrs[waiter.own].waiters.append(waiter)
        return True

    def allocate(self, line: int, kernel: int, cycle: int) -> Line | None:
        """A place for a line, evicting the least recently used one; None if none can go now."""
        victim = self.tags.victim(line)
        if victim is not None:
            if victim.pending or (victim.dirty and not self.port.write_back(victim, cycle)):
                return None
            self.tags.remove(victim)
        return self.tags.add(line, kernel)

    def _miss(self, request: Request, line: int, sectors: int, entry: Line | None, cycle: int) -> int:
        token = self.port.token()
        now_fs = cycle * self.sm.period_fs
        self.mshrs[token] = Mshr(line, sectors, entry is not None, now_fs)
        self.meter.enter(now_fs)
        if entry is not None:
            entry.pending |= sectors
            self.by_line.setdefault(line, []).append(token)
        self.port.request(request, READ, LinePart(line, sectors, 0, 0), 0, token, cycle)
        return token

    def fill(self, packet: Packet, now_fs: int) -> None:
        """Sectors arrive: fill the line, finish the parts that have all of theirs, free the MSHR after its
        last.
        """
        mshr = self.mshrs[packet.token]
        arrived = packet.sectors
        self.sm.counts[packet.kernel][C_FILLS] += arrived.bit_count()
        mshr.sectors &= ~arrived
        if mshr.fills:
            entry = self.tags.lines[mshr.line]
            entry.valid |= arrived
            entry.pending &= ~arrived
        for waiter in mshr.waiters:
            if waiter.sectors & arrived:
                waiter.sectors &= ~arrived
                if not waiter.sectors:
                    own = waiter.own == packet.token
                    phases = packet.phases if own else self._merged_phases(waiter, now_fs)
                    self.cache.part_done(waiter, phases, now_fs)
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
