"""How tensors lie in global memory: channels last for activations, K R S C for convolution weights, single
precision vectors for channel parameters; and where they lie, each from a 2-MiB boundary on.

Channels are padded to a multiple of 8 (4 where there are at most 4, as in images), so that every vector
access is whole; cuDNN pads likewise for tensor cores. Padding costs bytes, which count. A recycling allocator
is not modelled: every tensor keeps its own place.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hwmodels.errors import InputError
from simulator.trace.schema import ADDRESS_LIMIT, TensorInfo
from simulator.workload.graph import ITEM_BYTES

PAGE = 2 << 20
FIRST_ADDRESS = 1 << 36
VECTOR_BYTES = 16
DTYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype(np.float16), "float32": np.dtype(np.float32)}
NUMERIC = frozenset({"int8", "uint8", "bool", "int32", "int64"})
Array = npt.NDArray[np.generic]


def dtype_of(name: str) -> np.dtype[Any]:
    """The element type of a tensor that kernels compute with."""
    if name not in DTYPES:
        raise InputError("dtype", f"{name!r} has no kernels", "use float16 or float32")
    return DTYPES[name]


def stored_dtype(name: str) -> np.dtype[Any]:
    """The element type of a tensor in memory, also of those that kernels only convert from and to."""
    if name in NUMERIC:
        return np.dtype(name)
    return dtype_of(name)


def padded_channels(channels: int) -> int:
    """Channels as stored."""
    return 4 if channels <= 4 else -(-channels // 8) * 8


@dataclass(frozen=True, slots=True)
class Layout:
    """One tensor's storage. `role` is `activation` (N C H W stored as N H W C), `filter` (K C R S stored as K
    R S C), `taps` (K 1 R S stored as R S K) or `flat` (as it is, padded to 16 bytes).
    """

    shape: tuple[int, ...]
    dtype: str
    role: str

    @property
    def channels(self) -> int:
        """The innermost extent as stored; 1 where the layout is flat."""
        if self.role == "flat":
            return 1
        return padded_channels(self.shape[self.innermost])

    @property
    def innermost(self) -> int:
        """The axis that lies closest."""
        return {"flat": len(self.shape) - 1, "taps": 0}.get(self.role, 1)

    @property
    def elements(self) -> int:
        """Elements as stored, in whole vectors."""
        extents = self.shape if self.role == "flat" else (*self.slower, self.channels)
        return -(-prod(extents) // self.vector) * self.vector

    @property
    def vector(self) -> int:
        """Elements of one vector access."""
        return VECTOR_BYTES // ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes as stored."""
        return self.elements * ITEM_BYTES[self.dtype]

    def pack(self, values: Array) -> npt.NDArray[np.uint8]:
        """The bytes in memory of an array in the graph's own order; padding is zero."""
        typed = values.astype(stored_dtype(self.dtype)).reshape(self.shape)
        if self.role != "flat":
            last = np.moveaxis(typed, self.innermost, -1)
            typed = np.zeros((*last.shape[:-1], self.channels), typed.dtype)
            typed[..., : last.shape[-1]] = last
        flat = np.zeros(self.elements, typed.dtype)
        flat[: typed.size] = typed.reshape(-1)
        return flat.view(np.uint8)

    def unpack(self, content: npt.NDArray[np.uint8]) -> Array:
        """The array in the graph's own order from the bytes in memory."""
        typed = content.view(stored_dtype(self.dtype))
        if self.role == "flat":
            return typed[: prod(self.shape)].reshape(self.shape)
        extents = (*self.slower, self.channels)
        wide = typed[: prod(extents)].reshape(extents)
        return np.moveaxis(wide[..., : self.shape[self.innermost]], -1, self.innermost)

    @property
    def slower(self) -> tuple[int, ...]:
        """Extents of all axes but the innermost one."""
        return tuple(extent for axis, extent in enumerate(self.shape) if axis != self.innermost)


def activation(shape: tuple[int, ...], dtype: str) -> Layout:
    """The layout of an activation: channels last if it has any channels, flat otherwise."""
    return Layout(shape, dtype, "activation" if len(shape) >= 3 else "flat")


class Placement:
    """Addresses of tensors, given in the order of first mention."""

    def __init__(self) -> None:
        self.infos: dict[str, TensorInfo] = {}
        self.layouts: dict[str, Layout] = {}
        self.roots: dict[str, str] = {}
        self.next_address = FIRST_ADDRESS

    def share(self, name: str, root: str) -> None:
        """From now on `name` is another name of the memory of `root`."""
        self.roots[name] = self.roots.get(root, root)

    def place(self, name: str, layout: Layout, kind: str) -> TensorInfo:
        """The tensor's place; a second call for the same name gives the same one, a view its root."""
        if name in self.roots:
            return self.infos[self.roots[name]]
        if name in self.infos:
            if self.layouts[name] != layout:
                raise InputError(name, "is used in two layouts", "give each use its own tensor")
            return self.infos[name]
        info = TensorInfo(name, layout.bytes, self.next_address, kind)
        self.next_address += -(-max(1, layout.bytes) // PAGE) * PAGE
        if self.next_address >= ADDRESS_LIMIT:
            raise InputError(name, "does not fit below 2^48 bytes", "use a smaller batch")
        self.infos[name] = info
        self.layouts[name] = layout
        return info
