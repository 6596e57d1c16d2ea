"""Byte-addressed memories of the interpreter: global (one buffer a tensor), and the access patterns that
shared and local memory need.

Every access is checked: inside one tensor, aligned to its width. Fresh memory is filled with 0xFF, which is
no number in any float format, so that reading what nobody wrote shows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hwmodels.errors import ResultError

Words = npt.NDArray[np.uint32]
Addresses = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
FLOAT: np.dtype[Any] = np.dtype(np.float32)


class GlobalMemory:
    """Tensors at their base addresses."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.buffers: list[Bytes] = []
        self.names: list[str] = []
        self.read_bytes = 0
        self.written_bytes = 0

    def place(self, name: str, base: int, content: Bytes | int) -> None:
        """A tensor's bytes at an address; an integer makes that many bytes of garbage."""
        buffer = np.full(content, 0xFF, np.uint8) if isinstance(content, int) else content.copy()
        at = int(np.searchsorted(self.bases, base))
        self.bases.insert(at, base)
        self.buffers.insert(at, buffer)
        self.names.insert(at, name)

    def content(self, name: str) -> Bytes:
        """The bytes of a tensor."""
        return self.buffers[self.names.index(name)]

    def read(self, addresses: Addresses, mask: Mask, width: int) -> Words:
        """(…, words) of each active lane; zero elsewhere."""
        self.read_bytes += width * int(mask.sum())
        out = np.zeros((*addresses.shape, max(4, width)), np.uint8)
        for buffer, chosen, offsets in self.located(addresses, mask, width):
            out[chosen, :width] = buffer[offsets[:, None] + np.arange(width)]
        return out.view(np.uint32)

    def write(self, addresses: Addresses, mask: Mask, width: int, words: Words) -> None:
        """Store the first `width` bytes of each active lane."""
        self.written_bytes += width * int(mask.sum())
        data = np.ascontiguousarray(words).view(np.uint8)
        for buffer, chosen, offsets in self.located(addresses, mask, width):
            buffer[offsets[:, None] + np.arange(width)] = data[chosen][:, :width]

    def add(self, addresses: Addresses, mask: Mask, values: Words, kind: np.dtype[Any] = FLOAT) -> None:
        """Additions of floats or integers, lane after lane."""
        for buffer, chosen, offsets in self.located(addresses, mask, 4):
            np.add.at(buffer.view(kind), offsets // 4, values[chosen].view(kind))

    def located(self, addresses: Addresses, mask: Mask, width: int) -> list[tuple[Bytes, Mask, Addresses]]:
        """(buffer, lanes, offsets in it) for each tensor that active lanes touch."""
        found = []
        owners = np.searchsorted(self.bases, addresses, side="right") - 1
        for owner in np.unique(owners[mask]):
            chosen = mask & (owners == owner)
            offsets = addresses[chosen] - (self.bases[owner] if owner >= 0 else 0)
            if owner < 0 or offsets.max() + width > self.buffers[owner].size:
                raise ResultError(
                    "interpreter", f"address {int(addresses[chosen].max()):#x} is outside every tensor"
                )
            if (addresses[chosen] % width).any():
                raise ResultError("interpreter", f"misaligned access of {width} bytes to {self.names[owner]}")
            found.append((self.buffers[owner], chosen, offsets))
        return found


def gather(memory: Bytes, offsets: Addresses, width: int) -> Words:
    """(blocks, lanes, words) from (blocks, bytes) memory at per-lane byte offsets; lanes outside [0, bytes)
    must not be asked for.
    """
    rows = np.arange(memory.shape[0])[:, None, None]
    taken = memory[rows, offsets[..., None] + np.arange(width)]
    if width < 4:
        taken = np.concatenate([taken, np.zeros((*taken.shape[:-1], 4 - width), np.uint8)], axis=-1)
    return np.ascontiguousarray(taken).view(np.uint32)


def scatter(memory: Bytes, offsets: Addresses, mask: Mask, width: int, words: Words) -> None:
    """The converse of `gather`, for active lanes."""
    data = np.ascontiguousarray(words).view(np.uint8)[..., :width]
    rows, lanes = np.nonzero(mask)
    memory[rows[:, None], offsets[rows, lanes][:, None] + np.arange(width)] = data[rows, lanes]
