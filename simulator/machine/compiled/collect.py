"""Gathers the record of a run from the tables: sums, intervals, queue meters, and what is unfinished.

The counterpart of the reference engine's file of this name, which says what each number is.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any

from simulator.machine.compiled.layout import STATE_BASE, WIDTH
from simulator.machine.compiled.watchdog import waits_for
from simulator.machine.ending import end_at_stop
from simulator.machine.launchable import limits_of
from simulator.statistics.phases import ACCESS_CLASSES
from simulator.statistics.record import (
    BlockRecord,
    IntervalRecord,
    KernelRecord,
    MeterRecord,
    RequestRecord,
    RunRecord,
)
from simulator.trace.tally import tally

if TYPE_CHECKING:
    from simulator.machine.compiled.engine import Machine


def collect(machine: Machine, partial: bool) -> RunRecord:
    """The record of a run whose books are closed."""
    tables = machine.store.tables
    kernels = [_kernel(machine, index) for index in range(len(machine.traces))]
    record = RunRecord(
        engine="compiled",
        gpu_name=machine.gpu.name,
        gpu_digest=machine.gpu.digest(),
        sm_count=machine.gpu.sm_count,
        sm_period_fs=machine.gpu.sm_period_fs,
        kernels=kernels,
        end_fs=max(kernel.end_fs for kernel in kernels),
        sm_active_cycles=tables["sm_states"]["active_cycles"].tolist(),
        dram=tables["pseudos"]["counters"].sum(axis=0).tolist(),
        intervals=_intervals(machine, kernels),
        meters=_meters(machine),
        requests=_requests(machine),
        blocks=_blocks(machine),
        in_flight=waits_for(machine),
        expected_instructions=[int(sum(tally(trace))) for trace in machine.traces],
        partial=partial,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    if partial:
        progress, following = tables["kernel_states"], machine.next_fs
        ended = (progress["done"] >= progress["blocks"]).tolist()
        end_at_stop(record, ended, machine.now_fs, following, machine.options.max_cycles)
    return record


def _kernel(machine: Machine, index: int) -> KernelRecord:
    trace, tables = machine.traces[index], machine.store.tables
    own = tables["kernel_states"][index]
    classes = len(ACCESS_CLASSES)
    count = len(machine.traces)
    totals = tables["counts"].reshape(count, WIDTH)[index].tolist()
    fits = machine.occupancies[index]
    return KernelRecord(
        index=index,
        name=trace.name,
        stream=trace.stream,
        start_fs=int(own["start_fs"]),
        end_fs=int(own["end_fs"]),
        launch_fs=int(own["gap_fs"]),
        blocks_per_sm=fits.blocks_per_sm,
        carveout_bytes=machine.progress[index].carveout_bytes,
        counts=totals[:STATE_BASE],
        states=totals[STATE_BASE:],
        requests=tables["request_counts"].reshape(count, classes)[index].tolist(),
        phases=tables["phase_sums"].reshape(count, classes, -1)[index].tolist(),
        latency_fs=tables["latencies"].reshape(count, classes)[index].tolist(),
        operations=tables["operation_counts"].reshape(count, -1)[index].tolist(),
        limits=limits_of(fits),
        launch_blocked_cycles=own["blocked_cycles"].tolist(),
    )


def _intervals(machine: Machine, kernels: list[KernelRecord]) -> list[IntervalRecord]:
    period = machine.options.interval_cycles * machine.gpu.sm_period_fs
    if not period:
        return []
    count = len(kernels)
    edges = int(machine.store.machine.edges)
    rows = machine.store.tables["snapshots"].reshape(-1, count, WIDTH)
    records = []
    before = [[0] * WIDTH for _ in kernels]
    for place in range(edges + 1):
        last = place == edges
        start = place * period
        # A last tick at the very edge belongs to the interval that it opens.
        edge = max(machine.now_fs, start + machine.gpu.sm_period_fs) if last else start + period
        for index, kernel in enumerate(kernels):
            total = kernel.counts + kernel.states if last else rows[place, index].tolist()
            change = [now - then for now, then in zip(total, before[index], strict=True)]
            before[index] = total
            if any(change):
                records.append(IntervalRecord(index, start, edge, change[:STATE_BASE], change[STATE_BASE:]))
    return records


def _meters(machine: Machine) -> list[MeterRecord]:
    gpu = machine.gpu
    names = []
    for sm in range(gpu.sm_count):
        names += [f"SM {sm} memory queues", f"SM {sm} MSHRs"]
    names += ["crossbar requests", "crossbar replies"]
    for slice_id in range(gpu.l2.slices):
        part = f"memory partition {slice_id // gpu.slices_per_memory_partition}"
        names += [f"{part} slice input", f"{part} link input", f"{part} MSHRs"]
    found = machine.store.tables["meters"]
    return [
        MeterRecord(name, int(m["area_fs"]), int(m["waits_fs"]), int(m["items"]), int(m["inside"]))
        for name, m in zip(names, found, strict=True)
    ]


def _requests(machine: Machine) -> list[RequestRecord]:
    """The kept requests, SM by SM, each SM's in the order in which they finished."""
    count = int(machine.store.machine.finished_count)
    log = machine.store.tables["finished"][:count]
    order: Any = log["sm"].argsort(kind="stable")
    return [
        RequestRecord(
            int(one["kernel"]),
            int(one["sm"]),
            int(one["slot"]),
            int(one["access_class"]),
            int(one["issue_fs"]),
            int(one["finish_fs"]),
            one["phases"].tolist(),
        )
        for one in log[order]
    ]


def _blocks(machine: Machine) -> list[BlockRecord]:
    """The kept blocks, in the order in which the launcher learned of their ends."""
    log = machine.store.tables["kept_blocks"][: int(machine.store.machine.kept_block_count)]
    return [
        BlockRecord(*(int(one[name]) for name in ("kernel", "index", "sm", "start_fs", "end_fs")))
        for one in log
    ]
