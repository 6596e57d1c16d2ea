"""The shipped pair of independent kernels: one launch wins by blocks, hardly by warps, loses under a cap."""

from functools import cache

import pytest

from experiments.config import load_config
from experiments.planner import part_plan
from experiments.run import cards_of
from experiments.workload import parts_of
from simulator import replay
from simulator.workload.layout import Placement


@cache
def replayed(strategy: str, cap: int | None):
    """The kernels' table of a strategy under a cap."""
    config = load_config("hfuse-pair", {"registers.cap": cap})
    gpu = cards_of(config)[0]
    plan = part_plan(config, parts_of(config)[0], strategy, gpu, Placement()).plan
    return replay(plan.traces, gpu, "compiled", interval_cycles=0).kernels


def cycles(strategy: str, cap: int | None) -> int:
    return int(replayed(strategy, cap)["cycles"].sum())


def test_blocks_of_one_fill_what_the_other_leaves_idle() -> None:
    apart = replayed("none", None)["cycles"].tolist()
    assert cycles("block-split", None) < 0.75 * sum(apart)
    assert cycles("block-split", None) < 1.25 * max(apart)


def test_warps_side_by_side_hold_registers_for_the_larger_program() -> None:
    apart, warps = replayed("none", None), replayed("thread-split", None)
    assert warps["registers_per_thread"].item() == apart["registers_per_thread"].max()
    assert warps["threads_per_block"].item() == apart["threads_per_block"].sum()
    blocks = replayed("block-split", None)
    assert warps["achieved_occupancy_pct"].item() < blocks["achieved_occupancy_pct"].item()
    assert cycles("block-split", None) < cycles("thread-split", None) < cycles("none", None)


@pytest.mark.parametrize("form", ["block-split", "thread-split"])
def test_under_a_cap_the_pair_loses_against_two_launches(form: str) -> None:
    assert replayed(form, 32)["spill_bytes_per_thread"].item() > 0
    assert cycles(form, 32) > 1.1 * cycles("none", 32)
    assert replayed(form, 32)["l1_hit_pct"].item() < replayed("none", 32)["l1_hit_pct"].min()
