"""What is kept of a sampled replay beside its extrapolated record: which part of each kernel ran, how far the
cycles may be off, and the record of that part.

The extrapolated record is an estimate and is not judged. The record of each run that it was made from is
exact, and every identity has been checked on it; meters, intervals and requests are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.statistics.record import RunRecord

PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class KernelSample:
    """One launch of a sampled replay."""

    replayed_blocks: int
    """Blocks of the longest run that was made of the kernel; the whole grid if it was not sampled."""
    grid_blocks: int
    error_ppm: int
    """The stated bound of the error of its cycles, in millionths of them.

    Where the whole grid ran, what it may owe to kernels before it that did not.
    """
    reason: str
    """Why the whole grid ran; empty where it was sampled."""

    @property
    def sampled(self) -> bool:
        """Whether its numbers are extrapolated."""
        return self.replayed_blocks < self.grid_blocks


@dataclass(frozen=True, slots=True)
class ReplayedPart:
    """One run that a sampled replay was made from: its record, and the blocks of each of its launches."""

    record: RunRecord
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sample of every launch, and the runs that were made."""

    tolerance_ppm: int
    kernels: tuple[KernelSample, ...]
    parts: tuple[ReplayedPart, ...]

    @property
    def extrapolated(self) -> bool:
        """Whether anything is extrapolated."""
        return any(kernel.sampled for kernel in self.kernels)


WHOLE = Sampling(0, (), ())
"""Nothing was sampled: the record is that of one complete run."""
