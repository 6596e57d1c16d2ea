"""One record from the kernels of a sampled replay: behind each other as the launcher starts a stream.

Each kernel comes with its duration; gaps and the host's pace are added by the launcher's rule. There is one
interval a kernel. Counters of DRAM's commands, queue meters and active cycles of SMs belong to the runs that
were made, not to the whole, and stay empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from hwmodels import Gpu
from simulator.statistics.record import IntervalRecord, KernelRecord, RunRecord
from simulator.statistics.sample import KernelSample, ReplayedPart

FS_PER_NS = 1_000_000


def in_a_row(
    kernels: list[KernelRecord],
    samples: Sequence[KernelSample],
    parts: Sequence[ReplayedPart],
    gpu: Gpu,
    graph: bool,
) -> RunRecord:
    """Set start, gap and end of the kernels, which begin at 0; one that was not reached takes no time."""
    launch, period = gpu.launch, gpu.sm_period_fs
    gap_fs = (launch.graph_gap_ns if graph else launch.stream_gap_ns) * FS_PER_NS
    host_fs = 0 if graph else launch.host_period_ns * FS_PER_NS
    ended, issued = 0, -host_fs
    for kernel, sample in zip(kernels, samples, strict=True):
        if not sample.grid_blocks:
            kernel.start_fs = kernel.end_fs = ended
            continue
        start = -(-max(ended + gap_fs, issued + host_fs) // period) * period
        kernel.launch_fs = start - ended
        kernel.start_fs, kernel.end_fs = start, start + kernel.end_fs
        ended, issued = kernel.end_fs, start
    records = [part.record for part in parts]
    return RunRecord(
        engine=records[-1].engine if records else "",
        gpu_name=gpu.name,
        gpu_digest=gpu.digest(),
        sm_count=gpu.sm_count,
        sm_period_fs=period,
        kernels=kernels,
        end_fs=ended,
        intervals=[
            IntervalRecord(at, one.start_fs, one.end_fs, list(one.counts), list(one.states))
            for at, one in enumerate(kernels)
            if one.end_fs > one.start_fs
        ],
        wall_seconds=sum(record.wall_seconds for record in records),
        cpu_seconds=sum(record.cpu_seconds for record in records),
        peak_memory_mb=max((record.peak_memory_mb for record in records), default=0.0),
    )
