"""The kernel of a region of element-wise operators. Its space is the largest result; a smaller value inside
is computed again for each element that it spreads over.
"""

from math import prod
from typing import TYPE_CHECKING

from simulator.workload import row_operators
from simulator.workload.builders.pointwise import pointwise_kernel
from simulator.workload.element_groups import leaving, result_shape
from simulator.workload.element_program import ElementProgram
from simulator.workload.graph import Operator
from simulator.workload.ir import Kernel

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

ELEMENTS, IN_TURN = "elements", "in_turn"
"""Attributes of an element-wise operator, no ONNX ones: how many elements a thread takes, each for itself
instead of vectors, and (1) that it writes one before it reads the next, as frameworks do for broadcasts."""


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """One kernel that reads each outside value once and writes each value that leaves the region."""
    if any(operator.kind in row_operators.KINDS for operator in operators):
        return row_operators.kernels(maker, operators, name)
    shapes = (result_shape(maker.graph, operator) for operator in operators)
    shape = max(shapes, key=lambda one: (prod(one), len(one)))
    program = ElementProgram(maker.graph, maker.place, maker.layout, maker.vector, shape)
    for operator in operators:
        program.add(operator)
    for value, operator in leaving(maker.graph, operators):
        program.write(value, operator)
    asked = [operator.attribute(ELEMENTS, 0) for operator in operators]
    elements = max((one for one in asked if isinstance(one, int)), default=0)
    if elements < 1:
        return [pointwise_kernel(name, program.finish())]
    in_turn = any(operator.attribute(IN_TURN, 0) for operator in operators)
    return [pointwise_kernel(name, program.finish(), 1, elements, in_turn=in_turn)]
