"""The raw outcome of one replay: what an engine counted, before anything is divided or named for people.

Both engines fill the same record, and two runs are equal exactly when their records are. All numbers are
integers: times in femtoseconds, cycles of the SM clock where a name says so. Tables, percentages and
identities are made from it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.statistics.phases import ACCESS_CLASSES, PHASES, STATES
from simulator.statistics.schema import COUNTERS, DRAM_COUNTERS

LIMITERS: tuple[str, ...] = ("registers", "shared_memory", "warps", "blocks", "barriers")
"""What a block needs of an SM, in the order of all lists by limiter."""
REGISTERS, SHARED, WARPS, BLOCKS, BARRIERS = range(len(LIMITERS))


@dataclass(slots=True)
class KernelRecord:
    """Everything counted for one kernel launch."""

    index: int
    name: str
    stream: int
    start_fs: int = 0
    """When its first block could be dispatched: the end of the launch gap."""
    end_fs: int = 0
    """When its last block had drained; of a kernel that a limit cut short, the stop."""
    launch_fs: int = 0
    """The gap before `start_fs`, since the kernel before it in its stream ended (or since the start)."""
    blocks_per_sm: int = 0
    carveout_bytes: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * len(COUNTERS))
    states: list[int] = field(default_factory=lambda: [0] * len(STATES))
    """Warp-cycles in each state."""
    requests: list[int] = field(default_factory=lambda: [0] * len(ACCESS_CLASSES))
    """Finished warp requests of each access class."""
    phases: list[list[int]] = field(default_factory=lambda: [[0] * len(PHASES) for _ in ACCESS_CLASSES])
    """Femtoseconds of each phase, summed over the finished requests of a class."""
    latency_fs: list[int] = field(default_factory=lambda: [0] * len(ACCESS_CLASSES))
    """Their latencies, summed from issue and finish times alone: an identity holds it to the phases."""
    operations: list[int] = field(default_factory=list)
    """Warp instructions issued of each Operation (its integer value is the place)."""
    limits: list[int] = field(default_factory=lambda: [0] * len(LIMITERS))
    """Blocks that an SM could hold by each limiter alone (0: not limited by it)."""
    launch_blocked_cycles: list[int] = field(default_factory=lambda: [0] * len(LIMITERS))
    """SM cycles in which blocks waited for this resource."""


@dataclass(slots=True)
class IntervalRecord:
    """What one kernel did in [start_fs, end_fs)."""

    kernel: int
    start_fs: int
    end_fs: int
    counts: list[int]
    states: list[int]


@dataclass(slots=True)
class MeterRecord:
    """A queue's occupancy integral and the waits of its items, kept apart: Little's law says they are
    equal.
    """

    name: str
    area: int
    waits: int
    items: int
    left: int
    """Items still inside at the end."""


@dataclass(slots=True)
class RequestRecord:
    """One finished warp request, kept only when an observer asks for it."""

    kernel: int
    sm: int
    warp_slot: int
    access_class: int
    issue_fs: int
    finish_fs: int
    phases: list[int]


@dataclass(slots=True)
class BlockRecord:
    """Where and when one block lived, kept only when an observer asks for it."""

    kernel: int
    index: int
    sm: int
    start_fs: int
    """When the SM took it in."""
    end_fs: int
    """When its last warp had drained and the SM let it go."""


@dataclass(slots=True)
class RunRecord:
    """One replay on one machine."""

    engine: str
    gpu_name: str
    gpu_digest: str
    sm_count: int
    sm_period_fs: int
    kernels: list[KernelRecord]
    end_fs: int = 0
    """When the last kernel ended, or the stop where a limit came first."""
    sm_active_cycles: list[int] = field(default_factory=list)
    """Of each SM: cycles with at least one resident warp."""
    dram: list[int] = field(default_factory=lambda: [0] * len(DRAM_COUNTERS))
    intervals: list[IntervalRecord] = field(default_factory=list)
    meters: list[MeterRecord] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)
    blocks: list[BlockRecord] = field(default_factory=list)
    """In the order in which the launcher learned of their ends."""
    in_flight: list[str] = field(default_factory=list)
    """What was unfinished at the end; empty after a complete run."""
    expected_instructions: list[int] = field(default_factory=list)
    """Of each kernel: the warp instructions that its trace holds (-1: not counted beforehand)."""
    partial: bool = False
    """Ended by a limit before the traces were done."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
