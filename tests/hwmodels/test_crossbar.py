"""Distance on the crossbar: within the spread, the same mean for every SM, nearest slice beside the SM."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hwmodels.crossbar import distance_cycles

machines = st.tuples(st.integers(1, 144), st.integers(1, 100), st.integers(0, 60))


@given(machines, st.data())
def test_every_sm_sees_the_whole_spread_with_its_middle_as_mean(machine, data):
    sm_count, slices, spread = machine
    sm = data.draw(st.integers(0, sm_count - 1))
    cycles = [distance_cycles(sm, slice_id, sm_count, slices, spread) for slice_id in range(slices)]
    # An odd spread, halved for a middle slice, may leave half a cycle.
    assert abs(sum(cycles) - spread * slices / 2) <= 0.5
    if slices > 1:
        assert (min(cycles), max(cycles)) == (0, spread)


@given(machines, st.data())
def test_cycles_grow_with_the_distance_round_the_ring(machine, data):
    sm_count, slices, spread = machine
    sm = data.draw(st.integers(0, sm_count - 1))
    centre = sm * slices // sm_count

    def ring(slice_id):
        apart = abs(slice_id - centre)
        return min(apart, slices - apart)

    by_ring = sorted(range(slices), key=ring)
    cycles = {slice_id: distance_cycles(sm, slice_id, sm_count, slices, spread) for slice_id in by_ring}
    for near, far in pairwise(by_ring):
        if ring(near) < ring(far):
            assert cycles[near] <= cycles[far]


def test_all_sms_share_one_mean_on_published_shapes():
    for sm_count, slices, spread in ((80, 32, 40), (54, 40, 20), (57, 40, 32), (66, 40, 32), (5, 2, 40)):
        for sm in range(sm_count):
            cycles = sum(
                distance_cycles(sm, slice_id, sm_count, slices, spread) for slice_id in range(slices)
            )
            assert 2 * cycles == spread * slices
