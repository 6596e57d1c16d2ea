"""What a rule of data movement is given and what it answers: an operator in its graph with the layouts of its
tensors, and the digits, sources and fill of a result.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.trace.schema import TensorInfo
from simulator.workload.graph import Graph, Operator
from simulator.workload.layout import Layout
from simulator.workload.rearrange import Digit, Place, Source

LayoutOf = Callable[[str], Layout]


@dataclass(frozen=True, slots=True)
class Moved:
    """Digits of a result, its sources, and the word where there is none."""

    digits: list[Digit]
    sources: list[Source]
    fill: int = 0

    @classmethod
    def of(cls, digits: list[Digit], info: TensorInfo, strides: tuple[int, ...], offset: int = 0) -> "Moved":
        """From one tensor that covers everything."""
        return cls(digits, [Source(info, strides, offset)])


@dataclass(frozen=True, slots=True)
class Rule:
    """One operator kind."""

    refused: Callable[[Graph, Operator], str]
    moved: Callable[["Moving"], Moved]


@dataclass(frozen=True, slots=True)
class Moving:
    """One result of an operator in its graph, and how tensors lie."""

    graph: Graph
    operator: Operator
    result: str
    layout: LayoutOf
    place: Place

    @property
    def source(self) -> Layout:
        """The layout of the first input."""
        return self.layout(self.operator.inputs[0])

    @property
    def target(self) -> Layout:
        """The layout of the result."""
        return self.layout(self.result)

    @property
    def info(self) -> TensorInfo:
        """Where the first input lies."""
        return self.place(self.operator.inputs[0])


def constant_of(graph: Graph, operator: Operator, key: str, place: int) -> tuple[int, ...] | None:
    """A list of integers from an attribute or a constant input; () where it is left out, None where it is
    computed.
    """
    if any(name == key for name, _ in operator.attributes):
        value = operator.attribute(key, ())
        return tuple(int(one) for one in (value if isinstance(value, tuple) else (value,)))
    if place >= len(operator.inputs) or not operator.inputs[place]:
        return ()
    values = graph.tensors[operator.inputs[place]].values
    return None if values is None else tuple(int(one) for one in values)


def accepted(_: Graph, __: Operator) -> str:
    """Never refused."""
    return ""


def same_rank(graph: Graph, operator: Operator) -> str:
    """A result of as many dimensions as the input."""
    ranks = [len(graph.tensors[name].shape) for name in (operator.inputs[0], operator.outputs[0])]
    return "" if ranks[0] == ranks[1] else f"{operator.kind} that changes the rank has no kernel program"


def axis_of(graph: Graph, operator: Operator, default: int = 0) -> int:
    """The attribute `axis`, counted from the front."""
    axis = int(np.asarray(operator.attribute("axis", default)))
    return axis % len(graph.tensors[operator.outputs[0]].shape)
