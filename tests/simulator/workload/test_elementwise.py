"""Element-wise kernels, run on values, against NumPy; their registers and bytes against closed forms."""

import numpy as np
import pytest

from hwmodels.operations import Operation
from simulator.workload.builders.chain import Stage
from simulator.workload.builders.elementwise import elementwise_kernel
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import lower


def chain(shape, dtype):
    """BatchNorm, Add, Relu over one layout, and its inputs."""
    layout = Layout(shape, dtype, "activation")
    vector = Layout((1, shape[1]), "float32", "activation")
    place = Placement()
    x, y, out = (place.place(n, layout, "input") for n in ("x", "y", "out"))
    mid, summed = (place.place(n, layout, "intermediate") for n in ("mid", "summed"))
    scale, shift = (place.place(n, vector, "weight") for n in ("scale", "shift"))
    stages = (
        Stage("affine", "bn", x, mid, scale, shift),
        Stage("add", "sum", mid, summed, other=y),
        Stage("relu", "relu", summed, out),
    )
    return layout, place, stages


@pytest.mark.parametrize("cap", [None, 24])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(2, 64, 5, 7), (1, 3, 33, 31), (1, 17, 9, 4), (1, 2048, 2, 3)])
def test_chain_gives_true_values(run_kernels, shape, dtype, cap):
    layout, place, stages = chain(shape, dtype)
    rng = np.random.default_rng(7)
    values = {
        "x": rng.standard_normal(shape).astype(dtype),
        "y": rng.standard_normal(shape).astype(dtype),
        "scale": rng.standard_normal((1, shape[1])).astype(np.float32),
        "shift": rng.standard_normal((1, shape[1])).astype(np.float32),
    }
    kernel = elementwise_kernel("chain", stages, layout)
    (got,), (allocation,) = run_kernels([kernel], place, values, ["out"], cap)
    broad = {n: values[n].reshape(1, -1, 1, 1).astype(np.float64) for n in ("scale", "shift")}
    expected = np.maximum(values["x"].astype(np.float64) * broad["scale"] + broad["shift"] + values["y"], 0)
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=1e-5)
    assert (allocation.spill_bytes_per_thread > 0) == (cap is not None)
    assert cap is None or allocation.registers_per_thread <= cap


def test_relu_needs_few_registers_and_moves_its_bytes_once():
    layout = Layout((2, 64, 16, 16), "float16", "activation")
    place = Placement()
    x, y = place.place("x", layout, "input"), place.place("y", layout, "output")
    trace = lower(elementwise_kernel("relu", (Stage("relu", "n0", x, y),), layout))
    assert 16 <= trace.registers_per_thread <= 32
    threads = trace.blocks * trace.threads_per_block
    moved = {Operation.LDG: 0, Operation.STG: 0}
    for instruction in trace.program.body:
        if instruction.operation in moved:
            moved[instruction.operation] += threads * instruction.bytes_per_lane
    assert moved == {Operation.LDG: layout.bytes, Operation.STG: layout.bytes}


def test_batch_norm_and_relu_stay_in_the_usual_range():
    _, _, stages = chain((2, 64, 16, 16), "float16")
    layout = Layout((2, 64, 16, 16), "float16", "activation")
    trace = lower(elementwise_kernel("bn", stages[:1], layout))
    assert 24 <= trace.registers_per_thread <= 46
