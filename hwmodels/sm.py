"""The streaming multiprocessor: sub-cores, warp slots, and the latencies between issue and the units behind
it.

Splits of a measured sum (issue, hand-over to the memory-I/O queue, write-back) are a plausible division,
not measurements: only their sums, such as 19 or 23 cycles for a shared load, are. Pipelines are in
operations.py. Dual issue, uniform registers and the distributed warp-group features of Hopper are not
modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import choice, number


@dataclass(frozen=True, slots=True)
class SmSpec:
    """One SM without its memories. Numbers are a whole SM's unless the sentence says a sub-core's."""

    sub_cores: int = number(unit="sub-cores", low=1, high=8, doc="Sub-cores, each with a scheduler.")
    warp_slots: int = number(
        unit="warps", low=4, high=256, doc="Warps that may be resident, at most 64 in a sub-core."
    )
    block_slots: int = number(unit="blocks", low=1, high=256, doc="Blocks that may be resident.")
    barrier_slots: int = number(
        unit="barriers",
        low=0,
        high=1024,
        doc="Named barriers shared by the resident blocks; 0 = they never limit.",
    )
    max_threads_per_block: int = number(unit="threads", low=32, high=4096, doc="Largest block.")
    scheduler: str = choice(
        "gto", "lrr", "oldest", doc="Greedy then oldest, loose round robin, or oldest first."
    )
    operand_latency_cycles: int = number(
        unit="SM cycles", low=1, high=100, doc="Issue, operand read and address, up to the memory-I/O queue."
    )
    mio_latency_cycles: int = number(
        unit="SM cycles", low=1, high=100, doc="Through an empty memory-I/O queue to the load-store unit."
    )
    writeback_latency_cycles: int = number(
        unit="SM cycles", low=1, high=100, doc="Register write and wake-up of the waiting warp."
    )
    mio_queue_depth: int = number(
        unit="instructions", low=1, high=256, doc="Memory-I/O queue of a sub-core: shared memory, shuffles."
    )
    lg_queue_depth: int = number(
        unit="instructions",
        low=1,
        high=256,
        doc="Local and global memory instructions a sub-core may have waiting.",
    )
    barrier_arrival_cycles: int = number(
        unit="SM cycles", low=1, high=100, doc="The barrier unit's time for each arriving warp."
    )
    barrier_release_cycles: int = number(
        unit="SM cycles", low=1, high=1000, doc="From the last arrival's service until the warps may issue."
    )
    warp_setup_tenths: int = number(
        unit="tenths of an SM cycle",
        low=0,
        high=10_000,
        doc="Set-up of each warp of an accepted block, one after another.",
    )
    exit_latency_cycles: int = number(
        unit="SM cycles", low=1, high=1000, doc="From a block's last instruction until its place is free."
    )
    branch_latency_cycles: int = number(
        unit="SM cycles", low=1, high=200, doc="From issue of a taken branch until the warp's next fetch."
    )
    instruction_bytes: int = number(unit="bytes", low=4, high=32, doc="Size of an instruction in memory.")
    fetch_line_bytes: int = number(unit="bytes", low=32, high=512, doc="Line of the instruction caches.")
    l0_instruction_kib: int = number(unit="KiB", low=1, high=1024, doc="Instruction cache of a sub-core.")
    l0_miss_latency_cycles: int = number(
        unit="SM cycles", low=1, high=1000, doc="Fill of the sub-core's cache from the SM's."
    )
    l1_instruction_kib: int = number(unit="KiB", low=1, high=4096, doc="Instruction cache of the SM.")
    l1_instruction_miss_latency_cycles: int = number(
        unit="SM cycles", low=1, high=10_000, doc="Fill of the SM's instruction cache from L2."
    )
    membar_latency_cycles: int = number(
        unit="SM cycles", low=1, high=10_000, doc="A fence's own time once earlier stores are acknowledged."
    )
