"""Loads, stores, asynchronous copies, matrix loads, barriers, shuffles and atomics of a kernel program."""

from hwmodels.operations import Operation
from simulator.workload.emit.index import IndexWriter
from simulator.workload.emit.operands import Flag, Pointer, Scalar
from simulator.workload.ir import Access, Effect, Part


class Emitter(IndexWriter):
    """A writer that knows everything that builders use."""

    def load(
        self,
        pointer: Pointer | Scalar,
        words: int,
        offset: int = 0,
        flag: Flag | None = None,
        tensor: int = -1,
        into: Part | None = None,
        width: int = 0,
        name: str = "",
    ) -> Part:
        """Load 4, 8 or 16 bytes a lane (or `width` of fewer) from global memory, or from shared through a
        32-bit address. Where a flag is false the old value stays.
        """
        part = into if into is not None else self.fresh(words, name or "loaded")
        access = Access((pointer.index + offset).expression(), offset, width or 4 * words)
        operation = Operation.LDG if isinstance(pointer, Pointer) else Operation.LDS
        self.op(operation, Effect.LOAD, (part,), (pointer.part,), (), flag, access=access, dst_tensor=tensor)
        return part

    def store(
        self,
        pointer: Pointer | Scalar,
        value: Part,
        offset: int = 0,
        flag: Flag | None = None,
        tensor: int = -1,
        width: int = 0,
    ) -> None:
        """Store a register group to global memory, or to shared through a 32-bit address."""
        access = Access((pointer.index + offset).expression(), offset, width or 4 * value.words)
        operation = Operation.STG if isinstance(pointer, Pointer) else Operation.STS
        self.op(
            operation, Effect.STORE, (), (pointer.part, value), (), flag, access=access, dst_tensor=tensor
        )

    def copy_async(
        self,
        place: Scalar,
        place_offset: int,
        pointer: Pointer,
        width: int,
        flag: Flag | None = None,
        tensor: int = -1,
        offset: int = 0,
    ) -> None:
        """Global to shared without a stop in registers; zeros where the flag is false."""
        shared = Access((place.index + place_offset).expression(), place_offset, width)
        access = Access((pointer.index + offset).expression(), offset, width)
        cache = "cg" if width == 16 else "ca"
        self.op(
            Operation.LDGSTS,
            Effect.COPY_ASYNC,
            (),
            (place.part, pointer.part),
            (),
            flag,
            access=access,
            shared=shared,
            cache=cache,
            dst_tensor=tensor,
        )

    def load_matrix(
        self, place: Scalar, offset: int, tensor: int = -1, name: str = "", *, transposed: bool = False
    ) -> Part:
        """Four 8 × 8 matrices of halves from shared memory; lane l gives the address of row l % 8 of matrix l
        // 8. A lane gets two neighbours of a row, or of a column where transposed.
        """
        part = self.fresh(4, name)
        access = Access((place.index + offset).expression(), offset, 16)
        self.op(
            Operation.LDSM,
            Effect.LOAD_MATRIX,
            (part,),
            (place.part,),
            (int(transposed),),
            access=access,
            dst_tensor=tensor,
        )
        return part

    def commit(self) -> None:
        """Close the group of asynchronous copies."""
        self.op(Operation.ASYNC_COMMIT, Effect.COMMIT)

    def wait(self, open_groups: int) -> None:
        """Wait until at most that many groups are open."""
        self.op(Operation.ASYNC_WAIT, Effect.WAIT, count=open_groups)

    def barrier(self) -> None:
        """All warps of the block meet."""
        self.op(Operation.BARRIER, Effect.BARRIER)

    def shuffle_xor(self, value: Part, distance: int, name: str = "") -> Part:
        """The value of lane ^ distance."""
        part = self.fresh(1, name)
        self.op(Operation.SHUFFLE, Effect.SHUFFLE_XOR, (part,), (value,), (distance,))
        return part

    def atomic_add(
        self,
        pointer: Pointer | Scalar,
        value: Part,
        offset: int = 0,
        tensor: int = -1,
        flag: Flag | None = None,
    ) -> None:
        """Add a float to global (no result) or shared memory."""
        access = Access((pointer.index + offset).expression(), offset, 4)
        operation = Operation.REDG if isinstance(pointer, Pointer) else Operation.ATOMS
        self.op(
            operation,
            Effect.ATOMIC_ADD,
            (),
            (pointer.part, value),
            (),
            flag,
            access=access,
            dst_tensor=tensor,
        )

    def count(
        self,
        pointer: Pointer | Scalar,
        value: Part,
        offset: int = 0,
        flag: Flag | None = None,
        tensor: int = -1,
    ) -> None:
        """Add an integer to global (no result) or shared memory."""
        access = Access((pointer.index + offset).expression(), offset, 4)
        operation = Operation.REDG if isinstance(pointer, Pointer) else Operation.ATOMS
        src = (pointer.part, value)
        self.op(operation, Effect.ATOMIC_ADD, (), src, (1,), flag, access=access, dst_tensor=tensor)
