"""The reference engine: builds the components of a card, runs SimPy until the traces are done, and collects
the record.

One SimPy process and one class a component. Nothing here knows what a component does; the order in which they
are built is free, which a test uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES
from hwmodels.errors import ResultError
from simulator.machine.launchable import occupancy_of, progress_of
from simulator.machine.links import lead
from simulator.machine.options import Options
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.program import decode
from simulator.machine.reference.collect import collect
from simulator.machine.reference.crossbar import Crossbar
from simulator.machine.reference.footprint import Footprints
from simulator.machine.reference.freeze import freeze, thaw
from simulator.machine.reference.launcher import Launcher
from simulator.machine.reference.partition import MemoryPartition
from simulator.machine.reference.partition import preload as preload_l2
from simulator.machine.reference.sm import Sm
from simulator.statistics.record import RunRecord
from simulator.trace.schema import KernelTrace

LOOK_UP_CYCLES = 1000
"""How often a run looks up for progress and time limits, in SM cycles."""


class Machine:
    """A card with its kernels, ready to run."""

    def __init__(self, traces: list[KernelTrace], gpu: Gpu, options: Options) -> None:
        self.traces, self.gpu, self.options = traces, gpu, options
        self.occupancies = [occupancy_of(trace, gpu) for trace in traces]
        kernels = [
            progress_of(trace, index, gpu, fits)
            for index, (trace, fits) in enumerate(zip(traces, self.occupancies, strict=True))
        ]
        programs = [decode(trace, index, gpu) for index, trace in enumerate(traces)]
        self.programs = programs
        footprints = Footprints(gpu)
        interval_fs = options.interval_cycles * gpu.sm_period_fs
        clockwork = self.clockwork = Clockwork(lead(gpu).window_fs, options.priority)
        first_sm, crossbar_id = 1, gpu.sm_count + 1

        def sm(number: int) -> Sm:
            return Sm(
                clockwork,
                first_sm + number,
                number,
                gpu,
                traces,
                programs,
                footprints,
                interval_fs,
                options.keep_requests,
            )

        def partition(number: int) -> MemoryPartition:
            ident = crossbar_id + 1 + number
            return MemoryPartition(clockwork, ident, gpu, len(traces), number, interval_fs)

        builders: list[Callable[[], Component]] = [
            lambda: Launcher(clockwork, 0, gpu, kernels, options.launch == "graph", options.keep_blocks),
            *(lambda n=n: sm(n) for n in range(gpu.sm_count)),
            lambda: Crossbar(clockwork, crossbar_id, gpu, len(traces), interval_fs),
            *(lambda n=n: partition(n) for n in range(gpu.memory_partitions)),
        ]
        if options.reverse_build:
            builders.reverse()
        parts = sorted((build() for build in builders), key=lambda component: component.ident)
        self.launcher: Launcher = parts[0]  # type: ignore[assignment]
        self.sms: list[Sm] = parts[first_sm:crossbar_id]  # type: ignore[assignment]
        self.crossbar: Crossbar = parts[crossbar_id]  # type: ignore[assignment]
        self.partitions: list[MemoryPartition] = parts[crossbar_id + 1 :]  # type: ignore[assignment]
        self._connect()

    def _connect(self) -> None:
        for one in self.sms:
            one.connect(self.crossbar, self.launcher)
        self.crossbar.connect(self.sms, self.partitions)
        for part in self.partitions:
            part.connect(self.crossbar)
        for resident in self.options.preload:
            first = resident.base_address // LINE_BYTES
            last = (resident.base_address + resident.bytes - 1) // LINE_BYTES
            preload_l2(self.partitions, range(first, last + 1))
        self.launcher.connect(self.sms)

    def run(self) -> RunRecord:
        """Run to the end (or to a limit); a ResultError from the watchdog if work is left that nobody goes on
        with.
        """
        options, period = self.options, self.gpu.sm_period_fs
        started, started_cpu = time.perf_counter(), time.process_time()
        if options.resume is not None:
            thaw(self, options.resume.state)
        limit_fs = None if options.max_cycles is None else options.max_cycles * period
        partial = self._advance(limit_fs, started)
        if options.keeper is not None:
            options.keeper.end(self, partial)
        left = [kernel for kernel in self.launcher.kernels if kernel.done < kernel.blocks]
        if left and not partial:
            raise ResultError(
                "watchdog", "work is left and nothing is booked", "; ".join(self.waits_for()[:20])
            )
        record = collect(self, partial)
        record.wall_seconds = time.perf_counter() - started
        record.cpu_seconds = time.process_time() - started_cpu
        return record

    def _advance(self, limit_fs: int | None, started: float) -> bool:
        """Run until done; True if a limit came first."""
        options, clockwork = self.options, self.clockwork
        step_fs = LOOK_UP_CYCLES * self.gpu.sm_period_fs
        while clockwork.next_fs < NEVER:
            until = clockwork.next_fs + step_fs
            if limit_fs is not None and until >= limit_fs:
                clockwork.run(limit_fs)
                return clockwork.next_fs < NEVER
            clockwork.run(until)
            if options.progress is not None:
                done = sum(kernel.done for kernel in self.launcher.kernels)
                total = sum(kernel.blocks for kernel in self.launcher.kernels)
                options.progress(done / total, clockwork.now_fs // self.gpu.sm_period_fs)
            if options.max_seconds is not None and time.perf_counter() - started > options.max_seconds:
                return clockwork.next_fs < NEVER
            if options.keeper is not None and options.keeper.look_up(self):
                return clockwork.next_fs < NEVER
        return False

    # --- checkpoints

    engine = "reference"

    @property
    def cycle(self) -> int:
        """SM cycle of the last tick."""
        return self.clockwork.now_fs // self.gpu.sm_period_fs

    @property
    def components(self) -> list[Component]:
        """All components, by their numbers."""
        return [self.launcher, *self.sms, self.crossbar, *self.partitions]

    def freeze(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The state, for a checkpoint."""
        return freeze(self), {}

    def waits_for(self) -> list[str]:
        """Who waits for whom, over all components."""
        return [line for part in self.components for line in part.waits_for()]


def simulate(traces: list[KernelTrace], gpu: Gpu, options: Options) -> RunRecord:
    """Replay traces on a card; the entry that every engine has."""
    return Machine(traces, gpu, options).run()
