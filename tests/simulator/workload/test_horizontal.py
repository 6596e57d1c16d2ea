"""Merged kernels against their parts: the same results byte for byte, the same bytes moved, and exactly the
instructions of all parts with the comparisons and branches between them.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hwmodels.errors import InputError, ResultError
from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.trace.info import info
from simulator.workload.allocate import allocate
from simulator.workload.build import KernelMaker
from simulator.workload.groups import Group
from simulator.workload.horizontal import block_split, thread_split
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.ir import Effect, walk
from simulator.workload.layout import Placement
from simulator.workload.lower import trace_of
from simulator.workload.operator_list import operator_list
from simulator.workload.target import AMPERE, VOLTA

FORMS = {"block-split": block_split, "thread-split": thread_split}
OPERATORS = {
    "relu": {"op": "Relu", "inputs": ["x"], "output": "relu", "shape": [3, 1000]},
    "short": {"op": "Sigmoid", "inputs": ["s"], "output": "short", "shape": [700]},
    "softmax": {"op": "Softmax", "inputs": ["r"], "output": "softmax", "shape": [3, 4104]},
    "product": {
        "op": "MatMul",
        "inputs": ["a", "b"],
        "output": "product",
        "shape": [130, 72],
        "input_shapes": {"a": [130, 64], "b": [64, 72]},
    },
    "pool": {
        "op": "MaxPool",
        "inputs": ["p"],
        "output": "pool",
        "shape": [1, 16, 8, 9],
        "input_shapes": {"p": [1, 16, 16, 18]},
        "attributes": {"kernel_shape": [2, 2], "strides": [2, 2]},
    },
    "filters": {
        "op": "Conv",
        "inputs": ["i", "w"],
        "output": "filters",
        "shape": [1, 72, 6, 9],
        "input_shapes": {"i": [1, 24, 6, 9], "w": [72, 24, 1, 1]},
    },
    "columns": {
        "op": "ReduceMean",
        "inputs": ["c"],
        "output": "columns",
        "shape": [1, 96],
        "input_shapes": {"c": [300, 96]},
        "attributes": {"axes": [0]},
    },
}
SETS = [
    ("relu", "short"),
    ("relu", "softmax"),
    ("softmax", "relu", "short"),
    ("softmax", "product"),
    ("product", "pool"),
    ("filters", "product"),
    ("filters", "filters2"),
    ("columns", "softmax", "relu"),
]


def parts_of(names, target=AMPERE):
    """(placement, the programs of independent operators)."""
    items = []
    for name in names:
        item = dict(OPERATORS[name.rstrip("2")])
        if name.endswith("2"):
            item |= {"output": name, "inputs": ["i", "w2"], "shape": [1, 40, 6, 9]}
            item["input_shapes"] = {"w2": [40, 24, 1, 1]}
        items.append(item)
    graph, place = operator_list(items, None, "float16"), Placement()
    maker = KernelMaker(graph, target, place)
    kernels = [kernel for operator in graph.operators for kernel in maker.kernels(Group((operator,)))]
    if len(kernels) > len(names):  # only first kernels of operators that are several
        first = {kernel.operators[0]: kernel for kernel in reversed(kernels)}
        kernels = [first[operator.name] for operator in graph.operators]
    return place, kernels


def filled(place):
    """Memory with random numbers in every tensor that has a layout."""
    rng, memory = np.random.default_rng(3), GlobalMemory()
    for name, one in place.infos.items():
        layout = place.layouts[name]
        memory.place(name, one.base_address, layout.pack(rng.standard_normal(layout.shape)))
    return memory


def contents(place, memory):
    return {name: memory.content(name).tobytes() for name in place.infos}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", SETS, ids="+".join)
def test_results_and_bytes_are_those_of_the_parts(names, form):
    same_as_apart(*parts_of(names), form)


@pytest.mark.parametrize("form", FORMS)
def test_results_on_volta(form):
    same_as_apart(*parts_of(("softmax", "product"), VOLTA), form)


def same_as_apart(place, kernels, form):
    """The merged kernel does what its parts do one after another, in both orders of warps."""
    apart = filled(place)
    for kernel in kernels:
        interpret(allocate(kernel), apart)
    merged = FORMS[form](kernels)
    allocation = allocate(merged)
    for reverse in (False, True):
        together = filled(place)
        interpret(allocation, together, reverse=reverse)
        assert contents(place, together) == contents(place, apart)
        assert (together.read_bytes, together.written_bytes) == (apart.read_bytes, apart.written_bytes)
    check(trace_of(allocation), full=True)
    alone = [allocate(kernel) for kernel in kernels]
    most = max(one.registers_per_thread for one in alone)
    # A thread runs one part: the maximum, and no more than a quad for the numbers counted anew.
    assert most <= allocation.registers_per_thread <= most + 4
    shared = [kernel.shared_bytes for kernel in kernels]
    assert merged.shared_bytes == max(shared) if form == "block-split" else sum(shared) <= merged.shared_bytes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", SETS, ids="+".join)
def test_instructions_are_those_of_the_parts_and_of_the_branches(names, form):
    _, kernels = parts_of(names)
    merged = FORMS[form](kernels)
    mix = Counter(info(trace_of(allocate(merged)))["mix"])
    for kernel in kernels:
        mix.subtract(info(trace_of(allocate(kernel)))["mix"])
    more = {name: count for name, count in mix.items() if count}
    assert set(more) <= {"S2R", "ALU", "PREDICATE", "BRANCH", "EXIT"}
    assert all(count > 0 for count in more.values())
    arms = sum(op.effect is Effect.BRANCH for _, op in walk(merged.body))
    arms -= sum(op.effect is Effect.BRANCH for kernel in kernels for _, op in walk(kernel.body))
    warps = merged.grid[0] * merged.grid[1] * merged.grid[2] * merged.threads // 32
    working = sum(one.grid[0] * one.grid[1] * one.grid[2] * one.threads // 32 for one in kernels)
    # A warp passes the branches up to its own arm; one without an arm passes all and ends.
    assert more["BRANCH"] <= arms * warps
    assert more.get("EXIT", 0) == warps - working
    if len(kernels) == 2 and working == warps:
        assert more["BRANCH"] == warps
        assert more["S2R"] == warps


def test_two_grids_of_one_axis_are_put_one_behind_the_other():
    _, kernels = parts_of(("relu", "softmax"))
    merged = block_split(kernels)
    assert merged.grid == (kernels[0].grid[0] + kernels[1].grid[0], 1, 1)
    assert merged.threads == max(kernel.threads for kernel in kernels)


def test_convolutions_of_one_image_share_no_empty_block():
    _, kernels = parts_of(("filters", "filters2"))
    blocks = [kernel.grid[0] * kernel.grid[1] * kernel.grid[2] for kernel in kernels]
    merged = block_split(kernels)
    assert merged.grid[0] * merged.grid[1] * merged.grid[2] == sum(blocks)


def test_a_thread_split_barrier_counts_the_warps_of_its_part():
    _, kernels = parts_of(("softmax", "product"))
    merged = thread_split(kernels)
    assert merged.threads == sum(kernel.threads for kernel in kernels)
    assert merged.barrier_warps == tuple(kernel.threads // 32 for kernel in kernels)
    trace = trace_of(allocate(merged))
    assert (trace.barriers, trace.barrier_warps) == (2, merged.barrier_warps)


def test_a_barrier_of_the_whole_block_would_lock_up():
    """The interpreter sees that parts with unequal barriers cannot share one."""
    place, kernels = parts_of(("softmax", "product"))
    merged = replace(thread_split(kernels), barrier_warps=())
    with pytest.raises(ResultError, match="disagree on a barrier"):
        interpret(allocate(merged), filled(place))
    with pytest.raises(InputError, match="passes barrier"):
        check(trace_of(allocate(replace(merged, barrier_warps=(0, 0)))))


@pytest.mark.parametrize("form", FORMS)
def test_a_cap_spills_in_the_arm_that_needs_more(form):
    place, kernels = parts_of(("product", "relu"))
    free = allocate(FORMS[form](kernels))
    capped = allocate(FORMS[form](kernels), 40)
    assert not free.spill_bytes_per_thread
    assert capped.registers_per_thread <= 40
    assert capped.spill_bytes_per_thread
    apart, together = filled(place), filled(place)
    for kernel in kernels:
        interpret(allocate(kernel), apart)
    interpret(capped, together)
    assert contents(place, together) == contents(place, apart)
    spills = {name: n for name, n in info(trace_of(capped))["mix"].items() if name in {"LDL", "STL"}}
    assert spills == {
        name: n
        for name, n in info(trace_of(allocate(kernels[0], 40)))["mix"].items()
        if name in {"LDL", "STL"}
    }


def test_what_does_not_fit_is_refused():
    _, kernels = parts_of(("relu", "softmax"))
    with pytest.raises(InputError, match="split by blocks"):
        thread_split(kernels * 5)
    with pytest.raises(InputError, match="two or more"):
        block_split(kernels[:1])
    with pytest.raises(InputError, match="plain kernels"):
        thread_split([thread_split(parts_of(("softmax", "product"))[1]), kernels[0]])


def test_operations_keep_their_operator_and_tensor():
    _, kernels = parts_of(("softmax", "product"))
    merged = block_split(kernels)
    for kernel in kernels:
        wanted = Counter(
            (kernel.operators[op.operator], kernel.tensors[op.dst_tensor].name)
            for _, op in walk(kernel.body)
            if op.operation is Operation.STG
        )
        found = Counter(
            (merged.operators[op.operator], merged.tensors[op.dst_tensor].name)
            for _, op in walk(merged.body)
            if op.operation is Operation.STG and merged.operators[op.operator] in kernel.operators
        )
        assert found == wanted
