"""Kernels that work on rows (reductions, softmax, layer and RMS normalisation), run on values, against NumPy;
registers, arithmetic and bytes against closed forms.
"""

import numpy as np
import pytest

from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.info import info as summary
from simulator.workload.allocate import allocate
from simulator.workload.builders.normalisation import Normalisation, normalisation_kernel
from simulator.workload.builders.reduction import Reduction, atomic_sum, reduction_kernel, shared_reduction
from simulator.workload.builders.row_tracks import Strip, row_space
from simulator.workload.builders.softmax import softmax_kernel
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Layout, Placement, activation
from simulator.workload.lower import lower, trace_of


def flat(shape, dtype):
    return Layout(shape, dtype, "flat")


def space_for(place, shape, dtype, axes, layout=flat, outputs=("y",), parameters=(), result_dtype=None):
    """The rows of `x` over some axes, beside results of its shape, or without the axes (`-name`), and
    parameters along the axes.
    """
    rank = tuple(range(len(shape)))
    own = layout(shape, dtype)
    strips = [Strip(place.place("x", own, "input"), own, rank)]
    short = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    for name in outputs:
        kind = layout(short, result_dtype or dtype) if name[0] == "-" else own
        strips.append(Strip(place.place(name, kind, "output"), kind, rank))
    for name in parameters:
        kind = flat(tuple(shape[axis] for axis in axes), dtype)
        strips.append(Strip(place.place(name, kind, "weight"), kind, tuple(axes)))
    return row_space(strips[0], strips[1:], frozenset(axes))


ROWS = [
    ((6, 8), (1,)),
    ((5, 33), (1,)),
    ((2, 3, 200), (2,)),
    ((3, 1030), (1,)),
    ((2, 4100), (1,)),
    ((1, 9000), (1,)),
    ((4, 6, 10), (1,)),
    ((3, 4, 5, 6), (1, 2)),
    ((2, 3, 4, 8), (0, 2, 3)),
    ((7, 9), (0, 1)),
    ((1, 40000), (1,)),
]
# With a cap where rows are held in registers, then without one everywhere.
CAPPED = [(*row, 32) for row in (ROWS[1], ROWS[3], ROWS[6])] + [(*row, None) for row in ROWS]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("shape", "axes", "cap"), CAPPED)
def test_softmax(run_kernels, shape, axes, dtype, cap):
    x = (np.random.default_rng(1).normal(size=shape) * 4).astype(dtype)
    place = Placement()
    kernel = softmax_kernel("softmax", "n0", space_for(place, shape, dtype, axes))
    (got,), (allocation,) = run_kernels([kernel], place, {"x": x}, ["y"], cap)
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=axes, keepdims=True))
    expected = powers / powers.sum(axis=axes, keepdims=True)
    tolerance = 2e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=1e-7)
    assert allocation.registers_per_thread <= (cap or 109)
    check(trace_of(allocation))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("shape", "axes"), [((5, 33), (1,)), ((1, 9000), (1,)), ((4, 6, 10), (1,))])
def test_logarithm_of_softmax(run_kernels, shape, axes, dtype):
    x = (np.random.default_rng(1).normal(size=shape) * 4).astype(dtype)
    place = Placement()
    kernel = softmax_kernel("s", "n0", space_for(place, shape, dtype, axes), logarithm=True)
    (got,), _ = run_kernels([kernel], place, {"x": x}, ["y"])
    wide = x.astype(np.float64)
    lowered = wide - wide.max(axis=axes, keepdims=True)
    expected = lowered - np.log(np.exp(lowered).sum(axis=axes, keepdims=True))
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=2e-3 if dtype == "float16" else 1e-5, atol=2e-6
    )


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("shape", "axes", "cap"), CAPPED[:10])
def test_layer_and_rms_normalisation(run_kernels, shape, axes, dtype, centred, cap):
    rng = np.random.default_rng(2)
    x = (rng.normal(size=shape) * 2 + 50 * centred).astype(dtype)
    extents = [shape[axis] for axis in axes]
    gain, move = rng.normal(size=extents).astype(dtype), rng.normal(size=extents).astype(dtype)
    place = Placement()
    space = space_for(place, shape, dtype, axes, outputs=("y", "-mean", "-dev"), parameters=("g", "b"))
    what = Normalisation(1, 4, 5, 2 if centred else -1, 3, 1e-3, centred)
    kernel = normalisation_kernel("norm", "n0", space, what)
    (got, mean, deviation), (allocation,) = run_kernels(
        [kernel], place, {"x": x, "g": gain, "b": move}, ["y", "-mean", "-dev"], cap
    )
    wide = x.astype(np.float64)
    middle = wide.mean(axis=axes, keepdims=True) if centred else 0.0
    inverse = 1 / np.sqrt(((wide - middle) ** 2).mean(axis=axes, keepdims=True) + 1e-3)
    form = [extent if axis in axes else 1 for axis, extent in enumerate(shape)]
    expected = (wide - middle) * inverse * gain.reshape(form) + move.reshape(form)
    tolerance = 4e-3 if dtype == "float16" else 5e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(deviation.astype(np.float64), inverse, rtol=tolerance)
    if centred:
        np.testing.assert_allclose(mean.astype(np.float64), middle, rtol=tolerance)
    assert allocation.registers_per_thread <= (cap or 56)
    check(trace_of(allocation))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("threads", [64, 256])
def test_normalisation_with_given_threads(run_kernels, threads, dtype, again):
    """Rows of 2,100 elements: kept by 256 threads, read again by 64."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 2100)).astype(dtype)
    gain, move = rng.normal(size=2100).astype(dtype), rng.normal(size=2100).astype(dtype)
    place = Placement()
    space = space_for(place, x.shape, dtype, (1,), parameters=("g", "b"))
    what = Normalisation(1, 2, 3, again=again, threads=threads)
    kernel = normalisation_kernel("norm", "n0", space, what)
    assert (kernel.threads, kernel.grid[0]) == (threads, 3)
    (got,), (allocation,) = run_kernels([kernel], place, {"x": x, "g": gain, "b": move}, ["y"])
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gain + move
    tolerance = 8e-3 if dtype == "float16" else 5e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
    check(trace_of(allocation))


def test_a_block_of_all_threads_bounds_its_registers(run_kernels):
    """A thousand threads that keep 32 elements each get no more registers than an SM has for them."""
    place = Placement()
    space = space_for(place, (1, 32768), "float32", (1,), parameters=("g", "b"))
    kernel = normalisation_kernel("norm", "n0", space, Normalisation(1, 2, 3, threads=1024))
    allocation = allocate(kernel)
    assert allocation.registers_per_thread <= 64
    x = np.random.default_rng(7).normal(size=(1, 32768)).astype("float32")
    ones, zeros = np.ones(32768, "float32"), np.zeros(32768, "float32")
    (got,), _ = run_kernels([kernel], place, {"x": x, "g": ones, "b": zeros}, ["y"])
    np.testing.assert_allclose(got, (x - x.mean()) / x.std(), rtol=1e-4, atol=1e-4)


def test_softmax_with_given_threads(run_kernels):
    x = np.random.default_rng(5).normal(size=(3, 1000)).astype("float32")
    place = Placement()
    kernel = softmax_kernel("s", "n0", space_for(place, x.shape, "float32", (1,)), threads=64)
    assert (kernel.threads, kernel.grid[0]) == (64, 3)
    (got,), _ = run_kernels([kernel], place, {"x": x}, ["y"])
    powers = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


REDUCTIONS = {
    "sum": (Reduction("identity", "add"), np.sum),
    "mean": (Reduction("identity", "add"), np.mean),
    "greatest": (Reduction("identity", "maximum"), np.max),
    "least": (Reduction("identity", "minimum"), np.min),
    "length": (
        Reduction("square", "add", "root"),
        lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims)),
    ),
    "product": (Reduction("identity", "multiply"), np.prod),
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@pytest.mark.parametrize(("shape", "axes"), [*ROWS[:5], *ROWS[6:10]])
def test_reductions(run_kernels, shape, axes, name):
    what, truth = REDUCTIONS[name]
    rng = np.random.default_rng(3)
    x = rng.uniform(0.98, 1.02, shape) if name == "product" else rng.normal(size=shape)
    x = x.astype(np.float32)
    if name == "mean":
        what = Reduction("identity", "add", "scale", (1 / np.prod([shape[axis] for axis in axes]), 0.0))
    for layout in (flat, activation):
        place = Placement()
        space = space_for(place, shape, "float32", axes, layout, ("-y",))
        (got,), (allocation,) = run_kernels(
            [reduction_kernel("r", "n0", space, what)], place, {"x": x}, ["-y"]
        )
        expected = truth(x.astype(np.float64), axis=axes, keepdims=True)
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-5)
        assert allocation.registers_per_thread <= 80
        check(trace_of(allocation))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    ("shape", "axes", "segments"), [((3, 9001), (1,), 4), ((2, 5, 700), (0, 2), 3), ((1, 70_001), (1,), 2)]
)
def test_rows_shared_by_blocks(run_kernels, shape, axes, segments, dtype):
    x = np.random.default_rng(4).normal(size=shape).astype(dtype)
    expected = x.astype(np.float64).sum(axis=axes, keepdims=True)
    for atomic in (True, False):
        place = Placement()
        space = space_for(place, shape, dtype, axes, flat, ("-y",), result_dtype="float32")
        what = Reduction("identity", "add")
        if atomic:
            kernels = atomic_sum("sum", "n0", space, what, segments)
        else:
            layout = flat((expected.size * segments,), "float32")
            partial = place.place("partial", layout, "intermediate")
            kernels = shared_reduction("sum", "n0", space, what, segments, partial)
        if atomic:
            # The order of atomic additions is the order of warps, so the two orders differ in rounding.
            memory = GlobalMemory()
            for name, info in place.infos.items():
                content = place.layouts[name].pack(x) if name == "x" else info.bytes
                memory.place(name, info.base_address, content)
            for kernel in kernels:
                interpret(allocate(kernel), memory)
            got = place.layouts["-y"].unpack(memory.content("-y"))
        else:
            (got,), _ = run_kernels(kernels, place, {"x": x}, ["-y"])
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-3)


def test_traffic_of_a_row_that_fits_is_read_once():
    place = Placement()
    kernel = softmax_kernel("s", "n0", space_for(place, (6, 520), "float16", (1,)))
    trace = lower(kernel)
    moved = {Operation.LDG: 0, Operation.STG: 0}
    functions = 0
    for step in expand(trace):
        instruction = trace.flat().instructions[step.static]
        if instruction.operation in moved:
            moved[instruction.operation] += step.mask.bit_count() * instruction.bytes_per_lane
        functions += instruction.operation is Operation.MUFU
    assert moved == {Operation.LDG: 6 * 520 * 2, Operation.STG: 6 * 520 * 2}
    # Two blocks of four warps; each lane has three vectors of eight, and one reciprocal.
    assert functions == 8 * (3 * 8 + 1)


@pytest.mark.parametrize(("length", "passes"), [(512, 1), (40_000, 2)])
def test_bytes_of_a_normalisation(run_kernels, length, passes):
    """A row that fits is read once, a long one twice, and its first element by every thread; scale and shift
    once a row.
    """
    place = Placement()
    space = space_for(place, (3, length), "float32", (1,), parameters=("g", "b"))
    kernel = normalisation_kernel("n", "n0", space, Normalisation(1, 2, 3))
    memory = GlobalMemory()
    for info in place.infos.values():
        memory.place(info.name, info.base_address, np.zeros(info.bytes, np.uint8))
    interpret(allocate(kernel), memory)
    first = 3 * kernel.threads * 16 if passes > 1 else 0
    assert memory.read_bytes == 3 * length * 4 * (passes + 2) + first
    assert memory.written_bytes == 3 * length * 4


def test_arithmetic_of_a_sum():
    """Each lane adds its elements; a warp then adds five times, and a block's warps twice more."""
    for length in (1024, 8192):
        place = Placement()
        space = space_for(place, (4, length), "float32", (1,), outputs=("-y",))
        trace = lower(reduction_kernel("r", "n0", space, Reduction("identity", "add")))
        mix = summary(trace)["mix"]
        warps = trace.threads_per_block // 32 if trace.blocks == 4 else 1
        assert mix["FADD"] == 4 * (length // 32 + warps * (5 + warps.bit_length() - 1))
        assert mix["SHUFFLE"] == 4 * warps * (5 + warps.bit_length() - 1)
