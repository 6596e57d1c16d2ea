"""What is kept of a profile: devices, kernels with how they were launched, and the operators that launched
them.

Times are whole nanoseconds since an origin that only the profiler knows; sizes are bytes.
"""

from dataclasses import dataclass, field

Shape = tuple[int, ...]
Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as the profiler described it."""

    number: int
    name: str
    capability: str
    sm_count: int
    memory_bytes: int = 0
    """0: not stated."""


@dataclass(frozen=True, slots=True)
class ProfiledOperator:
    """A framework's operator on the CPU. `shapes` and `types` are those of its inputs, () where unknown."""

    name: str
    start_ns: int
    end_ns: int
    external_id: int | None
    shapes: tuple[Shape, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """The call on the CPU that launched a kernel."""

    name: str
    start_ns: int
    duration_ns: int
    thread: tuple[str, str]
    external_id: int | None = None


@dataclass(frozen=True, slots=True)
class ProfiledKernel:
    """One run of a kernel. `place` says where in the file it stands."""

    name: str
    place: str
    device: int
    stream: int
    start_ns: int
    duration_ns: int
    grid: Extent
    block: Extent
    registers: int
    shared_bytes: int
    occupancy_pct: float | None
    correlation: int
    external_id: int | None = None
    launch: Launch | None = None
    operator: ProfiledOperator | None = None

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def end_ns(self) -> int:
        """When it ended."""
        return self.start_ns + self.duration_ns


@dataclass(slots=True)
class Profile:
    """A PyTorch profiler trace. Kernels stand in the order of their starts."""

    path: str
    devices: dict[int, Device] = field(default_factory=dict)
    kernels: list[ProfiledKernel] = field(default_factory=list)
    events: int = 0
    copies: int = 0
    """Copies and fills by the driver, which are no kernels."""
