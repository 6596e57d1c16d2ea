"""The search against rules of published fusers on light_resnet50: never dearer by its own prices, and by
replayed ones never slower.
"""

import pytest

from hwmodels import Gpu
from simulator import replay
from simulator.fusion.baselines import BASELINES
from simulator.fusion.planner import Planner
from simulator.fusion.store import Store
from simulator.fusion.strategies import partition_for
from simulator.workload.onnx_import import import_onnx

CARDS = {"v100-sxm2-16gb": "1/16", "a100-sxm-40gb": "1/4", "h100-sxm": "1/4"}
NOISE = 1.005
"""A group's price leaves out what the kernel before it left in the queues of DRAM."""


def planner_for(card, scale=None, last=None):
    graph = import_onnx("light_resnet50", 1, "float16")
    gpu = Gpu.from_card(card)
    planner = Planner.of(graph.subgraph(None, last), gpu if scale is None else gpu.scaled(scale))
    planner.store = Store(on_disk=False)
    return planner


def microseconds(planner, partition):
    traces = [one.trace for group in partition for one in planner.kernels(group)]
    return float(replay(traces, planner.gpu, "compiled", interval_cycles=0).kernels["time_us"].sum())


@pytest.mark.parametrize("card", CARDS)
def test_by_arithmetic_no_rule_finds_a_cheaper_partition(card):
    planner = planner_for(card, last="n25")
    ours = planner.total(partition_for("vertical", planner))
    theirs = {name: planner.total(rule(planner.graph, planner)) for name, rule in BASELINES.items()}
    assert all(ours <= cost for cost in theirs.values()), theirs
    assert ours < planner.total(partition_for("none", planner))


@pytest.mark.slow
@pytest.mark.parametrize("last", ["n15", None])
@pytest.mark.parametrize("card", CARDS)
def test_best_is_never_slower_when_replayed(card, last):
    """The stem with the first bottleneck, and the whole model, on a slice of each card."""
    planner = planner_for(card, CARDS[card], last)
    ours = microseconds(planner, partition_for("best", planner))
    partitions = {rule(planner.graph, planner) for rule in BASELINES.values()}
    noise = NOISE if last else 1
    assert ours <= noise * min(microseconds(planner, one) for one in partitions)


@pytest.mark.slow
@pytest.mark.parametrize("card", CARDS)
def test_by_arithmetic_on_the_whole_model(card):
    planner = planner_for(card)
    partition = partition_for("vertical", planner)
    assert len(partition) <= 60
    ours = planner.total(partition)
    assert all(ours <= planner.total(rule(planner.graph, planner)) for rule in BASELINES.values())
