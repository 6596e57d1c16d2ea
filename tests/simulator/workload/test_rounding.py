"""Rounding behind each operator: a fused kernel then gives bit for bit what its operators give one by one."""

from dataclasses import replace

import numpy as np

from simulator.trace.info import info
from simulator.workload.allocate import allocate
from simulator.workload.build import KernelMaker
from simulator.workload.graph import KERNEL, OPERATOR
from simulator.workload.groups import Group
from simulator.workload.layout import Placement
from simulator.workload.lower import trace_of
from simulator.workload.operator_list import operator_list
from simulator.workload.target import AMPERE

SHAPE = [37, 64]
ITEMS = [
    {"op": "Mul", "inputs": ["x", "z"], "output": "a", "shape": SHAPE},
    {"op": "Sub", "inputs": ["x", "a"], "output": "b", "shape": SHAPE},
    {"op": "Exp", "inputs": ["b"], "output": "c", "shape": SHAPE},
    {"op": "Relu", "inputs": ["c"], "output": "d", "shape": SHAPE},
    {"op": "Add", "inputs": ["d", "z"], "output": "y", "shape": SHAPE},
]


def outputs(run_kernels, rounding, *, fused):
    graph = replace(operator_list(ITEMS, None, "float16"), rounding=rounding)
    place = Placement()
    maker = KernelMaker(graph, AMPERE, place)
    groups = [graph.operators] if fused else [(operator,) for operator in graph.operators]
    kernels = [kernel for operators in groups for kernel in maker.kernels(Group(tuple(operators)))]
    rng = np.random.default_rng(4)
    values = {name: rng.uniform(0.5, 2, SHAPE).astype(np.float16) for name in ("x", "z")}
    (result,), _ = run_kernels(kernels, place, values, ["y"])
    return result, kernels, values


def test_behind_each_operator_fused_is_bit_for_bit_unfused(run_kernels):
    fused, kernels, values = outputs(run_kernels, OPERATOR, fused=True)
    apart, _, _ = outputs(run_kernels, OPERATOR, fused=False)
    assert len(kernels) == 1
    np.testing.assert_array_equal(fused, apart)
    x, z = (values[name] for name in ("x", "z"))
    difference = x - x * z
    power = np.exp(difference.astype(np.float32)).astype(np.float16)
    np.testing.assert_allclose(fused, power + z, rtol=2e-3)


def test_where_kernels_store_a_fused_one_is_more_precise(run_kernels):
    fused, _, values = outputs(run_kernels, KERNEL, fused=True)
    apart, _, _ = outputs(run_kernels, KERNEL, fused=False)
    x, z = (values[name].astype(np.float64) for name in ("x", "z"))
    truth = np.exp(x - x * z) + z
    assert not np.array_equal(fused, apart)
    assert np.abs(fused - truth).mean() < np.abs(apart - truth).mean()


def test_each_value_that_is_read_again_takes_a_conversion(run_kernels):
    """Four of the five are; an element has one exponential."""
    mixes = []
    for rounding in (KERNEL, OPERATOR):
        _, (kernel,), _ = outputs(run_kernels, rounding, fused=True)
        mixes.append(info(trace_of(allocate(kernel)))["mix"])
    assert mixes[1]["CONVERT"] - mixes[0]["CONVERT"] == 4 * mixes[1]["MUFU"]
