"""What bounds a kernel: how busy each shared resource was over its duration, and the name of the busiest.

Every figure is a percentage of a peak over the kernel's own cycles, launch gap left out. Nothing above 60 %
means that no resource is short and the kernel waits for latency (the threshold is the one that the
profiler's guidance uses). Kernels of other streams that run beside it are not in its figures, except for
DRAM's writes, which are all those that happen while the kernel runs (`bus.py` says how they are known).
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.statistics.facts import CardFacts
from simulator.statistics.record import KernelRecord
from simulator.statistics.schema import INDEX

LATENCY_THRESHOLD_PCT = 60.0
SECTOR_BYTES = 32
FS_PER_SECOND = 10**15


def utilisation_pct(kernel: KernelRecord, card: CardFacts, written_sectors: float) -> dict[str, float]:
    """Percentage of its peak for each resource: each level of the memory, issue slots, and each pipeline.

    `written_sectors` are those that DRAM wrote during the kernel.
    """
    span_fs = kernel.end_fs - kernel.start_fs
    if span_fs <= 0:
        return {}

    def count(*names: str) -> int:
        return sum(kernel.counts[INDEX[name]] for name in names)

    sm_cycles = span_fs / card.sm_period_fs * card.sm_count
    busy = _memory(count, span_fs, card, written_sectors)
    busy["l1"] = 100 * count("l1_data_passes") / sm_cycles
    busy["shared"] = 100 * count("shared_passes") / sm_cycles
    busy["issue"] = 100 * count("warp_instructions") / (sm_cycles * card.sub_cores)
    for pipeline, tenths in _pipeline_tenths(kernel, card).items():
        busy[f"{pipeline} pipeline"] = 100 * tenths / (10 * sm_cycles * card.sub_cores)
    return busy


def bound_of(busy: dict[str, float]) -> str:
    """The busiest resource, or `latency` when none is above the threshold (ties: the first of the list)."""
    if not busy:
        return "latency"
    name = max(busy, key=lambda resource: busy[resource])
    return name if busy[name] >= LATENCY_THRESHOLD_PCT else "latency"


def _memory(
    count: Callable[..., int], span_fs: int, card: CardFacts, written_sectors: float
) -> dict[str, float]:
    l2_cycles = span_fs / card.l2_period_fs
    dram_bytes = SECTOR_BYTES * (count("dram_read_sectors") + written_sectors)
    # A slice's port is as wide each way: the busier way counts. Fills and write-backs have their own path.
    read = SECTOR_BYTES * count("l2_read_sectors")
    written = count("l2_write_bytes")
    sent = count("request_bytes") / card.request_bytes_per_cycle
    received = count("reply_bytes") / card.reply_bytes_per_cycle
    busy = {
        "dram": 100 * dram_bytes * FS_PER_SECOND / (span_fs * card.dram_bytes_per_second),
        "l2": 100 * max(read, written) / (l2_cycles * card.l2_bytes_per_cycle),
        "crossbar": 100 * max(sent, received) / l2_cycles,
    }
    if card.link_bytes_per_cycle:
        busy["partition_link"] = 100 * count("link_bytes") / (2 * l2_cycles * card.link_bytes_per_cycle)
    return busy


def _pipeline_tenths(kernel: KernelRecord, card: CardFacts) -> dict[str, int]:
    tenths: dict[str, int] = {}
    for issued, pipeline, interval in zip(
        kernel.operations, card.pipelines, card.interval_tenths, strict=False
    ):
        if issued and pipeline:
            tenths[pipeline] = tenths.get(pipeline, 0) + issued * interval
    return tenths
