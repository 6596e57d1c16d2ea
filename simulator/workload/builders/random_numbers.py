"""Random numbers by counting: Philox with four words and ten rounds, the generator that frameworks use for
dropout, written as the multiplications and exclusive ors that a thread executes.

The counter is given, the key is the launch's seed; the same counter gives the same numbers wherever it is
computed, so that a mask need not be stored. Constants are those of the published generator.
"""

from hwmodels.operations import Operation
from simulator.workload.builders.floats import Floats
from simulator.workload.ir import Effect, Part

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
MASK = 0xFFFFFFFF


def philox(f: Floats, counter: Part, seed: int) -> tuple[Part, Part, Part, Part]:
    """Four random words of a 32-bit counter."""
    emitter = f.emitter
    zero = emitter.constant(0, "counter")
    words = (counter, zero, zero, zero)
    keys = (seed & MASK, seed >> 32 & MASK)
    for turn in range(ROUNDS):
        products = []
        for source, factor in zip((words[0], words[2]), MULTIPLIERS, strict=True):
            pair = emitter.fresh(2, "product")
            emitter.op(Operation.IMAD, Effect.WIDE_UNSIGNED, (pair,), (source,), (factor,))
            products.append(pair)
        mixed = []
        for other, mate, key, step in zip((1, 0), (words[1], words[3]), keys, KEY_STEPS, strict=True):
            part = emitter.fresh(1, "mixed")
            now = (key + turn * step) & MASK
            emitter.op(Operation.ALU, Effect.XOR, (part,), (products[other][1], mate), (now,))
            mixed.append(part)
        words = (mixed[0], products[1][0], mixed[1], products[0][0])
    return words


def unit_interval(f: Floats, bits: Part) -> Part:
    """The upper 24 bits as a number in [0, 1)."""
    upper = f.op(Operation.ALU, Effect.SHIFT_RIGHT, (bits,), (8,))
    whole = f.op(Operation.CONVERT, Effect.TO_FLOAT, (upper,), (-1, 0))
    return f.multiply(whole, 2.0**-24)
