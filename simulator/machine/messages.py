"""What travels on the links between components: memory packets, credits, block launches and their ends.

A packet is one crossbar transaction: a request for some sectors of one 128-byte line, or a reply with at most
64 bytes of it. It carries its own latency record: `mark` charges the time since the last mark to one phase,
so that the phases of a request are adjacent and their sum is its latency by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.statistics.phases import PHASES

# Kinds of messages. Requests and replies travel as Packets; the rest have the payload that the comment gives.
REQUEST = 0  # Packet: SM → crossbar → slice
REPLY = 1  # Packet: slice → crossbar → SM
ACK = 2  # Packet: the acknowledgement of a store or reduction, which takes no port time
SM_CREDIT = 3  # int: packets that left the request network of this SM
SLICE_CREDIT = 4  # (slice, count): places freed in a slice's input queue (slice → crossbar)
REPLY_CREDIT = (
    5  # (slice, whether the replies crossed partitions, count): freed places of a slice's reply FIFO
)
LINK_REQUEST = 6  # Packet: near slice → crossbar → home slice over the partition link
LINK_REPLY = 7  # Packet: home slice → crossbar → near slice over the partition link
LINK_INVALIDATE = 8  # Packet: home slice → crossbar → near slice: drop a stale copy
LAUNCH = 9  # BlockLaunch: launcher → SM
BLOCK_DONE = 10  # BlockDone: SM → launcher

# Operations of a packet.
READ = 0
WRITE = 1
ATOMIC = 2  # returns the old value
REDUCE = 3  # an atomic whose result nobody reads: acknowledged like a store


@dataclass(slots=True)
class Packet:
    """One transaction on one 128-byte line; see the module's text. Times in femtoseconds."""

    operation: int
    sm: int
    line: int
    sectors: int
    """Mask of the line's four 32-byte sectors."""
    full: int
    """Writes: mask of the sectors that are written whole (the others carry byte masks)."""
    payload_bytes: int
    """Data that the packet carries: a store's bytes, a reply's bytes; 0 for a read request."""
    kernel: int
    token: int
    """The requester's own name for it (an MSHR, a store, an atomic)."""
    lanes: int
    """Atomics: lanes that take part; otherwise 0."""
    last_fs: int
    slice: int = -1
    """The slice that it goes to or comes from."""
    near: int = -1
    """The slice of the requester's own partition, when a home slice must answer to it."""
    phases: list[int] = field(default_factory=lambda: [0] * len(PHASES))

    def mark(self, phase: int, now_fs: int) -> None:
        """Charge the time since the last mark to `phase`."""
        self.phases[phase] += now_fs - self.last_fs
        self.last_fs = now_fs


@dataclass(slots=True)
class BlockLaunch:
    """A block for an SM: which one, where its warps go, and the shared-memory configuration of the SM."""

    kernel: int
    block: int
    sub_cores: list[int]
    """Sub-core of each warp, chosen by the launcher, which owns the book-keeping."""
    carveout_bytes: int


@dataclass(slots=True)
class BlockDone:
    """The end of a block: its resources are free once this arrives."""

    kernel: int
    block: int
    sm: int
    sub_cores: list[int]
    start_fs: int
    end_fs: int
