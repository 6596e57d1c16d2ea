"""Element functions, broadcasting and conversions, run on values, against NumPy; registers, bytes and vector
widths against closed forms.
"""

import math

import numpy as np
import pytest

from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.workload.builders.axes import right_aligned
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.pointwise import pointwise_kernel
from simulator.workload.builders.pointwise_program import Node, Operand, Pointwise, Result
from simulator.workload.ir import walk
from simulator.workload.layout import Layout, Placement, activation
from simulator.workload.lower import trace_of

ERF = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


SQUASHED = {
    "leaky relu": (0.1,),
    "elu": (1.5, 2.0, 1.25),
    "hard sigmoid": (0.2, 0.5),
    "clip": (-0.5, 0.75),
    "scale": (2.0, -1.0),
}
TRUTH = {
    "identity": lambda x: x,
    "negative": lambda x: -x,
    "absolute": np.abs,
    "exponential": np.exp,
    "logarithm": lambda x: np.log(np.abs(x)),
    "root": lambda x: np.sqrt(np.abs(x)),
    "reciprocal root": lambda x: 1 / np.sqrt(np.abs(x)),
    "reciprocal": lambda x: 1 / x,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "erf": ERF,
    "gelu": lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2))),
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "relu": lambda x: np.maximum(x, 0),
    "leaky relu": lambda x: np.where(x < 0, 0.1 * x, x),
    "elu": lambda x: np.where(x < 0, 1.5 * np.expm1(x / 2), 1.25 * x),
    "hard sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "hard swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "sign": np.sign,
    "floor": np.floor,
    "ceiling": np.ceil,
    "round": np.rint,
    "truncate": np.trunc,
    "clip": lambda x: np.clip(x, -0.5, 0.75),
    "scale": lambda x: 2 * x - 1,
    "not": lambda x: x == 0,
    "non-zero": lambda x: x != 0,
    "one": np.ones_like,
    "square": np.square,
}
POSITIVE = {"logarithm", "root", "reciprocal root"}
BINARY_TRUTH = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": lambda x, y: np.power(x, np.rint(y)),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "parametric relu": lambda x, y: np.where(x < 0, x * y, x),
    "equal": np.equal,
    "less": np.less,
    "greater": np.greater,
    "not less": np.greater_equal,
    "not greater": np.less_equal,
}
TERNARY = {"affine", "where", "dropped", "quantised", "restored", "keep"}


def program(place, function, shapes, dtypes, out_shape, out_dtype, numbers=(), layout=activation):
    """One function over inputs a, b, …, as a kernel's program with the result `out`."""
    operands = []
    for name, shape, dtype in zip("abc", shapes, dtypes, strict=False):
        own = layout(shape, dtype)
        info = place.place(name, own, "input")
        operands.append(Operand(info, own, right_aligned(shape, len(out_shape)), "n0"))
    own = layout(out_shape, out_dtype)
    out = place.place("out", own, "output")
    node = Node(function, "n0", tuple(range(len(operands))), out, numbers)
    return Pointwise(tuple(operands), (node,), (Result(len(operands), out, own, "n0"),))


def values_for(function, count, dtype):
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.normal(0, 3, count - 6), [0.5, -0.25, 1e-3, -30.0, 30.0, 2.0]]).astype(dtype)
    return np.abs(x) if function in POSITIVE else x


def test_every_function_has_a_truth():
    assert set(TRUTH) | set(BINARY_TRUTH) | TERNARY == set(ELEMENT_FUNCTIONS)


@pytest.mark.parametrize("function", sorted(TRUTH))
def test_functions_of_one_operand(run_kernels, function):
    x = values_for(function, 515, np.float32)
    place = Placement()
    work = program(place, function, [(515,)], ["float32"], (515,), "float32", SQUASHED.get(function, ()))
    kernel = pointwise_kernel(function, work)
    (got,), (allocation,) = run_kernels([kernel], place, {"a": x}, ["out"])
    expected = TRUTH[function](x.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=5e-7)
    assert 16 <= allocation.registers_per_thread <= 50
    check(trace_of(allocation))


def test_extremes(run_kernels):
    """Subnormal, huge and infinite arguments: what the special function unit alone would get wrong."""
    tiny = np.float32(1e-40)
    x = np.array([tiny, 1e-38, 3e38, np.inf, 0, 100, -100, -np.inf], np.float32)
    expected = {
        "logarithm": np.log(np.abs(x.astype(np.float64))),
        "root": np.sqrt(np.abs(x)),
        "exponential": np.exp(x.astype(np.float64)),
        "sigmoid": sigmoid(x.astype(np.float64)),
        "tanh": np.tanh(x),
        "erf": ERF(x),
        "softplus": np.logaddexp(x.astype(np.float64), 0),
    }
    for function, truth in expected.items():
        place = Placement()
        kernel = pointwise_kernel("k", program(place, function, [(8,)], ["float32"], (8,), "float32"))
        given = np.abs(x) if function in POSITIVE else x
        (got,), _ = run_kernels([kernel], place, {"a": given}, ["out"])
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(got, truth.astype(np.float32), rtol=2e-5, atol=1e-38, err_msg=function)


@pytest.mark.parametrize("function", sorted(BINARY_TRUTH))
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_functions_of_two_operands(run_kernels, function, dtype):
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, (7, 24)).astype(dtype)
    y = rng.integers(-2, 3, (7, 24)).astype(dtype) if function == "power" else x[:, ::-1].copy()
    x[2, :5] = y[2, :5] if function != "power" else x[2, :5]
    place = Placement()
    kernel = pointwise_kernel(
        function, program(place, function, [(7, 24)] * 2, [dtype] * 2, (7, 24), dtype), vectors=1
    )
    (got,), _ = run_kernels([kernel], place, {"a": x, "b": y}, ["out"])
    expected = BINARY_TRUTH[function](x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(got, expected, rtol=2e-3 if dtype == "float16" else 3e-6, atol=1e-6)


BROADCASTS = [
    ((2, 3, 8), (8,)),
    ((2, 3, 8), (3, 1)),
    ((2, 1, 8), (1, 3, 1)),
    ((5,), ()),
    ((3, 7), (7,)),
    ((1, 6), (5, 1)),
    ((2, 8, 3, 5), (8, 1, 1)),
    ((2, 5, 3, 3), (5, 1, 1)),
    ((2, 8, 3, 5), (1, 8, 1, 1)),
    ((2, 8, 3, 5), (2, 1, 3, 5)),
    ((2, 8, 3, 5), (5,)),
    ((1, 1, 1, 1), (2, 3, 2, 9)),
    ((33, 65), (33, 65)),
]


@pytest.mark.parametrize("shapes", BROADCASTS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("cap", [None, 24])
def test_broadcasting_of_any_kind(run_kernels, shapes, dtype, cap):
    rng = np.random.default_rng(5)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for shape in shapes)
    expected = x - y
    for layout in (activation, lambda shape, dtype: Layout(shape, dtype, "flat")):
        place = Placement()
        work = program(place, "subtract", shapes, [dtype] * 2, expected.shape, dtype, (), layout)
        (got,), (allocation,) = run_kernels(
            [pointwise_kernel("sub", work)], place, {"a": x, "b": y}, ["out"], cap
        )
        np.testing.assert_array_equal(got, expected)
        check(trace_of(allocation))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_vector_widths_move_the_same_bytes(run_kernels, lanes):
    x = np.arange(1024, dtype=np.float16).reshape(1024)
    place = Placement()
    work = program(place, "negative", [(1024,)], ["float16"], (1024,), "float16")
    kernel = pointwise_kernel("neg", work, lanes)
    (got,), (allocation,) = run_kernels([kernel], place, {"a": x}, ["out"])
    np.testing.assert_array_equal(got, -x)
    trace = trace_of(allocation)
    widths = {i.bytes_per_lane for i in trace.program.body if i.bytes_per_lane}
    assert widths == {2 * lanes}
    threads = trace.blocks * trace.threads_per_block
    moved = sum(i.bytes_per_lane for i in trace.program.body if i.operation is Operation.LDG) * threads
    assert moved == 2048
    assert allocation.registers_per_thread <= 32


@pytest.mark.parametrize("source", ["float16", "float32", "int8", "uint8", "int32", "bool"])
@pytest.mark.parametrize("target", ["float16", "float32", "int8", "uint8", "int32"])
def test_casts(run_kernels, source, target):
    x = np.random.default_rng(1).integers(0, 2 if source == "bool" else 120, (3, 37)).astype(source)
    place = Placement()
    kernel = pointwise_kernel("cast", program(place, "identity", [(3, 37)], [source], (3, 37), target))
    (got,), (allocation,) = run_kernels([kernel], place, {"a": x}, ["out"])
    np.testing.assert_array_equal(got, x.astype(target))
    check(trace_of(allocation))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("code", ["int8", "uint8"])
def test_quantise_and_restore(run_kernels, dtype, code):
    x = np.random.default_rng(2).normal(0, 20, (5, 33)).astype(dtype)
    scale, zero = np.array(0.25, dtype), np.array(3, code)
    low, high = (-128, 127) if code == "int8" else (0, 255)
    place = Placement()
    work = program(place, "quantised", [(5, 33), (), ()], [dtype, dtype, code], (5, 33), code, (low, high))
    (got,), _ = run_kernels([pointwise_kernel("q", work)], place, {"a": x, "b": scale, "c": zero}, ["out"])
    expected = np.clip(np.rint(x.astype(np.float32) / 0.25) + 3, low, high).astype(code)
    np.testing.assert_array_equal(got, expected)
    place = Placement()
    work = program(place, "restored", [(5, 33), (), ()], [code, dtype, code], (5, 33), dtype)
    (back,), _ = run_kernels([pointwise_kernel("d", work)], place, {"a": got, "b": scale, "c": zero}, ["out"])
    np.testing.assert_array_equal(back, ((got.astype(np.float32) - 3) * 0.25).astype(dtype))


def test_where_takes_a_truth_value(run_kernels):
    rng = np.random.default_rng(4)
    flag, x, y = rng.integers(0, 2, (4, 1)).astype(bool), rng.normal(size=(4, 9)), rng.normal(size=(9,))
    place = Placement()
    shapes, dtypes = [(4, 1), (4, 9), (9,)], ["bool", "float32", "float32"]
    work = program(place, "where", shapes, dtypes, (4, 9), "float32")
    (got,), _ = run_kernels([pointwise_kernel("w", work)], place, {"a": flag, "b": x, "c": y}, ["out"])
    np.testing.assert_array_equal(got, np.where(flag, x, y).astype(np.float32))


def test_elements_in_turn_are_written_before_the_next_is_read(run_kernels):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(5, 77)).astype("float32"), rng.normal(size=(5, 1)).astype("float32")
    place = Placement()
    work = program(place, "multiply", [(5, 77), (5, 1)], ["float32"] * 2, (5, 77), "float32")
    kernel = pointwise_kernel("k", work, 1, 2, in_turn=True)
    assert kernel.grid[0] == 2
    (got,), _ = run_kernels([kernel], place, {"a": x, "b": y}, ["out"])
    np.testing.assert_array_equal(got, x * y)
    moves = [op.operation for _, op in walk(kernel.body) if op.operation in {Operation.LDG, Operation.STG}]
    assert moves == [Operation.LDG, Operation.LDG, Operation.STG] * 2
