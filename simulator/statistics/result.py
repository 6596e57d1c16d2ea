"""The outcome of a replay as a person uses it: seven tables, the totals, and whether everything adds up.

A result is made from the raw record and keeps nothing else but launch headers and peak rates, so that it
can be saved whole and loaded without traces or card. Making it from a complete run checks every identity
and raises a ResultError that names the first violation; a run cut short by a limit is marked `partial` and
is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from hwmodels.errors import InputError, unknown
from simulator.statistics import archive, identities
from simulator.statistics.facts import CardFacts, KernelHeader, headers_of
from simulator.statistics.files import make_folder, write_text
from simulator.statistics.record import RunRecord
from simulator.statistics.sample import WHOLE, ReplayedPart, Sampling
from simulator.statistics.source import FS_PER_US, SECTOR_BYTES, Source, count, ratio
from simulator.statistics.tables import TABLES, frame

if TYPE_CHECKING:
    from hwmodels.gpu import Gpu
    from simulator.trace.schema import KernelTrace


class Result:
    """One replay on one card. The files `tables_*.py` beside this one say what the columns mean."""

    def __init__(
        self,
        record: RunRecord,
        kernels: Sequence[KernelTrace | KernelHeader],
        gpu: Gpu | CardFacts,
        variant: str = "replay",
        *,
        verify: bool = True,
        sampling: Sampling = WHOLE,
    ) -> None:
        headers = headers_of(kernels)
        # What a sample was carried on to is an estimate: the runs behind it were checked one by one.
        if verify and not sampling.kernels:
            identities.require(record, [header.grid_blocks for header in headers])
        card = gpu if isinstance(gpu, CardFacts) else CardFacts.of(gpu)
        self.source = Source(record, headers, card, variant, sampling)

    @property
    def record(self) -> RunRecord:
        """Everything as the engine counted it."""
        return self.source.record

    @property
    def card(self) -> CardFacts:
        """Peak rates and sizes of the card."""
        return self.source.card

    @property
    def variant(self) -> str:
        """The label in the tables' `variant` column."""
        return self.source.variant

    @property
    def partial(self) -> bool:
        """Whether a limit ended the run before its traces were done."""
        return self.record.partial

    @property
    def sampling(self) -> Sampling:
        """Which launches are extrapolated, from how many blocks, within which bound."""
        return self.source.sampling

    def named(self, variant: str) -> Result:
        """The same result under another label."""
        source = self.source
        return Result(
            self.record, source.headers, source.card, variant, verify=False, sampling=source.sampling
        )

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """One row a launch."""
        return frame("kernels", self.source)

    @cached_property
    def stalls(self) -> pd.DataFrame:
        """Warp-cycles of each kernel by warp state."""
        return frame("stalls", self.source)

    @cached_property
    def latency(self) -> pd.DataFrame:
        """SM cycles of memory requests by kernel, kind of access and phase."""
        return frame("latency", self.source)

    @cached_property
    def occupancy(self) -> pd.DataFrame:
        """Limits of residency by kernel."""
        return frame("occupancy", self.source)

    @cached_property
    def traffic(self) -> pd.DataFrame:
        """Requests, sectors and bytes by kernel, level and operation."""
        return frame("traffic", self.source)

    @cached_property
    def energy(self) -> pd.DataFrame:
        """Microjoules by kernel and level."""
        return frame("energy", self.source)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Counters and states over time."""
        return frame("intervals", self.source)

    @cached_property
    def identities(self) -> pd.DataFrame:
        """Every identity with both of its sides: name, kernel (-1: the run), left, right, holds.

        Of a sampled result those of the runs that it was made from.
        """
        blocks = tuple(header.grid_blocks for header in self.source.headers)
        parts = self.sampling.parts or (ReplayedPart(self.record, blocks),)
        rows = [
            (*balance, balance.holds)
            for part in parts
            for balance in identities.balances(part.record, part.blocks)
        ]
        return pd.DataFrame(rows, columns=["name", "kernel", "left", "right", "holds"])

    @cached_property
    def cycles(self) -> int:
        """SM cycles in which a kernel ran: launch gaps are left out, kernels side by side count once."""
        spans = sorted(
            (self.source.edge(one.start_fs), self.source.edge(one.end_fs)) for one in self.record.kernels
        )
        total = reached = 0
        for start, end in spans:
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total

    @property
    def launch_cycles(self) -> int:
        """SM cycles from the start to the end of the last kernel in which no kernel ran."""
        return self.source.edge(self._end_fs) - self.cycles

    @property
    def time_us(self) -> float:
        """From the start to the end of the last kernel, gaps included."""
        return self._end_fs / FS_PER_US

    @property
    def _end_fs(self) -> int:
        return max((kernel.end_fs for kernel in self.record.kernels), default=0)

    @property
    def dram_bytes(self) -> int:
        """Bytes that went between L2 and DRAM while the run lasted; what stays dirty in caches did not."""
        return sum(
            SECTOR_BYTES * count(one, "dram_read_sectors", "dram_write_sectors")
            for one in self.record.kernels
        )

    @property
    def warp_instructions(self) -> int:
        """Warp instructions of all kernels."""
        return sum(count(one, "warp_instructions") for one in self.record.kernels)

    @property
    def mean_access_latency_cycles(self) -> float:
        """SM cycles of operators' accesses to their inputs; not a number where none was marked."""
        spent_fs = sum(count(one, "access_fs") for one in self.record.kernels)
        accesses = sum(count(one, "access_count") for one in self.record.kernels)
        return ratio(spent_fs, accesses * self.record.sm_period_fs)

    def save(self, folder: str | Path) -> Path:
        """Write the seven tables as CSV, and the raw record, which `load` reads back whole."""
        target = Path(folder)
        make_folder(target)
        for name in TABLES:
            write_text(target / f"{name}.csv", frame(name, self.source).to_csv(index=False))
        archive.write(target, [self.source])
        return target

    @classmethod
    def load(cls, folder: str | Path, gpu: str | None = None, variant: str | None = None) -> Result:
        """A saved result; a folder with several needs the card and the variant of the one that is meant."""
        results = load_all(folder)
        chosen = [
            one for one in results if gpu in {None, one.record.gpu_name} and variant in {None, one.variant}
        ]
        if len(chosen) == 1:
            return chosen[0]
        names = [f"{one.record.gpu_name}/{one.variant}" for one in results]
        if chosen:
            raise InputError(
                str(folder), f"holds {len(chosen)} such results", f"name one of {', '.join(names)}"
            )
        raise unknown(str(folder), "result", f"{gpu or '*'}/{variant or '*'}", names)

    def __repr__(self) -> str:
        return (
            f"<Result {self.record.gpu_name}, {self.variant}: {self.cycles:,} SM cycles in kernels, "
            f"{self.launch_cycles:,} in launch gaps, {self.time_us:,.1f} µs>"
        )

    def _repr_html_(self) -> str:
        shown = [
            "kernel",
            "cycles",
            "launch_cycles",
            "time_us",
            "dram_read_bytes",
            "dram_write_bytes",
            "bound",
        ]
        state = ("partial, " if self.partial else "") + ("sampled, " if self.sampling.extrapolated else "")
        title = (
            f"<p><b>{escape(self.record.gpu_name)}</b>, {escape(self.variant)}: {state}"
            f"{self.cycles:,} SM cycles in kernels, {self.launch_cycles:,} in launch gaps, "
            f"{self.time_us:,.1f} µs</p>"
        )
        return title + self.kernels[shown].to_html(index=False, float_format="{:,.2f}".format)


def load_all(folder: str | Path) -> list[Result]:
    """All results of a folder, in the order in which they were written."""
    return [
        Result(
            source.record, source.headers, source.card, source.variant, verify=False, sampling=source.sampling
        )
        for source in archive.read(Path(folder))
    ]
