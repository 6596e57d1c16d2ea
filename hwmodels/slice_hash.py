"""Home slice of a line in L2 for any number of slices, and its place inside the slice; exactly reversible.

Vendors don't publish the hash, so this one is a stand-in with the property that silicon shows: no stride
camps on a few slices. Lines are grouped in blocks of 16 × slices. In a block the slice is the line's position
turned by a hash of the line's place inside a slice, so neighbours fall on unrelated slices while a block
fills all slices evenly. With two partitions, successive positions alternate between them. Not modelled:
page-wise colouring, and disabled slices.
"""

from hwmodels.rule import rule
from hwmodels.scatter import scatter

__all__ = ["home_of", "line_from", "local_line"]

# Neighbouring lines that the hash scatters one by one: 2 KiB, a row in each of two HBM pseudo-channels.
RUN_LINES = 16


@rule
def local_line(line: int, slices: int, partitions: int) -> int:  # noqa: ARG001
    """Index of a line inside its home slice; the lines of a slice are numbered densely from 0.

    Sets and DRAM addresses are made of this index. `partitions` decides only which slice it is; it stands
    here because the three rules describe one card.
    """
    return line // (RUN_LINES * slices) * RUN_LINES + line % RUN_LINES


@rule
def home_of(line: int, slices: int, partitions: int) -> int:
    """Global id of a line's home slice; partition p owns slices p·S/P up to (p + 1)·S/P."""
    turn = scatter(local_line(line, slices, partitions))
    position = (line // RUN_LINES + turn) % slices
    return position % partitions * (slices // partitions) + position // partitions


@rule
def line_from(slice_id: int, local: int, slices: int, partitions: int) -> int:
    """The line whose home is `slice_id` and whose index there is `local`: inverse of the two rules above."""
    per_partition = slices // partitions
    position = slice_id % per_partition * partitions + slice_id // per_partition
    turn = scatter(local) % slices
    run = local // RUN_LINES * slices + (position + slices - turn) % slices
    return run * RUN_LINES + local % RUN_LINES
