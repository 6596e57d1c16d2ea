"""Small runs that between them feel every number of a card, for the test that none is without effect."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import block, expression, lane, thread, warp
from simulator.trace.schema import KernelTrace
from tests.machines.random_card import base_card
from tests.machines.random_trace import seeded_traces

CARD = {
    "sm_count": 2,
    "memory_partitions": 2,
    "l2.slices": 4,
    "l2.ways": 4,
    "l2.size_kib": 16,
    "dram.channels": 2,
    "shared_memory.size_kib": 32,
    "l1.size_kib": 64,
    "sm.l0_instruction_kib": 1,
    "sm.l1_instruction_kib": 2,
    "sm.fetch_line_bytes": 128,
    "tlb.reach_mib": 1,
    "tlb.page_mib": 1,
    "dram.write_queue_depth": 8,
    "dram.drain_high": 6,
    "dram.drain_low": 2,
    "dram.read_queue_depth": 4,
    "dram.age_limit_cycles": 60,
    "dram.address_map": "row:bank:column:bankgroup",
}
"""Two SMs, two L2 partitions, a DRAM that is always behind, and a map that suits rows of any size."""
BASE = 1 << 32


@dataclass(frozen=True)
class Workload:
    """Kernels on a variant of the card; `options` as for a run."""

    kernels: Callable[[], list[KernelTrace]]
    card: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def gpu(self, changes: dict[str, Any] | None = None) -> Gpu:
        """The card, with changes."""
        return base_card("a100-sxm-40gb").with_overrides(CARD | self.card | (changes or {}))


def mixed(seed: int) -> Callable[[], list[KernelTrace]]:
    """Random kernels; they are made for the unchanged card, so that only the machine differs."""

    @cache
    def kernels() -> list[KernelTrace]:
        return seeded_traces(seed, base_card("a100-sxm-40gb").with_overrides(CARD))

    return kernels


def traffic() -> list[KernelTrace]:
    """Scattered reads and writes far beyond L2, with more requests in flight than anything holds."""
    k = KernelBuilder("traffic", 4, 64, registers_per_thread=32)
    with k.loop(2) as turn:
        index = 37 * thread + 1031 * block + 211 * turn
        for place in range(3):
            k.load(4 + place, expression(BASE) + 128 * ((index + 17 * place) % 8191))
        k.store(4, expression(BASE + (1 << 21)) + 32 * ((3 * index) % 30011))
        k.store(5, expression(BASE + (1 << 22)) + 128 * ((7 * index) % 8191), 16, mask=0xF)
    return [k.build()]


def contended() -> list[KernelTrace]:
    """Atomics on few addresses, in L2 and in shared memory, with fences."""
    k = KernelBuilder("contended", 4, 256, registers_per_thread=32, shared_bytes_per_block=4096)
    for turn in range(4):
        k.emit(Operation.ATOMG, 4, 5, address=expression(BASE) + 4 * (lane % 8), bytes_per_lane=4)
        k.emit(Operation.REDG, (), 6, address=expression(BASE) + 4 * lane, bytes_per_lane=4)
        k.emit(Operation.ATOMS, 7 + turn, 5, address=4 * (lane % 4), bytes_per_lane=4)
        k.emit(Operation.MEMBAR)
    return [k.build()]


def reread() -> list[KernelTrace]:
    """All warps read the same lines, which are at home on both sides, and again after a while."""
    k = KernelBuilder("reread", 4, 256, registers_per_thread=32, shared_bytes_per_block=2048)
    with k.loop(3) as turn:
        for place in range(4):
            k.load(4 + place, expression(BASE) + 16 * (lane + 32 * place) + 512 * turn, 16)
        k.alu(8, 7)
        k.load_shared(10, 4 * ((33 * lane + warp) % 512))
    return [k.build()]


def long_program() -> list[KernelTrace]:
    """More instructions than the caches of the sub-core and of the SM hold, twice."""
    k = KernelBuilder("long", 2, 96, registers_per_thread=64)
    with k.loop(2):
        for place in range(200):
            k.ffma(10 + place % 20, 2, 4, 6)
            if place % 50 == 0:
                k.barrier()
    return [k.build()]


def crowded() -> list[KernelTrace]:
    """Blocks that differ in what limits them, more than the card holds at a time, on two streams."""
    kernels = []
    for stream, (threads, registers, shared) in enumerate(((512, 32, 0), (64, 200, 2000), (32, 16, 5400))):
        k = KernelBuilder(
            f"crowd{stream}", 12, threads, registers, shared_bytes_per_block=shared, stream=stream % 2
        )
        k.load(4, expression(BASE) + 4 * thread + 2048 * block)
        k.emit(Operation.MUFU, 5, 4)
        k.barrier()
        k.store(5, expression(BASE + (1 << 20)) + 4 * thread + 2048 * block)
        kernels.append(k.build())
    return kernels


def greedy() -> list[KernelTrace]:
    """Blocks near the limits of what one block may ask for."""
    kernels = []
    for threads, registers, shared, barriers in ((1024, 64, 0, 1), (32, 250, 0, 16), (32, 32, 30_000, 1)):
        k = KernelBuilder("greedy", 6, threads, registers, shared_bytes_per_block=shared, barriers=barriers)
        k.load(4, expression(BASE) + 4 * thread)
        k.alu(5, 4)
        kernels.append(k.build())
    return kernels


def flood() -> list[KernelTrace]:
    """Far more data of L2 on its way to each SM than its port takes, and full queues before shared memory."""
    k = KernelBuilder("flood", 2, 512, registers_per_thread=64, shared_bytes_per_block=4096)
    for place in range(4):
        k.load(4 * place, expression(BASE) + 16 * (lane + 32 * (warp % 4)) + 2048 * place, 16, cache="cg")
    for place in range(12):
        k.load_shared(20 + place, 8 * lane)
    return [k.build()]


WORKLOADS = {
    "flood": Workload(flood),
    "mixed 3": Workload(mixed(3)),
    "mixed 8": Workload(mixed(8)),
    "crowded": Workload(crowded),
    "greedy": Workload(greedy),
    "contended": Workload(contended),
    "contended behind a wide port": Workload(contended, {"l2.slice_request_bytes_per_cycle": 128}),
    "reread": Workload(reread),
    "traffic": Workload(traffic),
    "long program": Workload(long_program),
    "graph": Workload(crowded, options={"launch": "graph"}),
    "barriers limit": Workload(crowded, {"sm.barrier_slots": 3}),
    "all-bank refresh": Workload(
        traffic, {"dram.refresh": "all_bank", "dram.timing.refi_ns": 400, "dram.timing.rfc_ns": 100}
    ),
    "one L2 entry": Workload(traffic, {"l2.mshr_entries": 2, "l2.mshr_merges": 2, "l2.queue_depth": 2}),
    "slow link": Workload(reread, {"crossbar.partition_link_bytes_per_cycle": 8}),
    "shallow queues": Workload(
        traffic, {"sm.lg_queue_depth": 2, "l1.mshr_entries": 3, "l1.mshr_merges": 2, "crossbar.sm_credits": 4}
    ),
    "narrow replies": Workload(
        flood, {"crossbar.reply_fifo_packets": 3, "crossbar.reply_bytes_per_cycle": 8}
    ),
    "one side": Workload(
        flood,
        {
            "l2.partitions": 1,
            "dram.channels": 4,
            "crossbar.partition_link_bytes_per_cycle": 0,
            "crossbar.partition_link_latency_cycles": 0,
        },
    ),
}
