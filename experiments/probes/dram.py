"""One DRAM channel by itself under a synthetic stream: bandwidth over peak, latency, row hits.

Closed loop: the stream is offered in order, as much a clock as the channel takes, up to `outstanding` reads
in flight; writes are posted. Open loop: arrivals at `rate` of the peak, Poisson or at a fixed interval, and
latency then counts from the arrival, queue at the source included; a rate that is not met to 98.5 % is
marked saturated, since its latency only measures the length of the run. Latency is that of reads. The method
is that of the peers' figures in `dram_reference.csv`, so that both can stand side by side.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from random import Random
from typing import Any

from experiments.probes.dram_streams import Access, Space, stream_of
from hwmodels.dram.spec import DramSpec
from hwmodels.errors import InputError
from simulator.machine.reference.dram import DramChannel

SATURATED_BELOW = 0.985


def dram_alone(
    spec: DramSpec,
    pattern: str,
    *,
    outstanding: int | None = None,
    rate: float | None = None,
    fixed_interval: bool = False,
    pseudo_channels: int | None = None,
    warmup_clocks: int = 4_000,
    window_clocks: int = 40_000,
    seed: int = 1,
) -> dict[str, Any]:
    """Run one stream on one channel of `spec`; returns a row of figures.

    `outstanding` limits the reads in flight (None: the queues do), `rate` is the offered share of the peak.
    """
    if rate is not None and outstanding is not None:
        raise InputError("DRAM probe", "both a rate and a number outstanding are given", "give one of them")
    channel = DramChannel(spec, pseudo_channels)
    count = len(channel.state.pseudo_channels)
    accesses = stream_of(pattern)(Space(channel.map, count, spec.rows, seed))
    run = _Run(channel, accesses, warmup_clocks, warmup_clocks + window_clocks)
    if rate is None:
        run.closed_loop(outstanding)
    else:
        # A pseudo-channel's burst takes `burst` clocks, so the peak is count / burst accesses a clock.
        run.open_loop(rate * count / channel.clocks.burst, fixed_interval, Random(seed + 1))
    return _figures(run, spec, pattern, outstanding, rate, window_clocks)


class _Run:
    """The clock of a probe: offers requests, ticks the channel, notes what came back in the window."""

    def __init__(self, channel: DramChannel, accesses: Iterator[Access], begin_ck: int, end_ck: int) -> None:
        self.channel = channel
        self.accesses = accesses
        self.begin_ck = begin_ck
        self.end_ck = end_ck
        self.bursts = 0
        self.arrivals = 0
        self.latencies: list[int] = []
        self.row_marks = [0, 0]
        self.in_flight = 0
        self.landing: list[int] = []
        """Clocks at which reads in flight end, as a heap."""

    def closed_loop(self, outstanding: int | None) -> None:
        channel = self.channel
        limit = 1 << 60 if outstanding is None else outstanding
        write, pc, sector = next(self.accesses)
        ck = 0
        while ck < self.end_ck:
            while self.landing and self.landing[0] <= ck:
                heappop(self.landing)
                self.in_flight -= 1
            while (
                channel.can_accept_write(pc)
                if write
                else self.in_flight < limit and channel.can_accept_read(pc)
            ):
                if write:
                    channel.push_write(ck, pc, sector, -1)
                else:
                    channel.push_read(ck, pc, sector, ck)
                    self.in_flight += 1
                write, pc, sector = next(self.accesses)
            ck = self._advance(ck, self.end_ck)

    def open_loop(self, per_clock: float, fixed_interval: bool, random: Random) -> None:
        channel = self.channel
        waiting: deque[tuple[int, Access]] = deque()
        arrival = 0.0
        ck = 0
        while ck < self.end_ck:
            while arrival <= ck:
                waiting.append((int(arrival), next(self.accesses)))
                self.arrivals += self.begin_ck <= ck
                arrival += 1 / per_clock if fixed_interval else random.expovariate(per_clock)
            while waiting:
                arrived, (write, pc, sector) = waiting[0]
                if write:
                    if not channel.can_accept_write(pc):
                        break
                    channel.push_write(ck, pc, sector, -1)
                else:
                    if not channel.can_accept_read(pc):
                        break
                    channel.push_read(ck, pc, sector, arrived)
                    self.in_flight += 1
                waiting.popleft()
            ck = self._advance(ck, max(int(arrival), ck + 1))

    def _advance(self, ck: int, latest: int) -> int:
        """Tick, note completions, and return the clock of the next event, `latest` at most."""
        channel = self.channel
        if not self.row_marks[1] and ck >= self.begin_ck:
            self.row_marks = _row_counts(channel)
        channel.tick(ck)
        for done, token, _queued, _first, column in channel.completions:
            inside = self.begin_ck <= column < self.end_ck
            self.bursts += inside
            if token >= 0:
                heappush(self.landing, done)
                if inside:
                    self.latencies.append(done - token)
        channel.completions.clear()
        following = channel.next_ck(ck)
        if following is None or following > latest:
            following = latest
        if self.landing and self.landing[0] < following:
            following = max(self.landing[0], ck + 1)
        return following


def _row_counts(channel: DramChannel) -> list[int]:
    hits = sum(pc.counters.row_hits for pc in channel.state.pseudo_channels)
    rest = sum(pc.counters.row_misses + pc.counters.row_conflicts for pc in channel.state.pseudo_channels)
    return [hits, hits + rest]


def _figures(
    run: _Run, spec: DramSpec, pattern: str, outstanding: int | None, rate: float | None, window_clocks: int
) -> dict[str, Any]:
    channel = run.channel
    parts = [pc.counters for pc in channel.state.pseudo_channels]
    achieved = run.bursts * channel.clocks.burst / (window_clocks * len(parts))
    # Offered is what really arrived in the window: in a short one chance makes it some percent more or less.
    offered = run.arrivals * channel.clocks.burst / (window_clocks * len(parts))
    saturated = rate is not None and achieved < SATURATED_BELOW * offered
    nanoseconds = spec.timing.tck_fs / 1e6
    latencies = sorted(run.latencies)
    known = bool(latencies) and not saturated
    hits, total = (now - then for now, then in zip(_row_counts(channel), run.row_marks, strict=True))
    return {
        "pattern": pattern,
        "outstanding_or_rate": "saturating" if outstanding is None and rate is None else rate or outstanding,
        "achieved_over_peak": achieved,
        "saturated": saturated,
        "mean_latency_ns": sum(latencies) / len(latencies) * nanoseconds if known else None,
        "p99_latency_ns": latencies[len(latencies) * 99 // 100] * nanoseconds if known else None,
        "max_latency_ns": latencies[-1] * nanoseconds if known else None,
        "row_hit_rate": hits / total if total else None,
        "turnarounds": sum(part.turnarounds for part in parts),
        "activates": sum(part.activates for part in parts),
        "refreshes": sum(part.refreshes for part in parts),
        "requests": sum(part.reads + part.writes for part in parts),
    }
