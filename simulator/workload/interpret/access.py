"""Memory accesses of a warp: global, shared, local, matrix loads, asynchronous copies, atomic additions.

The address in the register must equal the closed form that the trace carries, in every active lane. An
asynchronous copy waits in its group until the wait that asks for it.
"""

import numpy as np

from hwmodels.errors import ResultError
from hwmodels.operations import Operation
from simulator.workload.interpret import matrix
from simulator.workload.interpret.memory import Addresses, Mask, gather, scatter
from simulator.workload.interpret.state import WarpState
from simulator.workload.ir import Access, Effect, Op, Part


class WarpMemory(WarpState):
    """A warp that can reach memory."""

    def access(self, op: Op, access: Access, mask: Mask) -> None:
        """A load, store, matrix load, asynchronous copy or atomic addition."""
        width = access.bytes_per_lane
        if op.operation in {Operation.LDL, Operation.STL}:
            self.local_access(op, access, mask)
            return
        pointer = op.src[1] if op.effect is Effect.COPY_ASYNC else op.src[0]
        addresses = self.checked(op, pointer, access, mask)
        if op.effect is Effect.COPY_ASYNC and op.shared is not None:
            place = self.checked(op, op.src[0], op.shared, self.everywhere)
            self.open_group.append((place, width, self.block.memory.read(addresses, mask, width)))
        elif op.effect is Effect.ATOMIC_ADD:
            self.atomic(op, addresses, mask)
        elif op.effect is Effect.STORE:
            words = np.stack(self.read(op.src[1]), axis=-1)
            if op.operation is Operation.STG:
                self.block.memory.write(addresses, mask, width, words)
            else:
                scatter(self.block.shared, addresses, mask, width, words)
        else:
            if op.operation is Operation.LDG:
                taken = self.block.memory.read(addresses, mask, width)
            else:
                taken = gather(self.block.shared, np.where(mask, addresses, 0), width)
            words_out = (
                matrix.load_matrix(taken, transposed=bool(op.numbers and op.numbers[0]))
                if op.effect is Effect.LOAD_MATRIX
                else [taken[..., word] for word in range(op.dst[0].words)]
            )
            self.write(op.dst[0], words_out, mask)

    def atomic(self, op: Op, addresses: Addresses, mask: Mask) -> None:
        """Add a number to each active lane's address."""
        value = self.read(op.src[1])[0]
        kind = np.dtype(np.uint32 if op.numbers else np.float32)
        if op.operation is Operation.REDG:
            self.block.memory.add(addresses, mask, value, kind)
            return
        rows, lanes = np.nonzero(mask)
        cells = self.block.shared.view(kind)
        np.add.at(cells, (rows, addresses[rows, lanes] // 4), value[rows, lanes].view(kind))

    def local_access(self, op: Op, access: Access, mask: Mask) -> None:
        """One word of the thread's own memory."""
        cell = self.local[..., access.offset : access.offset + 4]
        if op.effect is Effect.LOAD:
            self.write(op.dst[0], [np.ascontiguousarray(cell).view(np.uint32)[..., 0]], mask)
        else:
            word = np.ascontiguousarray(self.read(op.src[0])[0])
            cell[mask] = word[..., None].view(np.uint8)[mask]

    def checked(self, op: Op, pointer: Part, access: Access, mask: Mask) -> Addresses:
        """The addresses from the register, equal to the closed form in every active lane."""
        words = self.read(pointer)
        addresses: Addresses = words[0].astype(np.int64) + access.offset
        if len(words) > 1:
            addresses = addresses + (words[1].view(np.int32).astype(np.int64) << 32)
        closed = np.broadcast_to(access.address.evaluate(self.values), addresses.shape)
        if not (closed == addresses)[mask].all():
            raise ResultError(
                "interpreter", f"{op.operation.name}: register and closed form of an address differ"
            )
        if len(words) == 1 and mask.any():
            low, high = int(addresses[mask].min()), int(addresses[mask].max()) + access.bytes_per_lane
            if (
                low < 0
                or high > self.block.shared.shape[1]
                or (addresses[mask] % access.bytes_per_lane).any()
            ):
                raise ResultError(
                    "interpreter", f"{op.operation.name}: shared bytes {low} … {high} out of bounds"
                )
        return addresses
