"""What an element-wise kernel computes: operands, a list of element functions over them, and which values are
written.

Values are numbered: operands first, then each function's result. A function may read any value before its
own, so that a group of operators with several readers and several results is one program.
"""

from dataclasses import dataclass

from simulator.trace.schema import TensorInfo
from simulator.workload.graph import ITEM_BYTES
from simulator.workload.layout import Layout

RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that is read; `axes` are the result's axes for each of its own."""

    info: TensorInfo
    layout: Layout
    axes: tuple[int, ...]
    operator: str

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.layout.dtype]


@dataclass(frozen=True, slots=True)
class Node:
    """An element function on earlier values; `random` takes none and gives a number in [0, 1). `rounds`: its
    value is rounded to half precision before anybody reads it.
    """

    function: str
    operator: str
    inputs: tuple[int, ...]
    result: TensorInfo
    numbers: tuple[float, ...] = ()
    rounds: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A value that is written."""

    value: int
    info: TensorInfo
    layout: Layout
    operator: str

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.layout.dtype]


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One kernel's work; all results have one shape."""

    operands: tuple[Operand, ...]
    nodes: tuple[Node, ...]
    results: tuple[Result, ...]
    seed: int = 0
