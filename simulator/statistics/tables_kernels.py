"""kernels.csv: one row a launch, with what it asked for, how long it took, what it moved, and what bounds
it.

Cycles are SM cycles, times µs, sizes bytes. `achieved_occupancy_pct` and `ipc` are averages over all SMs
and the kernel's whole duration, so an SM that had no block of it counts with zero. Hit rates count a sector
that was already on its way as not hit. A cell without anything to divide by is empty.
"""

from __future__ import annotations

from typing import Any

from simulator.statistics.bound import bound_of, utilisation_pct
from simulator.statistics.bus import sectors_written_during
from simulator.statistics.energy import energy_uj
from simulator.statistics.phases import GLOBAL_LOAD, LOCAL_LOAD
from simulator.statistics.record import LIMITERS, KernelRecord
from simulator.statistics.sample import PPM
from simulator.statistics.source import FS_PER_US, SECTOR_BYTES, Source, count, ratio

PARTIAL = "partial"
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("gpu", "", "card"),
    ("variant", "", "fusion strategy, or a name that the caller gave"),
    ("stream", "", "stream of the launch"),
    ("kernel", "", "name of the kernel, numbered from its second launch on"),
    ("operators", "", "operators of the graph that it computes"),
    ("grid_blocks", "blocks", "blocks of the grid"),
    ("threads_per_block", "threads", "threads of a block"),
    ("registers_per_thread", "registers", "registers of a thread"),
    ("spill_bytes_per_thread", "bytes", "local memory of a thread"),
    ("shared_bytes_per_block", "bytes", "shared memory of a block"),
    ("blocks_per_sm", "blocks", "blocks that an SM can hold"),
    ("limiters", "", "what limits them"),
    ("theoretical_occupancy_pct", "%", "warps of these blocks of all warp slots"),
    (
        "achieved_occupancy_pct",
        "%",
        "resident warps of all warp slots, over the kernel's duration and all SMs",
    ),
    ("launch_cycles", "SM cycles", "the gap before the kernel"),
    ("cycles", "SM cycles", "from launch to the last block's drain"),
    ("time_us", "µs", "gap and kernel"),
    ("warp_instructions", "instructions", "warp instructions issued"),
    ("ipc", "instructions a cycle", "warp instructions of an SM in a cycle"),
    ("dram_read_bytes", "bytes", "read from DRAM"),
    (
        "dram_write_bytes",
        "bytes",
        "of the lines that the kernel dirtied, written to DRAM while the run lasted",
    ),
    ("dirty_bytes_left", "bytes", "dirty in caches at the end of the run, not written yet"),
    (
        "dram_throughput_pct",
        "%",
        "of the peak bandwidth over its duration: its reads, and what DRAM wrote meanwhile by the intervals",
    ),
    ("l2_read_bytes", "bytes", "read by SMs at L2"),
    ("l2_hit_pct", "%", "of the sectors read at L2"),
    ("l1_hit_pct", "%", "of the sectors that loads asked of L1"),
    ("shared_bank_conflicts", "cycles", "data-port cycles beyond what the access width needs"),
    ("local_bytes", "bytes", "spill traffic at L1"),
    ("mean_load_latency_cycles", "SM cycles", "global and local loads, from issue to write-back"),
    ("mean_access_latency_cycles", "SM cycles", "accesses of operators to their inputs, wherever these live"),
    (
        "energy_uj",
        "µJ",
        "of its bytes and instructions, by the card's energies of events; without static power",
    ),
    ("bound", "", "the busiest resource, or latency when none is busy above 60 %"),
    ("l2_throughput_pct", "%", "of the slices' peak"),
    ("l1_throughput_pct", "%", "of the data port that L1 and shared memory have in an SM"),
    ("issue_pct", "%", "of all issue slots"),
    ("sampled", "", "True: only the first blocks were replayed, and the numbers carried on to the grid"),
    ("replayed_blocks", "blocks", "blocks of the grid that were replayed"),
    ("sample_error_pct", "%", "bound of the error of `cycles`; 0 where it and all before it ran whole"),
    (PARTIAL, "", "True: a limit ended the run before the kernel was done"),
)
"""(name, unit, sentence) of every column, in order."""


def kernel_rows(source: Source) -> list[dict[str, Any]]:
    """One row a launch, in the order of the traces."""
    written = sectors_written_during(source.record)
    return [
        _row(source, place, kernel, utilisation_pct(kernel, source.card, written[place]))
        for place, kernel in enumerate(source.record.kernels)
    ]


def _row(source: Source, place: int, kernel: KernelRecord, busy: dict[str, float]) -> dict[str, Any]:
    header = source.headers[place]
    return {
        "gpu": source.record.gpu_name,
        "variant": source.variant,
        "stream": header.stream,
        "kernel": source.labels[place],
        "operators": ";".join(header.operators),
        "grid_blocks": header.grid_blocks,
        "threads_per_block": header.threads_per_block,
        "registers_per_thread": header.registers_per_thread,
        "spill_bytes_per_thread": header.spill_bytes_per_thread,
        "shared_bytes_per_block": header.shared_bytes_per_block,
        **_occupancy(source, place, kernel),
        "launch_cycles": source.cycles(kernel.start_fs - kernel.launch_fs, kernel.start_fs),
        "cycles": source.kernel_cycles(kernel),
        "time_us": (kernel.end_fs - kernel.start_fs + kernel.launch_fs) / FS_PER_US,
        "warp_instructions": count(kernel, "warp_instructions"),
        "ipc": ratio(
            count(kernel, "warp_instructions"), source.kernel_cycles(kernel) * source.record.sm_count
        ),
        **_traffic(kernel, busy),
        **_latency(source, kernel),
        "energy_uj": energy_uj(source, place),
        "bound": bound_of(busy),
        "l2_throughput_pct": busy.get("l2", 0.0),
        "l1_throughput_pct": busy.get("l1", 0.0) + busy.get("shared", 0.0),
        "issue_pct": busy.get("issue", 0.0),
        **_sample(source, place, kernel),
    }


def _sample(source: Source, place: int, kernel: KernelRecord) -> dict[str, Any]:
    if not source.sampling.kernels:
        return {"sampled": False, "replayed_blocks": count(kernel, "blocks"), "sample_error_pct": 0.0}
    own = source.sampling.kernels[place]
    error = 100 * own.error_ppm / PPM
    return {"sampled": own.sampled, "replayed_blocks": own.replayed_blocks, "sample_error_pct": error}


def _occupancy(source: Source, place: int, kernel: KernelRecord) -> dict[str, Any]:
    warps = -(-source.headers[place].threads_per_block // 32)
    slots, blocks = source.card.warp_slots, kernel.blocks_per_sm
    binding = [
        name for name, limit in zip(LIMITERS, kernel.limits, strict=True) if limit == blocks and blocks
    ]
    slot_cycles = source.kernel_cycles(kernel) * source.record.sm_count * slots
    return {
        "blocks_per_sm": blocks,
        "limiters": ";".join(binding),
        "theoretical_occupancy_pct": 100 * blocks * warps / slots,
        "achieved_occupancy_pct": 100 * ratio(count(kernel, "resident_warp_cycles"), slot_cycles),
    }


def _traffic(kernel: KernelRecord, busy: dict[str, float]) -> dict[str, Any]:
    kinds = ("global_load", "local_load", "async_copy")
    hits = count(kernel, *(f"l1_{kind}_hits" for kind in kinds))
    sectors = count(kernel, *(f"l1_{kind}_sectors" for kind in kinds))
    return {
        "dram_read_bytes": SECTOR_BYTES * count(kernel, "dram_read_sectors"),
        "dram_write_bytes": SECTOR_BYTES * count(kernel, "dram_write_sectors"),
        "dirty_bytes_left": SECTOR_BYTES * count(kernel, "l1_dirty_left", "l2_dirty_left"),
        "dram_throughput_pct": busy.get("dram", 0.0),
        "l2_read_bytes": SECTOR_BYTES * count(kernel, "l2_read_sectors"),
        "l2_hit_pct": 100 * ratio(count(kernel, "l2_read_hits"), count(kernel, "l2_read_sectors")),
        "l1_hit_pct": 100 * ratio(hits, sectors),
        "shared_bank_conflicts": count(kernel, "shared_bank_conflicts"),
        "local_bytes": SECTOR_BYTES * count(kernel, "l1_local_load_sectors", "l1_local_store_sectors"),
    }


def _latency(source: Source, kernel: KernelRecord) -> dict[str, Any]:
    load_fs = kernel.latency_fs[GLOBAL_LOAD] + kernel.latency_fs[LOCAL_LOAD]
    loads = kernel.requests[GLOBAL_LOAD] + kernel.requests[LOCAL_LOAD]
    period = source.record.sm_period_fs
    return {
        "mean_load_latency_cycles": ratio(load_fs, loads * period),
        "mean_access_latency_cycles": ratio(
            count(kernel, "access_fs"), count(kernel, "access_count") * period
        ),
    }
