"""Which warps of which blocks go through an arm of a program, and the blocks of a grid sorted by the ways
that their warps go: blocks of one kind can be run side by side.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulator.trace.expression import VARIABLES, Variable
from simulator.workload.interpret.state import Blocks, block_indices
from simulator.workload.ir import Body, Kernel, Repeat


def takes_arm(arm: Repeat, values: Sequence[Any]) -> Any:
    """Whether the conditions of an arm hold, for one warp or many."""
    taken: Any = True
    for guard in arm.only:
        value = guard.expression.evaluate(values)
        taken = taken & (guard.low <= value) & (value < guard.high)
    return taken


def arms_of(body: Body) -> Iterator[Repeat]:
    """All arms of a program."""
    for item in body:
        if isinstance(item, Repeat):
            if item.only:
                yield item
            yield from arms_of(item.body)


def kinds_of_blocks(kernel: Kernel) -> list[Blocks]:
    """The blocks of the grid, those together whose warps all go the same ways."""
    blocks = np.arange(kernel.grid[0] * kernel.grid[1] * kernel.grid[2])
    values: list[Any] = [0] * VARIABLES
    for name, index in block_indices(kernel, blocks[:, None]).items():
        values[name] = index
    values[Variable.WARP] = np.arange(kernel.threads // 32)[None, :]
    shape = (len(blocks), kernel.threads // 32)
    ways = [np.broadcast_to(takes_arm(arm, values), shape) for arm in arms_of(kernel.body)]
    if not ways:
        return [blocks]
    _, kinds = np.unique(np.concatenate(ways, axis=1), axis=0, return_inverse=True)
    return [blocks[kinds.ravel() == kind] for kind in range(int(kinds.max()) + 1)]
