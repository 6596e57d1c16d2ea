"""Positions of a walk in registers: one index taken apart into digits by division, and sums of digits for
addresses and conditions.

Divisions by constants are the multiply and shift that compilers emit. A sum costs one multiply-add a digit.
"""

from simulator.workload.affine import Index
from simulator.workload.builders.copying import Condition
from simulator.workload.emit import Emitter, Flag, Scalar


def digits_of(emitter: Emitter, index: Scalar, extents: tuple[int, ...], used: list[bool]) -> list[Scalar]:
    """The digits of an index, the last one fastest; those that nobody uses are not computed."""
    found: list[Scalar] = []
    rest = index
    for position in range(len(extents) - 1, 0, -1):
        extent = extents[position]
        if not any(used[: position + 1]):
            found.append(rest)
            continue
        quotient = emitter.divide(rest, extent, "quotient") if any(used[:position]) else None
        if used[position]:
            found.append(emitter.remainder(rest, extent, quotient, "digit"))
        else:
            found.append(rest)
        if quotient is not None:
            rest = quotient
    found.append(rest)
    return found[::-1]


def combined(
    emitter: Emitter, digits: list[Scalar], steps: tuple[int, ...], offset: int = 0, name: str = ""
) -> Scalar:
    """Sum of step * digit + offset; a bare digit needs no instruction."""
    terms = [(digit, step) for digit, step in zip(digits, steps, strict=True) if step]
    if not terms:
        return Scalar(emitter.constant(offset, name), Index(offset))
    total: Scalar | int = offset
    for digit, step in terms:
        if step == 1 and isinstance(total, int):
            total = emitter.add(digit, total, name) if total else digit
        elif step == 1:
            total = emitter.add(digit, total, name)
        else:
            total = emitter.multiply_add(digit, step, total, name)
    assert isinstance(total, Scalar)
    return total


def condition_flag(
    emitter: Emitter, digits: list[Scalar], conditions: tuple[Condition, ...], flag: Flag | None
) -> Flag | None:
    """The predicate of all conditions and `flag`."""
    for condition in conditions:
        value = combined(emitter, digits, condition.steps, condition.offset, "place")
        flag = emitter.within(value, condition.extent, flag)
    return flag
