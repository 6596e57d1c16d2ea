"""Elements between memory and arithmetic: loaded words widened to single precision, results rounded and
packed into words.

Halves pass two to a word, bytes four. Integers become floats on the way in, which is exact to 24 bits.
"""

from collections.abc import Sequence

from hwmodels.operations import Operation
from simulator.workload.builders.floats import Floats
from simulator.workload.ir import Effect, Part, Rounding

LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "bool": (0, 255),
    "int32": (-(1 << 31), (1 << 31) - 1),
}
SIGNED = frozenset({"int8", "int32"})
COMPUTED = frozenset({"float16", "float32", *LIMITS})


def widened(f: Floats, words: Part, element: int, dtype: str, tensor: int) -> Part:
    """One element of a loaded group as single precision."""
    if dtype == "float32":
        cell = words[element]
        f.sources.setdefault(cell, tensor)
        return cell
    if dtype == "float16":
        source = words[element // 2]
        f.sources[source] = tensor
        return f.op(Operation.HADD2, Effect.UNPACK, (source,), (element % 2,))
    byte = -1 if dtype == "int32" else element % 4
    source = words[element if dtype == "int32" else element // 4]
    f.sources[source] = tensor
    return f.op(Operation.CONVERT, Effect.TO_FLOAT, (source,), (byte, int(dtype in SIGNED)))


def packed(f: Floats, cells: Sequence[Part], dtype: str, group: Part) -> None:
    """Rounds and packs all elements of a vector into a register group; single precision stands there
    already.
    """
    if dtype == "float16":
        for index in range(0, len(cells), 2):
            pair = (cells[index], cells[min(index + 1, len(cells) - 1)])
            f.op(Operation.CONVERT, Effect.PACK, pair, into=group[index // 2])
    elif dtype != "float32":
        low, high = LIMITS[dtype]
        for index, cell in enumerate(cells):
            numbers = (int(Rounding.ZERO), low, high)
            place = 0 if dtype == "int32" else index % 4
            word = group[index if dtype == "int32" else index // 4]
            if place == 0:
                f.op(Operation.CONVERT, Effect.FROM_FLOAT, (cell,), numbers, word)
                continue
            byte = f.op(Operation.CONVERT, Effect.FROM_FLOAT, (cell,), numbers)
            f.op(Operation.ALU, Effect.INSERT, (word, byte), (8 * place,), word)
