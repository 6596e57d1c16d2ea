"""Distance between an SM and an L2 slice on the die, as extra crossbar cycles.

Floor plans aren't published; measured L2 hits of one SM spread over some ± 20 cycles (V100) by slice. SMs and
slices are laid evenly round a ring, and a slice's rank by distance decides its share of the spread, so every
SM sees the same spread and the same mean. Ports, packets and arbitration of the crossbar move time and are in
the machine.
"""

from hwmodels.rule import rule

__all__ = ["distance_cycles"]


@rule
def distance_cycles(sm: int, slice_id: int, sm_count: int, slices: int, spread_cycles: int) -> int:
    """Cycles beyond the nearest slice, 0 to `spread_cycles`; for each SM the mean over slices is half of it.

    On a card with partitions, give numbers and counts inside the SM's own partition: an SM asks no other
    slice.
    """
    if slices == 1:
        return spread_cycles // 2
    farthest = slices - 1
    ahead = (slice_id + slices - sm * slices // sm_count) % slices
    rank = 2 * ahead - 1 if 2 * ahead <= slices else 2 * (slices - ahead)
    rank = max(rank, 0)
    # The near half rounds down and the far half up, so that roundings cancel in the mean.
    if 2 * rank <= farthest:
        return rank * spread_cycles // farthest
    return spread_cycles - (farthest - rank) * spread_cycles // farthest
