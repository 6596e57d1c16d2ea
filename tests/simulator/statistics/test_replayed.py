"""Tables of real replays against what the kernels are known to do, on cards of one and two L2 partitions."""

import pytest

from hwmodels import Gpu
from simulator import Result, replay
from simulator.trace.kernels import from_spec

KIB = 1_024
COPIED = 16 * KIB


@pytest.fixture(
    scope="module", params=[("v100-sxm2-16gb", "1/16"), ("a100-sxm-40gb", "1/4")], ids=lambda pair: pair[0]
)
def gpu(request: pytest.FixtureRequest) -> Gpu:
    card, scale = request.param
    return Gpu.from_card(card).scaled(scale)


def replayed(gpu: Gpu, spec: str) -> Result:
    return replay(from_spec(f"kernel:{spec}"), gpu, interval_cycles=500)


def test_a_copy_moves_its_bytes_once_through_every_level(gpu: Gpu) -> None:
    result = replayed(gpu, f"copy,megabytes={COPIED / KIB / KIB}")
    assert result.identities["holds"].all()
    rows = result.traffic.set_index(["level", "operation"])
    for place in (
        ("l1", "global_load"),
        ("l1", "fill"),
        ("l2", "read"),
        ("crossbar", "reply"),
        ("dram", "read"),
    ):
        assert rows.loc[place]["bytes"] == COPIED, place
    assert rows.loc[("l1", "global_load")]["requests"] == COPIED // (32 * 16)
    assert rows.loc[("l2", "write")]["bytes"] == COPIED
    (kernel,) = result.kernels.to_dict("records")
    # Nothing pushes the written lines out of an L2 that is larger than they are.
    assert (kernel["dram_write_bytes"], kernel["dirty_bytes_left"]) == (0, COPIED)
    assert (kernel["l1_hit_pct"], kernel["l2_hit_pct"]) == (0, 0)


def test_views_over_time_and_by_state_agree_with_the_totals(gpu: Gpu) -> None:
    result = replayed(gpu, f"chain,stages=2,megabytes={COPIED / KIB / KIB}")
    for _, kernel in result.kernels.iterrows():
        intervals = result.intervals[result.intervals["kernel"] == kernel["kernel"]]
        stalls = result.stalls[result.stalls["kernel"] == kernel["kernel"]]
        resident = stalls["warp_cycles"].sum()
        slots = kernel["cycles"] * gpu.sm_count * gpu.sm.warp_slots
        assert kernel["achieved_occupancy_pct"] == pytest.approx(100 * resident / slots)
        assert intervals["dram_read_bytes"].sum() == kernel["dram_read_bytes"]
        spans = (intervals["end_cycle"] - intervals["start_cycle"]) * gpu.sm_count
        assert (intervals["ipc"] * spans).sum() == pytest.approx(kernel["warp_instructions"])
    assert result.cycles + result.launch_cycles == result.source.edge(
        max(k.end_fs for k in result.record.kernels)
    )


@pytest.mark.parametrize("kind", ["red", "atom"])
def test_atomics_on_one_address_are_served_one_by_one_at_one_sector(gpu: Gpu, kind: str) -> None:
    result = replayed(gpu, f"atomic,kind={kind},blocks=4,threads=32,repeats=4")
    assert result.identities["holds"].all()
    rows = result.traffic.set_index(["level", "operation"])
    assert rows.loc[("l2", "atomic")]["requests"] == 16
    assert rows.loc[("dram", "read")]["bytes"] == 32
    answered = ("crossbar", "reply") if kind == "atom" else ("crossbar", "acknowledgement")
    assert rows.loc[answered]["requests"] == 16
