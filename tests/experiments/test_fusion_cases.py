"""Cases that users reported: which way to fuse won on their card wins here, and the planner chooses it."""

import pytest

from experiments.config import load_config
from experiments.planner import part_plan
from experiments.run import cards_of
from experiments.workload import parts_of
from simulator import replay
from simulator.fusion.groups import vertical
from simulator.workload.layout import Placement


def planned(name, strategy, **settings):
    """(the plan of a shipped config's only part, the card)."""
    config = load_config(name, settings)
    gpu = cards_of(config)[0]
    return part_plan(config, parts_of(config)[0], strategy, gpu, Placement()), gpu


def microseconds(name, strategy):
    """Time of a strategy's kernels with their launches."""
    plan, gpu = planned(name, strategy)
    return replayed(plan.plan.traces, gpu)


def replayed(traces, gpu):
    """Time of kernels in a row."""
    return float(replay(traces, gpu, "compiled", interval_cycles=0).kernels["time_us"].sum())


def operators_of(plan):
    return [group.operators for group in plan.partition]


def test_a_chain_is_not_computed_again_for_every_sum():
    """TVM's issue 20342: the planner materialises the chain; a rule without a cost inlines it."""
    groups = operators_of(planned("tvm-20342", "vertical")[0])
    assert len(groups) == 2
    assert len(groups[0]) >= 18
    assert operators_of(planned("tvm-20342", "tvm-style")[0]) == [tuple(f"n{at}" for at in range(25))]


def test_small_kernels_are_joined_around_a_concatenation():
    """TVM's issue 20401: launches are most of the time, so fewer of them win."""
    none, _ = planned("tvm-20401", "none")
    wide, _ = planned("tvm-20401", "horizontal")
    assert len(none.plan.kernels) == 16
    assert len(wide.plan.kernels) <= 6
    assert {"n14", "n15"} in [set(group) for group in operators_of(wide)]


def test_a_row_too_long_for_registers_spills_without_a_cap():
    """NVIDIA's issue 3095: dropout before a long row takes more registers than 1,024 threads have, so a
    compiler holds it to those that there are.
    """
    plan, _ = planned("fuser-3095", "vertical", **{"registers.cap": None})
    (kernel,) = plan.planner.kernels(vertical("n0", "n1", "n2"))
    assert kernel.trace.registers_per_thread * 1024 == 65_536
    assert kernel.trace.local_bytes_per_thread > 0
    assert max(len(group) for group in operators_of(plan)) < 3


@pytest.mark.slow
def test_inlining_a_chain_loses_and_a_kernel_of_its_own_wins():
    """Measured: 1.30 and 0.79 of the time without fusion."""
    none, inlined, apart = (microseconds("tvm-20342", one) for one in ("none", "tvm-style", "vertical"))
    assert 1.2 < inlined / none < 1.7
    assert 0.65 < apart / none < 0.85


@pytest.mark.slow
def test_partly_fused_wins_by_launches():
    """Measured: 45.7 us with 16 kernels, 13.0 us partly fused."""
    none, wide = (microseconds("tvm-20401", one) for one in ("none", "horizontal"))
    assert none == pytest.approx(45.7, rel=0.25)
    assert wide == pytest.approx(13.0, rel=0.25)


@pytest.mark.slow
def test_one_kernel_loses_where_its_rows_leave_registers():
    """Measured: 417 us as one kernel, 363 us as three. `best` decides by replayed prices."""
    plan, gpu = planned("fuser-3095", "best")
    one = [kernel.trace for kernel in plan.planner.kernels(vertical("n0", "n1", "n2"))]
    three = [kernel.trace for name in ("n0", "n1", "n2") for kernel in plan.planner.kernels(vertical(name))]
    fused, apart = replayed(one, gpu), replayed(three, gpu)
    assert 1.05 < fused / apart < 1.3
    assert max(len(group) for group in operators_of(plan)) < 3
    assert replayed(plan.plan.traces, gpu) <= apart
