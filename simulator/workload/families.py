"""The families of operators that have kernel programs beyond convolution and its epilogue: which operators
each takes, why not, and the kernels of a group that starts with one.

A family is a row of `FAMILIES`; the first that does not refuse an operator makes its kernels. A group may
become several kernels, launched in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.workload import (
    attention_operators,
    element_kernels,
    element_operators,
    image_operators,
    indexed_operators,
    movement,
    row_operators,
    training_operators,
)
from simulator.workload.graph import Graph, Operator
from simulator.workload.ir import Kernel

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker


@dataclass(frozen=True, slots=True)
class Family:
    """`refused(graph, operator)` is empty where the family takes the operator; `kernels(maker, operators,
    name)` makes the programs.
    """

    name: str
    kinds: frozenset[str]
    refused: Callable[[Graph, Operator], str]
    kernels: Callable[["KernelMaker", tuple[Operator, ...], str], list[Kernel]]


FAMILIES: tuple[Family, ...] = (
    Family(
        "element-wise",
        element_operators.ELEMENT_WISE,
        element_operators.refused,
        element_kernels.kernels,
    ),
    Family("rows", row_operators.KINDS, row_operators.refused, row_operators.kernels),
    Family("training", training_operators.KINDS, training_operators.refused, training_operators.kernels),
    Family("data movement", movement.KINDS, movement.refused, movement.kernels),
    Family("images", image_operators.KINDS, image_operators.refused, image_operators.kernels),
    Family("attention", attention_operators.KINDS, attention_operators.refused, attention_operators.kernels),
    Family("indexed", indexed_operators.KINDS, indexed_operators.refused, indexed_operators.kernels),
)


def family_of(graph: Graph, operator: Operator) -> tuple[Family | None, str]:
    """(the family of an operator, ""), or (None, the reason)."""
    reason = f"{operator.kind} has no kernel program"
    for family in FAMILIES:
        if operator.kind in family.kinds:
            reason = family.refused(graph, operator)
            if not reason:
                return family, ""
    return None, reason
