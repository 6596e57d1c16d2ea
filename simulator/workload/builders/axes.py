"""Broadcasting as strides: the axes that a kernel runs over, in the order in which its result lies in memory,
and how far each operand moves along each of them.

Neighbouring axes that every operand passes alike are merged, so that tensors of one layout are one long axis.
Where a result has padded channels that an operand lacks, the operand's extent limits its accesses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hwmodels.errors import InputError
from simulator.workload.layout import Layout


@dataclass(frozen=True, slots=True)
class Reach:
    """Elements moved by a step along each axis, and the extent that limits the operand there (0: none)."""

    strides: tuple[int, ...]
    limits: tuple[int, ...]

    @property
    def constant(self) -> bool:
        """Whether every element reads the same place."""
        return not any(self.strides)


@dataclass(frozen=True, slots=True)
class Space:
    """Extents from the slowest axis to the fastest, and a reach for each operand."""

    extents: tuple[int, ...]
    reaches: tuple[Reach, ...]

    @property
    def elements(self) -> int:
        """Steps in all."""
        return prod(self.extents)


def stored_axes(layout: Layout) -> tuple[int, ...]:
    """The tensor's own axes, slowest first, as they lie in memory."""
    axes = range(len(layout.shape))
    if layout.role == "flat":
        return tuple(axes)
    return (0, *axes[2:], 1)


def stored_extents(layout: Layout) -> dict[int, int]:
    """Extent of each of the tensor's own axes in memory, padding included."""
    found = dict(enumerate(layout.shape))
    if layout.role != "flat":
        found[1] = layout.channels
    return found


def strides_of(layout: Layout) -> dict[int, int]:
    """Elements from one index to the next along each of the tensor's own axes."""
    extents, step, found = stored_extents(layout), 1, {}
    for axis in reversed(stored_axes(layout)):
        found[axis] = step
        step *= extents[axis]
    return found


def right_aligned(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """The result's axis for each axis of an operand under ONNX's broadcasting."""
    return tuple(range(rank - len(shape), rank))


def reach_of(operand: Layout, axes: Sequence[int], result: Layout, order: Sequence[int]) -> Reach:
    """The reach of one operand along the result's stored axes."""
    if any(axis < 0 for axis in axes):
        problem = f"operand {list(operand.shape)} has more axes than the result {list(result.shape)}"
        raise InputError("kernel", problem, "broadcasting adds axes to operands only")
    own, extents, whole = strides_of(operand), stored_extents(operand), stored_extents(result)
    strides, limits = [], []
    for axis in order:
        place = axes.index(axis) if axis in axes else -1
        spread = place < 0 or (operand.shape[place] == 1 and result.shape[axis] != 1)
        strides.append(0 if spread else own[place])
        limits.append(0 if spread or extents[place] >= whole[axis] else operand.shape[place])
    return Reach(tuple(strides), tuple(limits))


def space_of(result: Layout, operands: Sequence[tuple[Layout, Sequence[int]]]) -> Space:
    """The space of a result and its operands (layout, the result's axis for each of its own)."""
    order = stored_axes(result)
    extents = stored_extents(result)
    reaches = [reach_of(layout, axes, result, order) for layout, axes in operands]
    return merged(tuple(extents[axis] for axis in order), reaches)


def merged(extents: Sequence[int], reaches: Sequence[Reach]) -> Space:
    """Axes of one step dropped, neighbours that belong together joined."""
    kept = [axis for axis, extent in enumerate(extents) if extent != 1]
    sizes: list[int] = []
    groups: list[list[int]] = []
    for axis in kept:
        joins = bool(groups) and all(
            reach.strides[groups[-1][-1]] == reach.strides[axis] * extents[axis]
            and not reach.limits[groups[-1][-1]]
            and not reach.limits[axis]
            for reach in reaches
        )
        if joins:
            groups[-1].append(axis)
            sizes[-1] *= extents[axis]
        else:
            groups.append([axis])
            sizes.append(extents[axis])
    if not groups:
        return Space((1,), tuple(Reach((1 if reach.strides else 0,), (0,)) for reach in reaches))
    return Space(
        tuple(sizes),
        tuple(
            Reach(
                tuple(reach.strides[group[-1]] for group in groups),
                tuple(reach.limits[group[-1]] for group in groups),
            )
            for reach in reaches
        ),
    )
