"""Dropout: the random numbers against the published generator's own test vectors and an independent one in
plain integers; the mask, the scaled values and inference.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from simulator.fusion.legality import Legality
from simulator.workload.build import KernelMaker
from simulator.workload.element_program import SEED
from simulator.workload.emit import Emitter
from simulator.workload.groups import Group
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.ir import Special
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import graph_of
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

MASK = 2**32 - 1


def philox(counter, key):
    """Ten rounds on four words, in Python integers."""
    a, b, c, d = counter, 0, 0, 0
    low, high = key & MASK, key >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ low, second & MASK, (first >> 32) ^ d ^ high, first & MASK
        low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
    return a, b, c, d


def test_generator_gives_its_published_vector():
    """Known answer of the generator for an all-zero counter and key (Random123's test vectors)."""
    assert philox(0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def test_kernel_computes_the_same_words():
    from simulator.trace.schema import TensorInfo
    from simulator.workload.allocate import allocate
    from simulator.workload.builders.floats import Floats
    from simulator.workload.builders.random_numbers import philox as written

    emitter = Emitter("random", (1, 1, 1), 32)
    thread = emitter.special(Special.THREAD)
    info = TensorInfo("out", 512, 1 << 36, "output")
    pointer = emitter.pointer(info.base_address, thread, 16)
    for place, part in enumerate(written(Floats(emitter), thread.part, 7 << 32 | 5)):
        emitter.store(pointer, part, 4 * place)
    memory = GlobalMemory()
    memory.place("out", info.base_address, info.bytes)
    interpret(allocate(emitter.finish()), memory)
    got = memory.content("out").view(np.uint32).reshape(32, 4)
    assert [tuple(map(int, row)) for row in got] == [philox(lane, 7 << 32 | 5) for lane in range(32)]


def run(inputs, outputs, dtype, shape, values, attributes=()):
    """The outputs of one Dropout, by name."""
    form = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}[dtype]
    node = helper.make_node("Dropout", ["x", *inputs], outputs)
    weights = [numpy_helper.from_array(values[name], name) for name in inputs if name]
    made = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", form, shape)],
        [helper.make_tensor_value_info("y", form, None)]
        + [helper.make_tensor_value_info("mask", TensorProto.BOOL, None)] * (len(outputs) > 1),
        weights,
    )
    graph = graph_of(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)]), "m")
    place, memory = Placement(), GlobalMemory()
    plan = plan_for(graph, "none", AMPERE, None, place)
    for name, info in place.infos.items():
        memory.place(
            name, info.base_address, place.layouts[name].pack(values[name]) if name in values else info.bytes
        )
    for kernel in plan.kernels:
        interpret(kernel.allocation, memory)
        assert kernel.trace.registers_per_thread <= 64
    return {name: place.layouts[name].unpack(memory.content(name)) for name in outputs}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(3, 40), (5, 7, 11)])
@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.9])
def test_training(dtype, shape, ratio):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    values = {"x": x, "r": np.array(ratio, dtype), "t": np.array(True)}
    got = run(["r", "t"], ["y", "mask"], dtype, shape, values)
    numbers = [philox(index // 4, SEED)[index % 4] for index in range(x.size)]
    chance = (np.array(numbers, np.uint32) >> 8).astype(np.float32) * np.float32(2**-24)
    mask = (chance >= np.float32(np.array(ratio, dtype))).reshape(shape)
    np.testing.assert_array_equal(got["mask"], mask)
    expected = np.where(mask, x.astype(np.float64) / (1 - float(np.array(ratio, dtype))), 0)
    np.testing.assert_allclose(
        got["y"].astype(np.float64), expected, rtol=2e-3 if dtype == "float16" else 1e-6
    )


def test_inference_copies_and_keeps_everything():
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    for inputs, values in (([], {}), (["r", "t"], {"r": np.array(0.5, np.float32), "t": np.array(False)})):
        got = run(inputs, ["y", "mask"], "float32", (4, 9), {"x": x, **values})
        np.testing.assert_array_equal(got["y"], x)
        assert got["mask"].all()


@pytest.mark.parametrize("shape", [[6, 96], [3, 1000], [2, 36000]])
def test_before_a_row_the_same_elements_are_dropped(run_kernels, shape):
    """Dropout, addition and layer normalisation in one kernel give bit for bit what three kernels give: rows
    by a warp, by a block, and too long to stay in registers.
    """
    items = [
        {
            "op": "Dropout",
            "inputs": ["x"],
            "output": "d",
            "shape": shape,
            "attributes": {"training": 1, "ratio": 0.3},
        },
        {"op": "Add", "inputs": ["d", "r"], "output": "s", "shape": shape},
        {
            "op": "LayerNormalization",
            "inputs": ["s", "g", "b"],
            "output": "y",
            "shape": shape,
            "input_shapes": {"g": shape[1:], "b": shape[1:]},
        },
    ]
    rng = np.random.default_rng(8)
    graph = operator_list(items, None, "float32")
    values = {
        name: rng.standard_normal(graph.tensors[name].shape).astype(np.float32)
        for name in ("x", "r", "g", "b")
    }
    results = []
    for groups in ([graph.operators], [(operator,) for operator in graph.operators]):
        place = Placement()
        maker = KernelMaker(graph, AMPERE, place)
        kernels = [kernel for members in groups for kernel in maker.kernels(Group(tuple(members)))]
        assert len(kernels) == len(groups)
        (result,), _ = run_kernels(kernels, place, values, ["y"])
        results.append(result)
    np.testing.assert_array_equal(*results)
    assert Legality(graph).refusal(["n0", "n1", "n2"]) is None


def test_without_numbers_of_elements_rows_take_no_dropout():
    """Rows down the columns, and the region behind a row, do not know them."""
    shape = [8, 64]
    items = [
        {"op": "Softmax", "inputs": ["x"], "output": "s", "shape": shape},
        {"op": "Dropout", "inputs": ["s"], "output": "y", "shape": shape, "attributes": {"training": 1}},
    ]
    assert Legality(operator_list(items)).refusal(["n0", "n1"]).rule == "kind"
    items = [
        {"op": "Dropout", "inputs": ["x"], "output": "s", "shape": shape, "attributes": {"training": 1}},
        {"op": "Softmax", "inputs": ["s"], "output": "y", "shape": shape, "attributes": {"axis": 0}},
    ]
    assert Legality(operator_list(items)).refusal(["n0", "n1"]).rule == "kind"
