"""A streaming multiprocessor of the reference engine: resident blocks and warps, issue, and the units that
they share.

One tick of an SM runs these phases in this order: messages (replies, acknowledgements, credits, block
launches), events that are due (write-backs, wake-ups, ends), load/store unit and L1, issue in sub-cores 0 to
3, next tick. The parts of an SM call each other directly, because the SM is the unit of atomicity; beyond it
there are only messages.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.machine.messages import ACK, BLOCK_DONE, LAUNCH, REPLY, SM_CREDIT, BlockDone, BlockLaunch
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.program import Program
from simulator.machine.reference.barrier import BarrierUnit
from simulator.machine.reference.fetch import Fetch
from simulator.machine.reference.footprint import Footprints
from simulator.machine.reference.intervals import IntervalLog
from simulator.machine.reference.issue import Issue
from simulator.machine.reference.l1 import L1Cache
from simulator.machine.reference.lsu import LoadStoreUnit
from simulator.machine.reference.sub_core import SubCore
from simulator.machine.state import Block, Request, Warp
from simulator.statistics.phases import ACCESS_CLASSES, DRAIN, PHASES, STATE_NAMES, STATES
from simulator.statistics.record import RequestRecord
from simulator.statistics.schema import COUNTERS, INDEX
from simulator.trace.schema import KernelTrace

if TYPE_CHECKING:
    from simulator.machine.reference.crossbar import Crossbar
    from simulator.machine.reference.launcher import Launcher

C_BLOCKS = INDEX["blocks"]
C_RESIDENT = INDEX["resident_warp_cycles"]
C_FETCH_MISSES = INDEX["instruction_misses"]
STATE_BASE = len(COUNTERS)
"""In an SM's lists the warp states stand behind the counters, so that one copy snapshots both."""

# Events inside an SM: (kind, what) at a cycle.
WAKE, RELEASE, COMPLETE, HANDED_OVER, START, EXITED, BLOCK_END = range(7)


class Sm(Component):
    """SM number `number` of the card."""

    def __init__(
        self,
        clockwork: Clockwork,
        ident: int,
        number: int,
        gpu: Gpu,
        traces: list[KernelTrace],
        programs: list[Program],
        footprints: Footprints,
        interval_fs: int,
        keep_requests: bool,
    ) -> None:
        super().__init__(clockwork, ident, gpu.sm_period_fs, f"SM {number}")
        self.number, self.gpu, self.traces, self.programs = number, gpu, traces, programs
        self.footprints = footprints
        kernels = len(traces)
        self.counts = [[0] * (len(COUNTERS) + len(STATES)) for _ in traces]
        self.operations = [[0] * len(Operation) for _ in traces]
        self.requests = [[0] * len(ACCESS_CLASSES) for _ in traces]
        self.latency_fs = [[0] * len(ACCESS_CLASSES) for _ in traces]
        self.phases = [[[0] * len(PHASES) for _ in ACCESS_CLASSES] for _ in range(kernels)]
        self.log = IntervalLog(interval_fs)
        self.finished: list[RequestRecord] | None = [] if keep_requests else None
        self.fetch = Fetch(gpu, [program.lines for program in programs])
        self.barriers = BarrierUnit(self)
        self.lsu = LoadStoreUnit(self)
        self.l1 = L1Cache(self)
        self.issuing = Issue(self)
        self.issue = self.issuing.issue
        self.sub_cores = [SubCore(self, i) for i in range(gpu.sm.sub_cores)]
        self.events: dict[int, list[tuple[int, Any]]] = {}
        self.event_cycles: list[int] = []
        self.blocks: list[Block] = []
        self.warps: list[Warp] = []
        self.resident = [0] * kernels
        """Resident warps of each kernel, and the cycle up to which they have been added up."""
        self.resident_since = [0] * kernels
        self.active_cycles = 0
        self.active_since = 0
        self.ages = 0
        self.setup_free_tenths = 0
        self.crossbar: Crossbar
        self.launcher: Launcher

    def connect(self, crossbar: Crossbar, launcher: Launcher) -> None:
        """Tell the SM its peers."""
        self.crossbar, self.launcher = crossbar, launcher

    # --- time
    # -------------------------------------------------------------------------------------------------

    def tick(self, now_fs: int) -> int:
        """All phases of one cycle."""
        cycle = now_fs // self.period_fs
        if now_fs >= self.log.next_edge_fs:
            self._close_intervals(now_fs)
        inbox = self.inbox
        while inbox and inbox[0][0] <= now_fs:
            _, _, _, kind, payload = heapq.heappop(inbox)
            self._take(kind, payload, now_fs, cycle)
        while self.event_cycles and self.event_cycles[0] <= cycle:
            for kind, what in self.events.pop(heapq.heappop(self.event_cycles)):
                self._happen(kind, what, cycle)
        lsu = self.lsu
        if lsu.waiting or lsu.stalled is not None:
            lsu.step(cycle)
        busy = False
        for sub_core in self.sub_cores:
            if sub_core.candidates:
                sub_core.step(cycle)
                busy = busy or bool(sub_core.candidates)
        if busy:
            return (cycle + 1) * self.period_fs
        following = min(lsu.next_cycle(cycle), self.event_cycles[0] if self.event_cycles else NEVER)
        return following * self.period_fs if following < NEVER else NEVER

    def at(self, cycle: int, kind: int, what: Any) -> None:
        """Book an event of this SM."""
        booked = self.events.get(cycle)
        if booked is None:
            self.events[cycle] = [(kind, what)]
            heapq.heappush(self.event_cycles, cycle)
        else:
            booked.append((kind, what))

    def wake_at(self, cycle: int, warp: Warp) -> None:
        """Look at a warp again in that cycle."""
        self.at(cycle, WAKE, warp)

    def release_at(self, cycle: int, warp: Warp) -> None:
        """Let a warp go on that waits at a barrier or a fence."""
        self.at(cycle, RELEASE, warp)

    def complete_at(self, cycle: int, request: Request) -> None:
        """A memory instruction returns in that cycle."""
        self.at(cycle, COMPLETE, request)

    def handed_over_at(self, cycle: int, warp: Warp) -> None:
        """A store of this warp reaches the crossbar (or stays in L1) in that cycle."""
        self.at(cycle, HANDED_OVER, warp)

    def exited_at(self, cycle: int, warp: Warp) -> None:
        """A warp has issued its last instruction in the cycle before."""
        self.at(cycle, EXITED, warp)

    def _take(self, kind: int, payload: Any, now_fs: int, cycle: int) -> None:
        if kind == REPLY:
            self.l1.reply(payload, now_fs)
        elif kind == ACK:
            self.l1.acknowledged(payload, now_fs)
        elif kind == SM_CREDIT:
            self.l1.port.credits += payload
        elif kind == LAUNCH:
            self._accept(payload, cycle)
        else:
            raise TypeError(f"{self.name} got a message of kind {kind}")

    def _happen(self, kind: int, what: Any, cycle: int) -> None:
        if kind == WAKE:
            self.sub_cores[what.sub_core].list_candidate(what)
        elif kind == RELEASE:
            what.parked = False
            self.sub_cores[what.sub_core].list_candidate(what)
        elif kind == COMPLETE:
            self._complete(what, cycle)
        elif kind == HANDED_OVER:
            what.unsent -= 1
            self.issuing.fence_if_done(what, cycle)
            self.end_if_drained(what, cycle)
        elif kind == START:
            self.fetch_line(what, cycle)
            self.sub_cores[what.sub_core].list_candidate(what)
        elif kind == EXITED:
            self.end_if_drained(what, cycle)
        else:
            self._end_block(what, cycle)

    # --- blocks and warps
    # -------------------------------------------------------------------------------------

    def _accept(self, launch: BlockLaunch, cycle: int) -> None:
        """Take a block in: its warps are resident from now, and are set up one after another."""
        kernel, trace = launch.kernel, self.traces[launch.kernel]
        self.l1.tags.prepare(kernel, launch.carveout_bytes)
        count = len(launch.sub_cores)
        block = Block(kernel, launch.block, launch.sub_cores, count, count, cycle)
        self.blocks.append(block)
        if not self.warps:
            self.active_since = cycle
        self.count_residents(kernel, cycle)
        self.resident[kernel] += count
        program = self.programs[kernel]
        for index, number in enumerate(launch.sub_cores):
            cursor = trace.cursor(launch.block, index)
            slots = self.sub_cores[number].free_slots
            self.ages += 1
            warp = Warp(
                slot=heapq.heappop(slots),
                sub_core=number,
                age=self.ages,
                kernel=kernel,
                block=block,
                cursor=cursor,
                program=program,
                index_in_block=index,
                next=program.decoded[cursor.static],
                since=cycle,
            )
            self.warps.append(warp)
            begin = max(self.setup_free_tenths, 10 * cycle)
            self.setup_free_tenths = begin + self.gpu.sm.warp_setup_tenths
            start = -(-begin // 10)
            if start > cycle:
                self.at(start, START, warp)
            else:
                self._happen(START, warp, cycle)

    def fetch_line(self, warp: Warp, cycle: int) -> None:
        """Get the line of the warp's next instruction."""
        line = warp.next.fetch_line  # type: ignore[union-attr]
        if line != warp.fetch_line:
            warp.fetch_line = line
            warp.fetch_ready, held = self.fetch.line(warp.sub_core, warp.kernel, line, cycle)
            if not held:
                self.counts[warp.kernel][C_FETCH_MISSES] += 1

    def end_if_drained(self, warp: Warp, cycle: int) -> None:
        """End the residence of a warp that has exited, once its loads are back and its stores handed over."""
        if not warp.exited or warp.unsent or warp.loads or warp.ended:
            return
        warp.ended = True
        self.change_state(warp, DRAIN, cycle)
        self.count_residents(warp.kernel, cycle)
        self.resident[warp.kernel] -= 1
        self.warps.remove(warp)
        if not self.warps:
            self.active_cycles += cycle - self.active_since
        warp.block.live -= 1
        if warp.block.live == 0:
            self.at(cycle + self.gpu.sm.exit_latency_cycles, BLOCK_END, warp.block)
        heapq.heappush(self.sub_cores[warp.sub_core].free_slots, warp.slot)

    def _end_block(self, block: Block, cycle: int) -> None:
        self.blocks.remove(block)
        self.counts[block.kernel][C_BLOCKS] += 1
        now_fs = cycle * self.period_fs
        start_fs = block.start * self.period_fs
        done = BlockDone(block.kernel, block.index, self.number, block.sub_cores, start_fs, now_fs)
        self.send(self.launcher, now_fs, self.launcher.done_fs, BLOCK_DONE, done)

    # --- statistics
    # -------------------------------------------------------------------------------------------

    def change_state(self, warp: Warp, state: int, cycle: int) -> None:
        """Account the warp's state up to `cycle` and give it another."""
        self.counts[warp.kernel][STATE_BASE + warp.state] += cycle - warp.since
        warp.state = state
        warp.since = cycle

    def count_residents(self, kernel: int, cycle: int) -> None:
        """Add up resident warps; apart from the states, so that one can be held against the other."""
        self.counts[kernel][C_RESIDENT] += self.resident[kernel] * (cycle - self.resident_since[kernel])
        self.resident_since[kernel] = cycle

    def settle(self, cycle: int) -> None:
        """Account everything that lasts, up to `cycle`."""
        for warp in self.warps:
            # A state that begins at or after the edge (an issue in the edge's own cycle) has nothing before
            # it.
            if warp.since < cycle:
                self.change_state(warp, warp.state, cycle)
        for kernel in range(len(self.traces)):
            if self.resident_since[kernel] < cycle:
                self.count_residents(kernel, cycle)

    def _close_intervals(self, now_fs: int) -> None:
        while self.log.next_edge_fs <= now_fs:
            edge_fs = self.log.next_edge_fs
            self.settle(edge_fs // self.period_fs)
            self.log.advance(edge_fs, self.counts)

    def close(self, now_fs: int) -> None:
        """The run is over: account what lasts until now, and what stays dirty in L1."""
        self._close_intervals(now_fs)
        cycle = now_fs // self.period_fs
        self.settle(cycle)
        if self.warps:
            self.active_cycles += cycle - self.active_since
        self.l1.tags.drop_all()

    def _complete(self, request: Request, cycle: int) -> None:
        """Write-back: registers become ready, the latency is recorded, waiting warps are looked at."""
        warp = request.warp
        latency = (cycle - request.issue) * self.period_fs
        access_class = request.access_class
        if access_class >= 0:
            kernel = warp.kernel
            self.requests[kernel][access_class] += 1
            self.latency_fs[kernel][access_class] += latency
            totals = self.phases[kernel][access_class]
            phases: list[int] = request.phases  # type: ignore[assignment]
            for phase, spent in enumerate(phases):
                if spent:
                    totals[phase] += spent
            if self.finished is not None:
                issue_fs = request.issue * self.period_fs
                self.finished.append(
                    RequestRecord(
                        kernel,
                        self.number,
                        warp.slot,
                        access_class,
                        issue_fs,
                        issue_fs + latency,
                        list(phases),
                    )
                )
        self.issuing.returned(request, latency, cycle)

    # --- watchdog
    # ---------------------------------------------------------------------------------------------

    def waits_for(self) -> list[str]:
        """Who waits for whom, for a run that has stopped with work left."""
        lines = [
            f"{self.name}: block {warp.block.index} of kernel {warp.kernel} warp {warp.index_in_block} is in "
            f"{STATE_NAMES[warp.state]}" + self._holder(warp)
            for warp in self.warps
        ]
        return lines + self.l1.waits_for()

    def _holder(self, warp: Warp) -> str:
        for barrier, waiting in warp.block.arrived.items():
            if warp in waiting:
                absent = [w.index_in_block for w in self.warps if w.block is warp.block and w not in waiting]
                return f" at barrier {barrier}, held by warps {absent} that have not arrived"
        return ""
