"""Arithmetic of an operator on the elements of a vector, in the instructions that a compiler makes of it,
with conversions from and to 16-bit types.

Counts of the longer functions are those of their usual single-precision programs; a memory-bound kernel hides
them unless its loads are few.
"""

from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder

MULTIPLY_ADDS: dict[str, tuple[int, int]] = {
    "gelu": (24, 1),
    "erf": (20, 1),
    "tanh": (8, 2),
    "sigmoid": (5, 2),
    "silu": (6, 2),
    "exp": (3, 1),
    "log": (8, 1),
    "sqrt": (5, 1),
    "rsqrt": (2, 1),
    "div": (7, 1),
    "pow": (20, 2),
    "softplus": (14, 2),
    "clamp": (3, 0),
    "clamp_min": (3, 0),
    "clamp_max": (3, 0),
}
"""Operator → (multiply-adds and comparisons, special functions) an element; 1 and 0 for all others."""


def arithmetic(
    k: KernelBuilder, operator: str, target: int, sources: list[int], width: int, item_bytes: tuple[int, ...]
) -> None:
    """Work on `width` elements whose vectors start at the registers `sources`; the result at `target`."""
    plain, special = MULTIPLY_ADDS.get(operator, (1, 0))
    for element in range(width):
        operands = [first + element * size // 4 for first, size in zip(sources, item_bytes[1:], strict=True)]
        into = target + element * item_bytes[0] // 4
        for register, size in zip(operands, item_bytes[1:], strict=True):
            if size == 2:
                k.alu(register, register)
        if not operands:
            k.move(into)
            continue
        for turn in range(special):
            k.emit(Operation.MUFU, into, operands[0] if turn == 0 else into)
        for turn in range(plain):
            k.ffma(into, *(operands if turn == 0 and not special else [into, operands[-1]]))
        if item_bytes[0] == 2 and element % 2:
            k.alu(into, into)
