"""What a group costs: femtoseconds of its kernels and of the launch gaps that they need, with the numbers
that explain it.

Two starts of one stream are apart by the kernel and the gap, or by the host's pace where that is more; so the
times of kernels in a row simply add up. Which rung of the cost ladder gave the time is said, and how far it
may be off by its own account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hwmodels import Gpu
from simulator.fusion.legality import Refusal

FS_PER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class KernelCost:
    """One kernel by one rung: time without its launch, bytes between L2 and DRAM, hit rates and occupancy in
    per cent where the rung knows them, and the bound of its own error in millionths.
    """

    time_fs: int
    cycles: int
    dram_bytes: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    blocks_per_sm: int
    occupancy_pct: float
    l1_hit_pct: float | None = None
    l2_hit_pct: float | None = None
    error_ppm: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """A group's kernels by one rung. `refusal` is set where the card can't run it; then it has no cost."""

    rung: str
    total_fs: int
    kernels: tuple[KernelCost, ...]
    refusal: Refusal | None = None

    @property
    def kernel_fs(self) -> int:
        """Time in kernels alone."""
        return sum(kernel.time_fs for kernel in self.kernels)

    @property
    def cycles(self) -> int:
        """SM cycles in kernels."""
        return sum(kernel.cycles for kernel in self.kernels)

    @property
    def dram_bytes(self) -> int:
        """Bytes between L2 and DRAM."""
        return sum(kernel.dram_bytes for kernel in self.kernels)

    @property
    def error_ppm(self) -> int:
        """The worst bound of a kernel."""
        return max((kernel.error_ppm for kernel in self.kernels), default=0)

    def plain(self) -> dict[str, Any]:
        """The price as plain values."""
        return asdict(self)

    @classmethod
    def of_plain(cls, values: dict[str, Any]) -> Price:
        """The price of `plain`."""
        refusal = values["refusal"]
        return cls(
            values["rung"],
            values["total_fs"],
            tuple(KernelCost(**kernel) for kernel in values["kernels"]),
            None if refusal is None else Refusal(**refusal),
        )


def total_of(kernels: Sequence[KernelCost], gpu: Gpu, launch: str) -> int:
    """Time from start to start of a row of kernels."""
    return sum(spacing_fs(kernel.time_fs, gpu, launch) for kernel in kernels)


def spacing_fs(kernel_fs: int, gpu: Gpu, launch: str) -> int:
    """From a kernel's start to the next one's in its stream."""
    if launch == "graph":
        return kernel_fs + gpu.launch.graph_gap_ns * FS_PER_NS
    return max(kernel_fs + gpu.launch.stream_gap_ns * FS_PER_NS, gpu.launch.host_period_ns * FS_PER_NS)
