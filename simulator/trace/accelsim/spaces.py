"""Which memory a generic address is in, and what a window of shared or local memory begins with.

The GPU maps a block's shared memory and a thread's local memory into windows of 16 MiB of the generic
address space; the header has their bases. The windows may come in either order, and one ends where the other
begins. An access whose lanes fall into different spaces is refused by the caller: no class of ours is two
accesses.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation, Space

WINDOW_BYTES = 1 << 24
_O = Operation
SPECIAL: dict[Operation, dict[Space, Operation]] = {
    _O.LD: {Space.GLOBAL: _O.LDG, Space.SHARED: _O.LDS, Space.LOCAL: _O.LDL},
    _O.ST: {Space.GLOBAL: _O.STG, Space.SHARED: _O.STS, Space.LOCAL: _O.STL},
    _O.ATOM: {Space.GLOBAL: _O.ATOMG, Space.SHARED: _O.ATOMS},
    _O.REDG: {Space.GLOBAL: _O.REDG, Space.SHARED: _O.ATOMS},
}
"""What a generic operation is once its space is known; a thread has no atomics on its own memory."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The bases of a kernel's windows; 0 where the trace does not say."""

    shared_base: int
    local_base: int

    @property
    def known(self) -> bool:
        """Whether a generic address can be told apart at all."""
        return bool(self.shared_base and self.local_base)

    def base(self, space: Space) -> int:
        """The first generic address of a window."""
        return {Space.SHARED: self.shared_base, Space.LOCAL: self.local_base}.get(space, 0)

    def classify(self, low: int, high: int) -> Space | None:
        """The space of the bytes low <= address < high; None where they straddle two."""
        if self.known:
            for space, base, other in (
                (Space.SHARED, self.shared_base, self.local_base),
                (Space.LOCAL, self.local_base, self.shared_base),
            ):
                end = min(base + WINDOW_BYTES, other) if other > base else base + WINDOW_BYTES
                if base <= low and high <= end:
                    return space
                if low < end and high > base:
                    return None
        return Space.GLOBAL
