"""The second rung of the cost ladder: a kernel's time from its program by arithmetic, without replaying it.

The time is that of the busiest resource (issue slots, a pipeline, L1's data port, L2 and its links, DRAM,
block dispatch) and of latency: one warp is walked with the card's latencies, and the grid takes as many such
walks one after another as there are waves. Queues, conflicts between
resources and hit rates are not modelled; the error against a replay is stated by tests and by `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwmodels import Gpu
from hwmodels.occupancy import Occupancy
from hwmodels.operations import Operation, Pipeline, Space, is_load, space_of
from simulator.fusion.footprint import SECTOR_BYTES, Footprint, footprint_of, least_dram_bytes, values_of
from simulator.trace.schema import LANES, RZ, Instruction, KernelTrace, Loop
from simulator.trace.tally import is_final_exit, loops

DRAM_SHARE = 0.88
"""What DRAM keeps up of its peak."""
DRAM_NS = 110
FS_PER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles of a kernel, bytes at DRAM, and the cycles of each resource alone."""

    cycles: int
    dram_bytes: int
    bounds: dict[str, float]


def estimate(
    trace: KernelTrace, gpu: Gpu, fits: Occupancy, resident: frozenset[str] = frozenset()
) -> Estimate:
    """The estimate of a generated kernel with these tensors in L2 before it."""
    found = footprint_of(trace)
    used = min(gpu.sm_count, trace.blocks)
    dram_bytes = dram_of(trace, found, gpu, resident)
    cold = dram_bytes > 0
    path = longest_path(trace, gpu, cold)
    bounds = throughput(trace, found, gpu, used)
    bounds["dram"] = dram_bytes / (DRAM_SHARE * gpu.dram.bandwidth_gb_s) * gpu.clock_mhz / 1000
    waves = -(-trace.blocks // (fits.blocks_per_sm * gpu.sm_count))
    turn = path + (gpu.launch.block_launch_ns + gpu.launch.block_done_ns) * gpu.clock_mhz / 1000
    bounds["latency"] = waves * turn
    busiest = max(value for name, value in bounds.items() if name != "latency")
    # Warps of a wave start together and so ask for the same unit at the same time: little of one wave's
    # latency hides behind the other's work.
    return Estimate(int(bounds["latency"] + busiest), dram_bytes, bounds)


def longest_path(trace: KernelTrace, gpu: Gpu, cold: bool) -> float:
    """Cycles of one warp alone: the longest of the first and last warps of some blocks, which in a horizontal
    kernel do different things.
    """
    assert trace.program is not None, "only generated kernels are planned"
    probes = {(trace.blocks // 2, 0)}
    if trace.barriers > 1 or any(loop.trips.variables() for loop in loops(trace.program.body)):
        last = trace.warps_per_block - 1
        probes |= {(block, warp) for block in (0, trace.blocks - 1) for warp in (0, last)}
    return max(
        Walk(gpu, cold, values_of(trace, block, warp)).body(trace.program.body, 0) for block, warp in probes
    )


def throughput(trace: KernelTrace, found: Footprint, gpu: Gpu, used: int) -> dict[str, float]:
    """Cycles of each resource if it were the only one."""
    sub_cores = used * gpu.sm.sub_cores
    pipes = dict.fromkeys(Pipeline, 0)
    issued = shared = through_l1 = 0
    for item, count, sectors in zip(trace.flat().instructions, found.counts, found.sectors, strict=True):
        timing = gpu.operations.get(item.operation)
        issued += count
        if timing is not None:
            pipes[timing.pipeline] += count * timing.interval_tenths
        if space_of(item.operation) is Space.SHARED:
            shared += count * LANES * item.bytes_per_lane
        through_l1 += count * max(sectors * SECTOR_BYTES, gpu.l1.bytes_per_cycle if sectors else 0)
    asked = l2_bytes(trace, found, used)
    l2_cycles = asked / (gpu.l2.slices * gpu.l2.slice_bytes_per_cycle) * gpu.clock_mhz / gpu.l2.clock_mhz
    link = asked / (used * gpu.crossbar.reply_bytes_per_cycle) * gpu.clock_mhz / gpu.l2.clock_mhz
    return {
        "issue": issued / sub_cores,
        **{f"pipe {pipe.name.lower()}": value / 10 / sub_cores for pipe, value in pipes.items() if value},
        "l1": (through_l1 + shared) / (used * gpu.l1.bytes_per_cycle),
        "l2": l2_cycles,
        "crossbar": link,
        "dispatch": 1000 * trace.blocks / gpu.launch.dispatch_blocks_per_kilocycle,
    }


def l2_bytes(trace: KernelTrace, found: Footprint, used: int) -> int:
    """Bytes that L1s ask L2 for: a small tensor once an SM, others as often as they are asked for."""
    total = 0
    for number, sectors in found.loaded.items():
        size = SECTOR_BYTES * sectors
        whole = trace.tensors[number].bytes if number >= 0 else size
        total += min(size, max(whole, whole * used))
    return total + SECTOR_BYTES * sum(found.stored.values())


def dram_of(trace: KernelTrace, found: Footprint, gpu: Gpu, resident: frozenset[str]) -> int:
    """The least bytes, and what is written while L2 turns over."""
    room = gpu.l2.size_kib * 1024
    least = least_dram_bytes(trace, found, gpu, resident)
    read = sum(
        min(info.bytes, SECTOR_BYTES * found.loaded.get(number, 0))
        for number, info in enumerate(trace.tensors)
    )
    written = sum(
        min(info.bytes, SECTOR_BYTES * found.stored.get(number, 0))
        for number, info in enumerate(trace.tensors)
    )
    already = max(0, written - room)
    return least + max(0, min(written, read + written - room) - already)


class Walk:
    """One warp alone on an SM: when each register is there, in order of the program."""

    def __init__(self, gpu: Gpu, cold: bool, values: list[int]) -> None:
        sm, l1, link, l2 = gpu.sm, gpu.l1, gpu.crossbar, gpu.l2
        self.gpu = gpu
        front = sm.operand_latency_cycles + sm.mio_latency_cycles
        ratio = gpu.clock_mhz / l2.clock_mhz
        self.shared = front + gpu.shared_memory.access_latency_cycles + sm.writeback_latency_cycles
        self.near = front + l1.tag_latency_cycles + sm.writeback_latency_cycles
        outside = link.request_latency_cycles + link.reply_latency_cycles + link.spread_cycles
        self.memory = (
            front
            + l1.tag_latency_cycles
            + l1.miss_latency_cycles
            + int(ratio * (outside + l2.access_latency_cycles))
            + l1.fill_latency_cycles
            + sm.writeback_latency_cycles
        )
        if cold:
            self.memory += int(ratio * l2.miss_latency_cycles) + DRAM_NS * gpu.clock_mhz // 1000
        self.values = values
        self.ready: dict[int, float] = {}
        self.asynchronous = 0.0
        self.ended = False

    def body(self, items: Sequence[Instruction | Loop], now: float) -> float:
        """When all of these have issued; a loop's later turns all take as long as its third."""
        for item in items:
            if self.ended:
                break
            if isinstance(item, Instruction):
                now = self.step(item, now)
                self.ended = is_final_exit(item)
                continue
            trips = int(max(0, item.trips.evaluate(self.values)))
            turns = [now]
            for _ in range(min(trips, 3)):
                turns.append(self.body(item.body, turns[-1]))
            later = (trips - 3) * (turns[-1] - turns[-2]) if trips > 3 else 0
            now = turns[-1] + later
            for register in self.ready:
                self.ready[register] += later
            self.asynchronous += later
        return now

    def step(self, item: Instruction, now: float) -> float:
        """One instruction: waits for its operands, and says when its results are there."""
        now = max([now, *(self.ready.get(register, 0.0) for register in item.src if register != RZ)])
        timing = self.gpu.operations.get(item.operation)
        space = space_of(item.operation)
        latency = float(item.latency if timing is None else timing.latency_cycles)
        if space is Space.LOCAL:
            # What is spilled is mostly still in L1.
            latency = self.near
        elif space is Space.GLOBAL and is_load(item.operation):
            latency = self.memory
        elif space is Space.SHARED:
            latency = self.shared
        if item.operation is Operation.LDGSTS:
            self.asynchronous = max(self.asynchronous, now + self.memory)
        elif item.operation is Operation.ASYNC_WAIT and not item.count:
            now = max(now, self.asynchronous)
        elif item.operation is Operation.BARRIER:
            now += self.gpu.sm.barrier_arrival_cycles + self.gpu.sm.barrier_release_cycles
        for register in item.dst:
            self.ready[register] = now + latency
        return now + 1
