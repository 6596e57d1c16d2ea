"""Sectors of kernels made from operators: what the machine counts at L1 against sets of byte addresses.

The naive side knows nothing of coalescing: it walks the trace, takes every byte that an active lane touches,
and counts distinct 32-byte pieces of an instruction.
"""

import pytest

from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.machine.replay import replay
from simulator.statistics.schema import INDEX
from simulator.trace.expand import expand
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import kernels_for

KINDS = {
    Operation.LDG: "l1_global_load",
    Operation.LDGSTS: "l1_async_copy",
    Operation.STG: "l1_global_store",
    Operation.REDG: "l1_global_reduction",
    Operation.ATOMG: "l1_global_atomic",
}
ITEMS = {
    "relu": {"op": "Relu", "inputs": ["x"], "output": "y", "shape": [1, 24, 7, 9]},
    "softmax": {"op": "Softmax", "inputs": ["x"], "output": "y", "shape": [5, 333]},
    "transpose": {
        "op": "Transpose",
        "inputs": ["x"],
        "output": "y",
        "shape": [70, 45],
        "attributes": {"perm": [1, 0]},
        "input_shapes": {"x": [45, 70]},
    },
    "reduce": {
        "op": "ReduceSum",
        "inputs": ["x"],
        "output": "y",
        "shape": [1, 130],
        "attributes": {"axes": [0]},
        "input_shapes": {"x": [37, 130]},
    },
    "pool": {
        "op": "MaxPool",
        "inputs": ["x"],
        "output": "y",
        "shape": [1, 16, 6, 6],
        "attributes": {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        "input_shapes": {"x": [1, 16, 11, 11]},
    },
    "product": {
        "op": "MatMul",
        "inputs": ["x", "w"],
        "output": "y",
        "shape": [65, 40],
        "input_shapes": {"x": [65, 72], "w": [72, 40]},
    },
    "convolution": {
        "op": "Conv",
        "inputs": ["x", "w"],
        "output": "y",
        "shape": [1, 24, 9, 9],
        "attributes": {"pads": [1, 1, 1, 1]},
        "input_shapes": {"x": [1, 16, 9, 9], "w": [24, 16, 3, 3]},
    },
}


def naive_sectors(trace):
    """Distinct 32-byte pieces of each instruction, summed by kind of access."""
    instructions = trace.flat().instructions
    totals = dict.fromkeys(KINDS.values(), 0)
    for one in expand(trace):
        instruction = instructions[one.static]
        kind = KINDS.get(instruction.operation)
        if kind is None:
            continue
        lanes = [address for lane, address in enumerate(one.addresses) if one.mask >> lane & 1]
        pieces = {byte // 32 for first in lanes for byte in range(first, first + instruction.bytes_per_lane)}
        totals[kind] += len(pieces)
    return totals


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "card", [("v100-sxm2-16gb", "1/16"), ("a100-sxm-40gb", "1/4")], ids=lambda one: one[0]
)
@pytest.mark.parametrize("name", ITEMS)
def test_sectors_equal_sets_of_bytes(name, card, dtype):
    gpu = Gpu.from_card(card[0]).scaled(card[1])
    traces = kernels_for(operator_list([ITEMS[name]], dtype=dtype), "none", gpu)
    record = replay(traces, gpu, "reference").record
    for trace, kernel in zip(traces, record.kernels, strict=True):
        counted = {kind: kernel.counts[INDEX[f"{kind}_sectors"]] for kind in KINDS.values()}
        assert counted == naive_sectors(trace)
        assert sum(counted.values()) > 0
