"""Forms asked for by name: every level in one launch of the form, as far as the card allows."""

import pytest

from hwmodels import Gpu
from simulator.fusion.planner import Planner
from simulator.fusion.store import Store
from simulator.fusion.strategies import partition_for
from simulator.workload.operator_list import operator_list

SHAPE = [64, 1024]


def op(kind, inputs, output):
    return {"op": kind, "inputs": inputs.split(), "output": output, "shape": SHAPE}


def partition(form, items):
    planner = Planner.of(operator_list(items), Gpu.from_card("a100-sxm-40gb"))
    planner.store = Store(on_disk=False)
    return [(group.form, group.operators) for group in partition_for(form, planner)]


@pytest.mark.parametrize("form", ["block-split", "thread-split"])
def test_levels_become_launches(form):
    items = [op("Relu", "x", "a"), op("Softmax", "z", "b"), op("Add", "a b", "y")]
    assert partition(form, items) == [(form, ("n0", "n1")), ("vertical", ("n2",))]


def test_a_block_holds_a_thousand_threads():
    """Nine parts of 128 threads do not fit; by blocks eight parts are the most."""
    items = [op("Relu", f"x{at}", f"y{at}") for at in range(9)]
    assert [len(names) for _, names in partition("thread-split", items)] == [8, 1]
    assert [len(names) for _, names in partition("block-split", items)] == [8, 1]
