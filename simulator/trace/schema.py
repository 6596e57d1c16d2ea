"""The waist: what a kernel trace is, as frozen plain data that workloads write and engines read.

A trace is a header (grid, block, resources, operators, tensors) and either a generated program with loops
and quasi-affine addresses, or a recording of warp instructions with their addresses. Control flow is by
warp: lanes are switched off by masks and guards, never sent elsewhere. Values are not part of a trace, only
where they come from and go to.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hwmodels.operations import Operation
from simulator.trace.expression import Expression

if TYPE_CHECKING:
    from simulator.trace.cursor import WarpCursor
    from simulator.trace.flat import FlatProgram
    from simulator.trace.recording import Recording

LANES = 32
FULL_MASK = 0xFFFFFFFF
RZ = 255  # reads as zero and takes no result, so nothing ever waits for it
FIRST_PREDICATE = 256
PREDICATES = 7
REGISTER_NAMES = FIRST_PREDICATE + PREDICATES
ADDRESS_LIMIT = 1 << 48
TENSOR_KINDS = ("input", "weight", "intermediate", "output")
CACHE_OPERATORS = ("ca", "cg", "cs", "cv", "lu", "wb", "wt")


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor that the kernel touches: its size and place in global memory, its kind of TENSOR_KINDS."""

    name: str
    bytes: int
    base_address: int = 0
    kind: str = "intermediate"


@dataclass(frozen=True, slots=True)
class Guard:
    """A predicate in closed form: a lane is active where low <= expression < high."""

    expression: Expression
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One static warp instruction.

    Registers are 0–254, 255 = RZ, 256–262 = P0–P6; a vector operand lists every register. Guards are ANDed
    with `mask`. `address` is the byte address of each lane (in the thread's own local memory for LDL and
    STL, without LANE terms); `shared_address` is the destination of LDGSTS. `src_tensors` runs parallel to
    `src` (-1: no tensor). `latency` is for OPAQUE, in SM cycles. `count` is the barrier's id, or for
    ASYNC_WAIT the groups that may stay open.
    """

    operation: Operation
    dst: tuple[int, ...] = ()
    src: tuple[int, ...] = ()
    mask: int = FULL_MASK
    guards: tuple[Guard, ...] = ()
    address: Expression | None = None
    bytes_per_lane: int = 0
    shared_address: Expression | None = None
    cache: str = "ca"
    operator: int = -1
    dst_tensor: int = -1
    src_tensors: tuple[int, ...] = ()
    latency: int = 0
    count: int = 0
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A body repeated `trips` times (no LANE terms, clamped at 0). A trip count of 0 or 1 serves as a
    warp-uniform "if".

    The back-branch is an explicit BRANCH at the end of the body, taken on all turns but the last.
    """

    trips: Expression
    body: tuple["Instruction | Loop", ...]


@dataclass(frozen=True, slots=True)
class Program:
    """What every warp of a generated kernel runs; each warp ends with EXITs that cover all its lanes."""

    body: tuple[Instruction | Loop, ...]


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """One kernel launch: header and program or recording.

    Sizes in bytes; `grid` and `block` are (x, y, z). `barrier_warps[b]` is how many warps of a block meet at
    barrier b; 0, or nothing, means all that have not exited.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers_per_thread: int
    shared_bytes_per_block: int = 0
    local_bytes_per_thread: int = 0
    barriers: int = 0
    stream: int = 0
    operators: tuple[str, ...] = ()
    tensors: tuple[TensorInfo, ...] = ()
    form: str = "generated"
    program: Program | None = None
    recording: "Recording | None" = None
    meta: tuple[tuple[str, str], ...] = ()
    barrier_warps: tuple[int, ...] = ()
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def blocks(self) -> int:
        """Thread blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        """Warps of one block; the last may have lanes that were never launched."""
        return -(-self.threads_per_block // LANES)

    def warps_meeting(self, barrier: int) -> int:
        """Warps of a block that meet at a barrier; 0: all that have not exited."""
        return self.barrier_warps[barrier] if barrier < len(self.barrier_warps) else 0

    def launched_mask(self, warp: int) -> int:
        """The lanes of `warp` that exist."""
        lanes = self.threads_per_block - LANES * warp
        return FULL_MASK if lanes >= LANES else (1 << lanes) - 1

    def block_index(self, block: int) -> tuple[int, int, int]:
        """The (x, y, z) of a linear block number."""
        x, y, _ = self.grid
        return block % x, block // x % y, block // (x * y)

    def flat(self) -> "FlatProgram":
        """The static instructions as parallel lists, made once for a trace."""
        from simulator.trace.flat import flatten

        if "flat" not in self.derived:
            self.derived["flat"] = flatten(self)
        flat: FlatProgram = self.derived["flat"]
        return flat

    def cursor(self, block: int, warp: int) -> "WarpCursor":
        """A walk over the dynamic instructions of one warp."""
        from simulator.trace.cursor import open_cursor

        return open_cursor(self, block, warp)
