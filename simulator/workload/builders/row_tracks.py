"""Tensors as rows: which axes make up a row, which number the rows, and how each tensor moves along both.

A row's axes may lie anywhere in memory; neighbouring ones are merged. Padded channels count as rows of their
own where every tensor has them, and are left out of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.axes import Reach, merged, reach_of, stored_axes, stored_extents
from simulator.workload.graph import ITEM_BYTES
from simulator.workload.layout import Layout


@dataclass(frozen=True, slots=True)
class Strip:
    """A tensor that takes part: `axes` are the main tensor's axes for each of its own."""

    info: TensorInfo
    layout: Layout
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """A tensor's strides in elements from row to row (by axis) and along a row (by axis)."""

    info: TensorInfo
    dtype: str
    kept: tuple[int, ...]
    along: tuple[int, ...]

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Extents that number the rows, extents of a row, and the tensors' tracks; the main tensor first."""

    kept: tuple[int, ...]
    along: tuple[int, ...]
    tracks: tuple[Track, ...]


def row_space(main: Strip, others: Sequence[Strip], reduced: frozenset[int]) -> RowSpace:
    """The rows of the main tensor over some of its axes, with the other tensors beside."""
    order = stored_axes(main.layout)
    strips = (main, *others)
    reaches = [reach_of(one.layout, one.axes, main.layout, order) for one in strips]
    extents = []
    for place, axis in enumerate(order):
        limited = any(reach.limits[place] for reach in reaches)
        whole = stored_extents(main.layout)[axis]
        extents.append(main.layout.shape[axis] if axis in reduced or limited else whole)
    parts = []
    for chosen in (
        [place for place, axis in enumerate(order) if axis not in reduced],
        [place for place, axis in enumerate(order) if axis in reduced],
    ):
        cut = [
            Reach(tuple(reach.strides[place] for place in chosen), (0,) * len(chosen)) for reach in reaches
        ]
        parts.append(merged([extents[place] for place in chosen], cut))
    kept, along = parts
    tracks = tuple(
        Track(one.info, one.layout.dtype, up.strides, right.strides)
        for one, up, right in zip(strips, kept.reaches, along.reaches, strict=True)
    )
    return RowSpace(kept.extents, along.extents, tracks)
