"""Gathers the record of a run from the components: sums of counters, intervals, queue meters, and what is
unfinished.

The components count by themselves and know nothing of each other's counters; here the lists of a kernel are
added up. Interval snapshots of all components are taken at the same edges, so an interval is the difference
of two sums.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from simulator.machine.ending import end_at_stop
from simulator.machine.launchable import limits_of
from simulator.statistics.phases import STATES
from simulator.statistics.record import IntervalRecord, KernelRecord, MeterRecord, RunRecord
from simulator.statistics.schema import COUNTERS, DRAM_COUNTERS
from simulator.trace.tally import tally

if TYPE_CHECKING:
    from simulator.machine.reference.crossbar import Crossbar
    from simulator.machine.reference.engine import Machine
    from simulator.machine.reference.intervals import IntervalLog
    from simulator.machine.reference.meter import QueueMeter
    from simulator.machine.reference.partition import MemoryPartition
    from simulator.machine.reference.sm import Sm

STATE_BASE = len(COUNTERS)
WIDTH = len(COUNTERS) + len(STATES)


def collect(machine: Machine, partial: bool) -> RunRecord:
    """Close the books of every component and add them up."""
    now_fs = machine.clockwork.now_fs
    for sm in machine.sms:
        sm.close(now_fs)
    machine.crossbar.intervals.advance(now_fs, machine.crossbar.counts)
    for part in machine.partitions:
        part.close(now_fs)
    kernels = [_kernel(machine, index) for index in range(len(machine.traces))]
    record = RunRecord(
        engine="reference",
        gpu_name=machine.gpu.name,
        gpu_digest=machine.gpu.digest(),
        sm_count=machine.gpu.sm_count,
        sm_period_fs=machine.gpu.sm_period_fs,
        kernels=kernels,
        end_fs=max(kernel.end_fs for kernel in machine.launcher.kernels),
        sm_active_cycles=[sm.active_cycles for sm in machine.sms],
        intervals=_intervals(machine, kernels),
        meters=_meters(machine),
        blocks=machine.launcher.finished,
        in_flight=machine.waits_for(),
        expected_instructions=[int(sum(tally(trace))) for trace in machine.traces],
        partial=partial,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    for part in machine.partitions:
        for channel in part.memory.channels:
            for pseudo_channel in channel.state.pseudo_channels:
                for index, counter in enumerate(DRAM_COUNTERS):
                    record.dram[index] += getattr(pseudo_channel.counters, counter.name)
    for sm in machine.sms:
        record.requests.extend(sm.finished or ())
    if partial:
        ended = [kernel.done >= kernel.blocks for kernel in machine.launcher.kernels]
        end_at_stop(record, ended, now_fs, machine.clockwork.next_fs, machine.options.max_cycles)
    return record


def _kernel(machine: Machine, index: int) -> KernelRecord:
    trace, progress = machine.traces[index], machine.launcher.kernels[index]
    record = KernelRecord(index, trace.name, trace.stream)
    record.start_fs, record.end_fs = progress.start_fs, progress.end_fs
    record.launch_fs = machine.launcher.gaps[index]
    record.blocks_per_sm = machine.occupancies[index].blocks_per_sm
    record.carveout_bytes = progress.carveout_bytes
    record.limits = limits_of(machine.occupancies[index])
    record.launch_blocked_cycles = list(machine.launcher.blocked_cycles[index])
    parts: list[Sm | Crossbar | MemoryPartition] = [*machine.sms, machine.crossbar, *machine.partitions]
    totals = _sum([list(part.counts[index]) for part in parts])
    record.counts, record.states = totals[:STATE_BASE], totals[STATE_BASE:]
    record.operations = _sum([sm.operations[index] for sm in machine.sms])
    record.requests = _sum([sm.requests[index] for sm in machine.sms])
    record.latency_fs = _sum([sm.latency_fs[index] for sm in machine.sms])
    record.phases = [
        _sum([sm.phases[index][kind] for sm in machine.sms]) for kind in range(len(record.requests))
    ]
    return record


def _sum(lists: list[list[int]]) -> list[int]:
    """Element by element; a shorter list (a component without warps) counts as zeros behind its end."""
    width = max(len(one) for one in lists)
    totals = [0] * width
    for one in lists:
        for place, value in enumerate(one):
            totals[place] += value
    return totals


def _intervals(machine: Machine, kernels: list[KernelRecord]) -> list[IntervalRecord]:
    period = machine.options.interval_cycles * machine.gpu.sm_period_fs
    if not period:
        return []
    logs: list[IntervalLog] = [
        *(sm.log for sm in machine.sms),
        machine.crossbar.intervals,
        *(part.intervals for part in machine.partitions),
    ]
    end_fs = machine.clockwork.now_fs
    records = []
    before = [[0] * WIDTH for _ in kernels]
    edges = min(len(log.snapshots) for log in logs)
    for place in range(edges + 1):
        last = place == edges
        start = place * period
        # A last tick at the very edge belongs to the interval that it opens.
        edge = max(end_fs, start + machine.gpu.sm_period_fs) if last else logs[0].snapshots[place][0]
        for index, kernel in enumerate(kernels):
            if last:
                total = kernel.counts + kernel.states
            else:
                total = _sum([[0] * WIDTH] + [log.snapshots[place][1][index] for log in logs])
            change = [now - then for now, then in zip(total, before[index], strict=True)]
            before[index] = total
            if any(change):
                records.append(IntervalRecord(index, start, edge, change[:STATE_BASE], change[STATE_BASE:]))
    return records


def _meters(machine: Machine) -> list[MeterRecord]:
    found: list[tuple[str, QueueMeter]] = []
    for sm in machine.sms:
        found.append((f"{sm.name} memory queues", sm.lsu.meter))
        found.append((f"{sm.name} MSHRs", sm.l1.misses.meter))
    found.append(("crossbar requests", machine.crossbar.requests.meter))
    found.append(("crossbar replies", machine.crossbar.replies.meter))
    for part in machine.partitions:
        for one in part.slices:
            found.append((f"{part.name} slice input", one.meter))
            found.append((f"{part.name} link input", one.crossing_meter))
            found.append((f"{part.name} MSHRs", one.misses.meter))
    return [MeterRecord(name, m.area_fs, m.waits_fs, m.items, m.inside) for name, m in found]
