"""Matrix effects of a warp: fragments to matrices and back, in the layouts that the tensor cores' documented
instructions have (PTX ISA: m16n8k16, m8n8k4, ldmatrix).

Arrays are (blocks, 32 lanes) words. A half-precision product is exact in single precision; sums are taken in
single precision, in no particular order, so results agree with hardware to rounding only.
"""

from collections.abc import Sequence

import numpy as np

from simulator.workload.interpret.effects import floats, word_of
from simulator.workload.interpret.memory import Words

LANE = np.arange(32)
GROUP, MEMBER = LANE // 4, LANE % 4
HIGH = LANE // 16
QUAD_PAIR = LANE % 16 // 4


def halves(words: Sequence[Words]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """(blocks, lanes, 2 * words) halves of some words, as single precision."""
    stacked = np.ascontiguousarray(np.stack(words, axis=-1))
    return stacked.view(np.float16).astype(np.float32)


def product_16816(a: Sequence[Words], b: Sequence[Words], c: Sequence[Words]) -> list[Words]:
    """D = A (16 × 16) * B (16 × 8) + C (16 × 8), C and D in single precision."""
    blocks = a[0].shape[0]
    left = np.zeros((blocks, 16, 16), np.float32)
    right = np.zeros((blocks, 16, 8), np.float32)
    left_halves, right_halves = halves(a), halves(b)
    for word in range(4):
        for half in range(2):
            rows, columns = GROUP + 8 * (word % 2), 2 * MEMBER + half + 8 * (word // 2)
            left[:, rows, columns] = left_halves[:, :, 2 * word + half]
    for word in range(2):
        for half in range(2):
            right[:, 2 * MEMBER + half + 8 * word, GROUP] = right_halves[:, :, 2 * word + half]
    product = left @ right
    return [
        word_of(floats(c[word]) + product[:, GROUP + 8 * (word // 2), 2 * MEMBER + word % 2])
        for word in range(4)
    ]


def by_row(
    fragment: np.ndarray[tuple[int, ...], np.dtype[np.float32]], numbers: Sequence[int | float], which: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The 8 × 8 × 4 fragment with a row a lane, from one with a depth a lane where `numbers` say so."""
    if len(numbers) <= which or not numbers[which]:
        return fragment
    depth, row = np.arange(4)[None, :], (LANE % 4)[:, None]
    return fragment[:, LANE[:, None] - row + depth, row]


def product_884(
    numbers: Sequence[int | float], a: Sequence[Words], b: Sequence[Words], c: Sequence[Words]
) -> list[Words]:
    """Two of a lane's eight accumulators of four 8 × 8 × 4 products, one a quad pair: lanes 4 q … 4 q + 3
    hold its rows (and columns) 0 … 3, lanes 16 higher hold 4 … 7. Where an operand stands the other way, lane
    4 q + k holds depth k of those four rows.
    """
    step = int(numbers[0])
    left, right = by_row(halves(a), numbers, 1), by_row(halves(b), numbers, 2)
    results = []
    for odd in range(2):
        index = 2 * step + odd
        row = LANE % 2 + (index & 2) + 4 * HIGH
        column = (index & 4) + (LANE & 2) + (index & 1)
        rows = left[:, 4 * QUAD_PAIR + row % 4 + 16 * (row // 4)]
        columns = right[:, 4 * QUAD_PAIR + column % 4 + 16 * (column // 4)]
        results.append(word_of(floats(c[odd]) + (rows * columns).sum(axis=-1)))
    return results


def load_matrix(rows: Words, *, transposed: bool = False) -> list[Words]:
    """Four 8 × 8 matrices from (blocks, 32 lanes, 4 words) rows: lane l gets two neighbours of row l // 4 of
    each, or of column l // 4 where transposed.
    """
    if transposed:
        cells = rows.view(np.uint16)
        low, high = (
            [cells[:, 8 * matrix + 2 * MEMBER + odd, GROUP].astype(np.uint32) for matrix in range(4)]
            for odd in range(2)
        )
        return [first | second << np.uint32(16) for first, second in zip(low, high, strict=True)]
    return [np.ascontiguousarray(rows[:, 8 * matrix + GROUP, MEMBER]) for matrix in range(4)]
