"""One method for each instruction that a person writes often, named as in SASS; `KernelBuilder` inherits
them.

Registers are numbers; a 64-bit address is the pair that starts at `via`, and a vector operand the
consecutive registers from the one that is named. Whatever has no method here goes through `emit`.
"""

from typing import Any

from hwmodels.operations import Operation
from simulator.trace.expression import Expression
from simulator.trace.schema import FIRST_PREDICATE, RZ


def vector(first: int, bytes_per_lane: int) -> tuple[int, ...]:
    """The consecutive registers that hold so many bytes."""
    return tuple(range(first, first + max(1, bytes_per_lane // 4)))


class Assembly:
    """Shorthands over `emit`."""

    def emit(self, operation: Operation, dst: Any = (), src: Any = (), **fields: Any) -> None:
        """Append one instruction; `KernelBuilder` says how."""
        raise NotImplementedError

    def s2r(self, dst: int) -> None:
        """Read a special register (thread or block index)."""
        self.emit(Operation.S2R, dst)

    def move(self, dst: int, src: int = RZ) -> None:
        """Copy a register or load a constant."""
        self.emit(Operation.MOVE, dst, src)

    def alu(self, dst: int, *src: int) -> None:
        """Integer add, logic, shift, or select."""
        self.emit(Operation.ALU, dst, src)

    def imad(self, dst: int, *src: int) -> None:
        """Integer multiply-add."""
        self.emit(Operation.IMAD, dst, src)

    def wide(self, dst: int, *src: int) -> None:
        """Integer multiply-add with a 64-bit result in dst, dst + 1: how compilers make an address."""
        self.emit(Operation.IMAD, (dst, dst + 1), src)

    def setp(self, predicate: int, *src: int) -> None:
        """Compare into predicate 0 to 6."""
        self.emit(Operation.PREDICATE, FIRST_PREDICATE + predicate, src)

    def fadd(self, dst: int, *src: int) -> None:
        """FP32 add."""
        self.emit(Operation.FADD, dst, src)

    def fmul(self, dst: int, *src: int) -> None:
        """FP32 multiply."""
        self.emit(Operation.FMUL, dst, src)

    def ffma(self, dst: int, *src: int) -> None:
        """FP32 fused multiply-add."""
        self.emit(Operation.FFMA, dst, src)

    def load(
        self, dst: int, address: Expression, bytes_per_lane: int = 4, via: int = RZ, **fields: Any
    ) -> None:
        """LDG: global memory to registers, `bytes_per_lane` from `address` of each lane."""
        registers = vector(dst, bytes_per_lane)
        self.emit(
            Operation.LDG, registers, pair(via), address=address, bytes_per_lane=bytes_per_lane, **fields
        )

    def store(
        self, src: int, address: Expression, bytes_per_lane: int = 4, via: int = RZ, **fields: Any
    ) -> None:
        """STG: registers to global memory."""
        registers = pair(via) + vector(src, bytes_per_lane)
        self.emit(Operation.STG, (), registers, address=address, bytes_per_lane=bytes_per_lane, **fields)

    def load_shared(
        self, dst: int, address: Expression, bytes_per_lane: int = 4, via: int = RZ, **fields: Any
    ) -> None:
        """LDS: shared memory to registers."""
        registers = vector(dst, bytes_per_lane)
        self.emit(Operation.LDS, registers, via, address=address, bytes_per_lane=bytes_per_lane, **fields)

    def store_shared(
        self, src: int, address: Expression, bytes_per_lane: int = 4, via: int = RZ, **fields: Any
    ) -> None:
        """STS: registers to shared memory."""
        registers = (via, *vector(src, bytes_per_lane))
        self.emit(Operation.STS, (), registers, address=address, bytes_per_lane=bytes_per_lane, **fields)

    def copy_async(
        self,
        address: Expression,
        shared_address: Expression,
        bytes_per_lane: int = 16,
        via: int = RZ,
        **fields: Any,
    ) -> None:
        """LDGSTS: global memory straight to shared memory."""
        self.emit(
            Operation.LDGSTS,
            (),
            pair(via),
            address=address,
            shared_address=shared_address,
            bytes_per_lane=bytes_per_lane,
            **fields,
        )

    def async_commit(self) -> None:
        """Close the group of asynchronous copies."""
        self.emit(Operation.ASYNC_COMMIT)

    def async_wait(self, open_groups: int = 0) -> None:
        """Wait until at most so many groups are still open."""
        self.emit(Operation.ASYNC_WAIT, count=open_groups)

    def barrier(self, barrier: int = 0) -> None:
        """Wait for all warps of the block."""
        self.emit(Operation.BARRIER, count=barrier)

    def branch(self, predicate: int | None = None, *, taken: bool = False) -> None:
        """A branch, on a predicate 0 to 6 or unconditional."""
        self.emit(Operation.BRANCH, (), () if predicate is None else FIRST_PREDICATE + predicate, taken=taken)

    def exit(self, predicate: int | None = None) -> None:
        """End the lanes that are active here."""
        self.emit(Operation.EXIT, (), () if predicate is None else FIRST_PREDICATE + predicate)


def pair(first: int) -> tuple[int, ...]:
    """The two registers of a 64-bit address; RZ stands for an address that is in a constant."""
    return (RZ,) if first == RZ else (first, first + 1)
