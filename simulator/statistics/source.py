"""One view of a finished run from which all tables are made: the record, the launch headers, the card, the
labels.

One record, several views: no table has a number that another table counted again. Cycles are edges of the
SM clock that lie in a span, so the cycles of kernels and of the gaps between them add up to the whole run
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.statistics.facts import CardFacts, KernelHeader, unique_labels
from simulator.statistics.record import KernelRecord, RunRecord
from simulator.statistics.sample import WHOLE, Sampling
from simulator.statistics.schema import INDEX

SECTOR_BYTES = 32
FS_PER_US = 10**9


@dataclass(frozen=True, slots=True)
class Source:
    """What every table function takes."""

    record: RunRecord
    headers: tuple[KernelHeader, ...]
    card: CardFacts
    variant: str
    sampling: Sampling = WHOLE

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each launch that no other launch has."""
        return unique_labels(self.headers)

    def begun(self, place: int) -> bool:
        """Whether the run reached the kernel's first cycle: one that a limit kept from it took no time."""
        kernel = self.record.kernels[place]
        return not self.record.partial or kernel.end_fs > kernel.start_fs

    def cut(self, place: int) -> bool:
        """Whether a limit ended the run before all blocks of the kernel were done."""
        done = count(self.record.kernels[place], "blocks")
        return self.record.partial and done < self.headers[place].grid_blocks

    def edge(self, time_fs: int) -> int:
        """The number of the first SM clock edge at or after a time."""
        return -(-time_fs // self.record.sm_period_fs)

    def cycles(self, start_fs: int, end_fs: int) -> int:
        """SM clock edges in [start, end)."""
        return self.edge(end_fs) - self.edge(start_fs)

    def kernel_cycles(self, kernel: KernelRecord) -> int:
        """SM cycles from launch to the last block's drain."""
        return self.cycles(kernel.start_fs, kernel.end_fs)

    def prefix(self, place: int) -> dict[str, object]:
        """The leading columns of most tables: gpu, variant, kernel."""
        return {"gpu": self.record.gpu_name, "variant": self.variant, "kernel": self.labels[place]}


def count(kernel: KernelRecord, *names: str) -> int:
    """The sum of some counters of a kernel."""
    return sum(kernel.counts[INDEX[name]] for name in names)


def ratio(part: float, whole: float) -> float:
    """Part / whole, or not-a-number where there is nothing to divide by (an empty cell of a table)."""
    return part / whole if whole else float("nan")
