"""The depth loop of a tiled product: while one pair of tiles is multiplied, the next one is on its way into
the other half of shared memory.

Where the card copies asynchronously the copies fly over the products; elsewhere the next tiles wait in
registers and are stored after the products. Deeper pipelines than two stages are not built.
"""

from typing import Protocol

from simulator.workload.affine import Index
from simulator.workload.builders.geometry import Tile
from simulator.workload.builders.matrix import Matrix
from simulator.workload.emit import Emitter, Flag, Scalar


class Stager(Protocol):
    """What the loop needs of whoever brings the tiles."""

    async_copy: bool

    def begin(self, thread: Scalar, row_block: Scalar, column_block: Scalar) -> Scalar:
        """Set up; returns the shared address where this thread's copies go."""

    def fetch(self, tile: Index, place: Scalar, more: Flag | None) -> None:
        """Copy a depth tile to the stage at `place`, if there are `more`."""

    def deposit(self, place: Scalar) -> None:
        """Store what `fetch` holds in registers."""

    def advance(self) -> None:
        """Step to the next depth tile."""


def main_loop(
    emitter: Emitter,
    turns: int,
    tile: Tile,
    staging: Stager,
    matrix: Matrix,
    place: tuple[Scalar, Scalar, Scalar],
) -> None:
    """The sum over depth tiles: while one is multiplied the next one is on its way into the other stage."""
    copies = staging.begin(*place)
    staging.fetch(Index(), copies, None)
    if staging.async_copy:
        emitter.commit()
    else:
        staging.deposit(copies)
        emitter.barrier()
    matrix.begin(place[0])
    matrix.clear()
    if turns > 1:
        staging.advance()
    with emitter.repeat(turns) as turn:
        stage = None
        if staging.async_copy:
            emitter.wait(0)
            emitter.barrier()
        if turns > 1:
            following = emitter.add(turn, 1)
            more = emitter.within(following, turns)
            other = emitter.multiply_add(
                emitter.remainder(following, 2), tile.stage_bytes, copies, "next place"
            )
            staging.fetch(following.index, other, more)
            if staging.async_copy:
                emitter.commit()
            staging.advance()
            stage = emitter.multiply_add(emitter.remainder(turn, 2), tile.stage_bytes, name="stage")
        matrix.multiply(stage)
        if not staging.async_copy:
            if turns > 1:
                staging.deposit(other)
            emitter.barrier()
    if staging.async_copy:
        # The last turn's copies are all predicated off, but their zeros must not land in the output tile.
        emitter.wait(0)
        emitter.barrier()
