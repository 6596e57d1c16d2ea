"""The moving state of an SM and of the grid launcher, declared once, as plain fields.

Integers, lists, dictionaries and other declared records only: no closures, no generators, so that a
checkpoint can write them down and the compiled engine can lay them out as record arrays. Cycles are the SM's
own; times are femtoseconds. Behaviour is in `reference/`; the state of L2, crossbar and DRAM stands in files
of its own beside this one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.statistics.phases import NO_INSTRUCTION, PHASES

if TYPE_CHECKING:
    from simulator.machine.program import Decoded, Program
    from simulator.trace.cursor import WarpCursor

REGISTER_NAMES = 263
"""0–254 general, 255 RZ, 256–262 predicates."""

SHORT_PENDING = 1 << 60
LONG_PENDING = 1 << 61
"""Ready cycles of a register whose write-back is not yet known: what kind of unit will bring it."""


@dataclass(slots=True, eq=False)
class Block:
    """A resident thread block."""

    kernel: int
    index: int
    sub_cores: list[int]
    live: int
    """Warps that have not ended their drain."""
    running: int
    """Warps that have not exited: those a barrier waits for."""
    start: int = 0
    """The cycle in which its SM took it in."""
    arrived: dict[int, list[Warp]] = field(default_factory=dict)
    """Barrier id → warps that wait there."""


@dataclass(slots=True, eq=False)
class Warp:
    """A resident warp."""

    slot: int
    sub_core: int
    age: int
    """Launch order on this SM: the smaller, the older."""
    kernel: int
    block: Block
    cursor: WarpCursor
    program: Program
    index_in_block: int
    next: Decoded | None
    """The next instruction to issue; None once the program has ended."""
    ready: list[int] = field(default_factory=lambda: [0] * REGISTER_NAMES)
    """Cycle at which each register can be read; the PENDING values until a memory instruction returns."""
    state: int = NO_INSTRUCTION
    since: int = 0
    """Cycle from which `state` has not yet been accounted."""
    fetch_ready: int = 0
    """Cycle at which the next instruction is in the instruction buffer."""
    fetch_line: int = -1
    branch_ready: int = 0
    """Cycle at which a taken branch is resolved."""
    loads: int = 0
    """Loads, atomics and asynchronous copies that have not returned."""
    unsent: int = 0
    """Stores that have not been handed to the crossbar (or to shared memory)."""
    unacknowledged: int = 0
    """Store and reduction packets whose acknowledgement is out."""
    open_copies: AsyncGroup | None = None
    """Asynchronous copies that no commit has closed yet."""
    groups: deque[AsyncGroup] = field(default_factory=deque)
    exited: bool = False
    ended: bool = False
    """Drained and gone: no longer resident."""
    listed: bool = False
    """Whether it stands in its sub-core's list of candidates."""
    parked: bool = False
    """At a barrier, at a fence or exited: only a release brings it back."""
    short: dict[int, int] = field(default_factory=dict)
    """Register → ready cycle of its latest special-function result (those count as short scoreboard)."""
    origin: dict[int, list[int]] = field(default_factory=dict)
    """Register → [latency in fs of what brought its value, operators that have consumed it as a bit mask]."""


@dataclass(slots=True, eq=False)
class AsyncGroup:
    """Asynchronous copies committed together."""

    pending: int = 0


@dataclass(slots=True, eq=False)
class Request:
    """A warp memory instruction on its way, from issue to write-back."""

    warp: Warp
    decoded: Decoded
    issue: int
    """Cycle of issue."""
    order: int
    """Sequence on this SM: breaks ties of age."""
    mask: int
    base: int
    offsets: tuple[int, ...]
    access_class: int
    ready: int = 0
    """First cycle at which the load/store unit may take it."""
    picked: int = 0
    lines: list[LinePart] = field(default_factory=list)
    """Lines still to be looked up, last first (so that pop takes the lowest)."""
    passes: int = 0
    parts: int = 0
    """Lines or packets that are on their way."""
    hit_ready: int = 0
    """Cycle at which what L1 held is read."""
    last_fs: int = -1
    """Arrival of the latest part so far, and the record of its phases."""
    last_line: int = -1
    phases: list[int] | None = None
    group: AsyncGroup | None = None


@dataclass(slots=True)
class LinePart:
    """What a warp request wants of one 128-byte line."""

    line: int
    sectors: int
    full: int
    """Stores: sectors that are written whole."""
    lanes: int
    """Active lanes that start in this line."""


@dataclass(slots=True, eq=False)
class Mshr:
    """A miss on its way: one request packet, the sectors it will bring, and who waits."""

    line: int
    sectors: int
    """Sectors that have not arrived."""
    fills: bool
    """Whether what arrives is kept in L1."""
    since_fs: int
    waiters: list[Waiter] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Waiter:
    """A part of a warp request (one line) that waits for sectors."""

    request: Request
    line: int
    sectors: int
    own: int
    """Token of its own packet, -1 if it only merged behind earlier misses."""
    looked_up: int
    """Cycle of the tag look-up."""


@dataclass(slots=True, eq=False)
class Line:
    """One L1 line."""

    line: int
    valid: int = 0
    pending: int = 0
    dirty: int = 0
    stamp: int = 0
    kernel: int = 0


@dataclass(slots=True)
class KernelProgress:
    """What the launcher knows of one kernel."""

    index: int
    stream: int
    blocks: int
    warps: int
    registers_per_warp: int
    shared_bytes: int
    barriers: int
    carveout_bytes: int
    next_block: int = 0
    done: int = 0
    start_fs: int = -1
    end_fs: int = 0
    blocked: list[int] = field(default_factory=list)
    """Limiters that held the next block back when the launcher last looked."""
    blocked_since: int = 0


@dataclass(slots=True)
class SmBook:
    """What the launcher has left to give on one SM."""

    free_warps: list[int]
    free_registers: list[int]
    free_blocks: int
    free_barriers: int
    carveout_bytes: int
    free_shared: int
    resident: int = 0


def new_phases() -> list[int]:
    """A request's phase record, all zero."""
    return [0] * len(PHASES)
