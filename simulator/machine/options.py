"""What a replay may be asked for besides traces and a card; both engines take the same record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.checkpoint.file import Checkpoint
    from simulator.machine.checkpoint.keeper import Keeper


@dataclass(frozen=True, slots=True)
class Preload:
    """Sectors that are in L2 before the first kernel: bytes [base, base + bytes)."""

    base_address: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of one replay."""

    launch: str = "stream"
    """"stream" or "graph": which of the card's launch gaps stands between kernels of a stream."""
    interval_cycles: int = 10_000
    """Length of the intervals over time, in SM cycles; 0 switches them off."""
    preload: tuple[Preload, ...] = ()
    max_cycles: int | None = None
    """Stop before this SM cycle and mark the result partial."""
    max_seconds: float | None = None
    """Stop when the replay has taken this long and mark the result partial."""
    threads: int = 1
    """Compiled engine: threads that share the work; no number depends on it. Runs that keep requests or write
    checkpoints are done by one."""
    keep_requests: bool = False
    """Keep the finish time and phases of every warp request."""
    keep_blocks: int = 0
    """Keep place and time of this many blocks of each kernel, from the grid's first on."""
    progress: Callable[[float, int], None] | None = None
    """Called now and then with (share of the blocks done, SM cycle)."""
    keeper: Keeper | None = None
    """Writes checkpoints when that is wished, and when a limit comes first."""
    resume: Checkpoint | None = None
    """Where to go on from; it has been found to fit these traces, card and options."""
    priority: Callable[[], int] | None = None
    """Reference engine, tests only: SimPy priority of each event, to shuffle simultaneous ones."""
    reverse_build: bool = False
    """Reference engine, tests only: build the parts in reverse order."""
