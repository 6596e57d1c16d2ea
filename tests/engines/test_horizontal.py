"""Merged kernels on both engines: every instruction of the trace is issued, parts meet at their own barriers,
and a block lasts as long as its slowest part.
"""

import pytest

from hwmodels import Gpu
from simulator.trace.tally import tally
from simulator.workload.allocate import allocate
from simulator.workload.build import KernelMaker
from simulator.workload.groups import Group
from simulator.workload.horizontal import block_split, thread_split
from simulator.workload.lower import trace_of
from simulator.workload.operator_list import operator_list
from simulator.workload.target import VOLTA
from tests.engines.readings import count, states

SHAPES = {"a": [64, 32], "b": [32, 64]}
ITEMS = [
    {"op": "Softmax", "inputs": ["x"], "output": "y", "shape": [2, 4104]},
    {"op": "MatMul", "inputs": ["a", "b"], "output": "c", "shape": [64, 64], "input_shapes": SHAPES},
]


@pytest.fixture(scope="module")
def kernels():
    """A softmax of two long rows and a small product, both with barriers."""
    graph = operator_list(ITEMS, None, "float16")
    maker = KernelMaker(graph, VOLTA)
    return [kernel for operator in graph.operators for kernel in maker.kernels(Group((operator,)))]


@pytest.fixture(scope="module")
def gpu():
    return Gpu.from_card("v100-sxm2-16gb").scaled("1/16")


def cycles(record):
    return max(kernel.end_fs for kernel in record.kernels) - min(kernel.start_fs for kernel in record.kernels)


@pytest.mark.parametrize("merge", [block_split, thread_split])
def test_all_is_issued_and_parts_wait_for_their_own(run, gpu, kernels, merge):
    trace = trace_of(allocate(merge(kernels)))
    record = run(trace, gpu)
    assert count(record, "warp_instructions") == sum(tally(trace))
    assert states(record)["barrier"] > 0


def test_a_block_lasts_as_long_as_its_slowest_part(run, gpu, kernels):
    """With one block of each, the merged kernel takes at least the longer part's time, and less than both."""
    merged = cycles(run(trace_of(allocate(thread_split(kernels))), gpu))
    alone = [cycles(run(trace_of(allocate(kernel)), gpu)) for kernel in kernels]
    assert max(alone) <= merged < sum(alone)
