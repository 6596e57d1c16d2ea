"""Sampled replay: of each long kernel of equal blocks only the first run, and the rest is carried on.

Kernels are taken in order, each in runs of its own behind the end of those before it. The number of blocks
doubles until the stated bound is within the tolerance, from where L2 has been turned over (or never will be);
a kernel that would need more than a part of its grid is replayed whole. Every run is complete, and its
identities are checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator.machine.launchable import occupancy_of
from simulator.machine.options import Options
from simulator.machine.sample_estimate import RUNS, Point, error_ppm, whole_grid
from simulator.machine.sample_past import SECTOR_BYTES, Past
from simulator.machine.sample_record import FS_PER_NS, in_a_row
from simulator.machine.sample_rules import period_blocks, reason_for_whole, uneven_ppm
from simulator.statistics import identities
from simulator.statistics.record import KernelRecord, RunRecord
from simulator.statistics.sample import PPM, KernelSample, ReplayedPart, Sampling
from simulator.statistics.schema import INDEX
from simulator.trace.part import first_blocks
from simulator.trace.schema import KernelTrace
from simulator.trace.tally import tally

Simulate = Callable[[list[KernelTrace], Gpu, Options], RunRecord]
FIRST_WAVES = 2
SMALLEST_SAVING = 3
"""A sample of more than this part of the grid is not worth its runs: the kernel is replayed whole."""
BUSY_PCT = 30
"""Where DRAM moves more than this part of its peak, the order of requests decides how long a kernel takes."""
BUSY_WAVES = 32
"""Blocks drift apart for so many waves, and the locality of DRAM's rows with them."""


class OutOfTimeError(Exception):
    """The limit of seconds came before the run's end."""


@dataclass(slots=True)
class Sampler:
    """One sampled replay on its way: what is known of the kernels so far."""

    traces: list[KernelTrace]
    gpu: Gpu
    options: Options
    simulate: Simulate
    tolerance_ppm: int
    started: float = field(default_factory=time.perf_counter)
    kernels: list[KernelRecord] = field(default_factory=list)
    samples: list[KernelSample] = field(default_factory=list)
    parts: list[ReplayedPart] = field(default_factory=list)
    share: float = 0.0

    @property
    def past(self) -> Past:
        """L2 as the kernels so far leave it."""
        return Past(self.traces, self.kernels, self.gpu, self.options.preload)

    def run(self) -> tuple[RunRecord, Sampling]:
        """Go through the kernels in order and put the records together."""
        partial = False
        try:
            while len(self.kernels) < len(self.traces):
                self._next()
        except OutOfTimeError:
            partial = True
        for trace in self.traces[len(self.kernels) :]:
            self.kernels.append(KernelRecord(len(self.kernels), trace.name, trace.stream))
            self.samples.append(KernelSample(0, 0, 0, "not reached"))
        record = in_a_row(self.kernels, self.samples, self.parts, self.gpu, self.options.launch == "graph")
        record.partial = partial
        return record, Sampling(self.tolerance_ppm, tuple(self.samples), tuple(self.parts))

    def _next(self) -> None:
        """Sample the next kernel, or replay it whole with all behind it that can't be sampled either."""
        place = len(self.kernels)
        reason = self._unfit(place)
        if not reason and self._sampled(place):
            return
        last = place + 1
        while reason and last < len(self.traces) and self._unfit(last):
            last += 1
        record = self._replay(place, self.traces[place:last])
        for at, kernel in enumerate(record.kernels[-(last - place) :], start=place):
            self.kernels.append(_moved_to_zero(kernel))
            blocks, error = self.traces[at].blocks, self.past.error_ppm(place, self.kernels[at])
            why = self._unfit(at) or "the bound needs more than a part of the grid"
            self.samples.append(KernelSample(blocks, blocks, error, why))

    def _unfit(self, place: int) -> str:
        trace = self.traces[place]
        reason = reason_for_whole(trace)
        longest = (self._unit(trace) << RUNS - 1) * SMALLEST_SAVING
        # The bound is never less than a wave.
        if not reason and (
            longest > trace.blocks or PPM * self._wave(trace) > self.tolerance_ppm * trace.blocks
        ):
            return "too few waves or periods of blocks"
        return reason

    def _wave(self, trace: KernelTrace) -> int:
        return occupancy_of(trace, self.gpu).blocks_per_sm * self.gpu.sm_count

    def _unit(self, trace: KernelTrace) -> int:
        """Blocks of the shortest run: at least so many waves, and a period."""
        wave = self._wave(trace)
        return -(-max(FIRST_WAVES * wave, period_blocks(trace)) // wave) * wave

    def _sampled(self, place: int) -> bool:
        """Try longer and longer runs of the first blocks; False if none within the grid's part will do."""
        trace = self.traces[place]
        wave, unit, period = self._wave(trace), self._unit(trace), period_blocks(trace)
        points: list[Point] = []
        blocks = trace.blocks % wave + unit
        while blocks * SMALLEST_SAVING <= trace.blocks:
            record = self._replay(place, [first_blocks(trace, blocks)])
            points.append(Point(blocks, record.kernels[-1]))
            if self.past.hopeless(points[-1], place, trace.blocks // SMALLEST_SAVING // 2):
                return False
            unit *= 2
            blocks = trace.blocks % wave + unit
            if len(points) < RUNS or points[-1].blocks < self._least_waves(points[-1].kernel) * wave:
                continue
            made = whole_grid(points[-2], points[-1], trace.blocks)
            if not self.past.settled(points[-2], made):
                continue
            exact = int(sum(tally(trace)))
            error = error_ppm(points, trace.blocks, wave)
            error += uneven_ppm(trace, points[-1].blocks, period)
            error += self.past.error_ppm(place, made)
            error += PPM * abs(made.counts[INDEX["warp_instructions"]] - exact) // exact
            if error <= self.tolerance_ppm:
                self.kernels.append(made)
                self.samples.append(KernelSample(points[-1].blocks, trace.blocks, error, ""))
                return True
        return False

    def _least_waves(self, kernel: KernelRecord) -> int:
        """Waves that the longest run must have: more where DRAM is busy, whose rows settle slowly."""
        sectors = kernel.counts[INDEX["dram_read_sectors"]] + kernel.counts[INDEX["dram_write_sectors"]]
        spent_ns = (kernel.end_fs - kernel.start_fs) // FS_PER_NS
        busy_pct = 100 * SECTOR_BYTES * sectors / max(1.0, self.gpu.dram.bandwidth_gb_s * spent_ns)
        return BUSY_WAVES if busy_pct > BUSY_PCT else 0

    def _replay(self, place: int, kernels: list[KernelTrace]) -> RunRecord:
        """Replay kernels behind what comes before them; checks the identities of the run."""
        before, preload = self.past.before(place)
        limit = self.options.max_seconds
        left = None if limit is None else limit - (time.perf_counter() - self.started)
        if left is not None and left <= 0:
            raise OutOfTimeError
        traces = before + kernels
        outer, count = self.options.progress, len(self.traces)

        def progress(share: float, cycle: int) -> None:
            # A kernel takes several runs: the share only ever grows.
            self.share = max(self.share, (place + share * len(kernels)) / count)
            if outer is not None:
                outer(self.share, cycle)

        options = replace(self.options, preload=preload, max_seconds=left, progress=progress)
        record = self.simulate(traces, self.gpu, options)
        if record.partial:
            raise OutOfTimeError
        blocks = tuple(trace.blocks for trace in traces)
        identities.require(record, blocks)
        for at, kernel in enumerate(record.kernels):
            kernel.index = place - len(before) + at
        self.parts.append(ReplayedPart(replace(record, intervals=[], meters=[], requests=[]), blocks))
        return record


def sampled_replay(
    traces: Sequence[KernelTrace], gpu: Gpu, options: Options, simulate: Simulate, tolerance: float
) -> tuple[RunRecord, Sampling]:
    """The estimated record of a replay, and what it was made from.

    `tolerance` is a share of each kernel's cycles. An InputError where options or streams leave nothing to
    sample.
    """
    if not 0 < tolerance < 1:
        raise InputError("sample", f"{tolerance} is no share between 0 and 1", "such as 0.02 for 2 %")
    if len({trace.stream for trace in traces}) > 1:
        raise InputError(
            "sample", "kernels of several streams share the SMs", "leave it out, or use one stream"
        )
    if options.max_cycles is not None:
        raise InputError("sample", "a limit of cycles means nothing in parts of a run", "give one of the two")
    if options.keep_requests:
        raise InputError("sample", "requests of blocks left out can't be kept", "give one of the two")
    return Sampler(list(traces), gpu, options, simulate, round(PPM * tolerance)).run()


def _moved_to_zero(kernel: KernelRecord) -> KernelRecord:
    return replace(kernel, start_fs=0, end_fs=kernel.end_fs - kernel.start_fs)
