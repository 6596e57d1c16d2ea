"""Registers a thread of typical kernels against the middle half of real kernels of the kind, as profiler
traces of many models show them; what lies outside is listed in docs/DEVIATIONS.md with its reason, and
nothing else is.
"""

import re
from pathlib import Path

import pytest

from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE, VOLTA

DEVIATIONS = Path(__file__).parents[3] / "docs" / "DEVIATIONS.md"
SECTION = "## Registers a thread by kind of kernel"
QUARTILES = {
    "GEMM": (40, 168),
    "conv": (77, 160),
    "element-wise": (18, 32),
    "batch norm": (40, 46),
    "reduction": (32, 48),
    "layer norm": (31, 42),
    "softmax": (20, 108),
    "pooling": (26, 32),
    "concat": (18, 30),
    "layout transform": (32, 32),
    "dropout": (48, 48),
}
IMAGE = [32, 64, 56, 56]
ROWS = [512, 1024]


def case(kind, op, inputs, shape=IMAGE, attributes=None, **shapes):
    """A kind of the table with one operator as its typical kernel."""
    item = {"op": op, "inputs": inputs.split(), "output": "y", "shape": shape}
    return kind, item | {"input_shapes": shapes, "attributes": attributes or {}}


CASES = [
    case("element-wise", "Relu", "x"),
    case("element-wise", "Add", "x z"),
    case("element-wise", "Sigmoid", "x"),
    case("element-wise", "Gelu", "x", [512, 3072]),
    case("batch norm", "BatchNormalization", "x s h m v"),
    case("batch norm", "BatchNormalization", "x s h m v", IMAGE, {"training_mode": 1}),
    case("softmax", "Softmax", "x", ROWS),
    case("layer norm", "LayerNormalization", "x g b", ROWS, None, g=[1024], b=[1024]),
    case("reduction", "ReduceMean", "x", [512, 1], {"axes": [1]}, x=ROWS),
    case("reduction", "ReduceSum", "x", [1, 1024], {"axes": [0]}, x=ROWS),
    case(
        "pooling",
        "MaxPool",
        "x",
        IMAGE,
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        x=[32, 64, 112, 112],
    ),
    case("pooling", "GlobalAveragePool", "x", [32, 512, 1, 1], None, x=[32, 512, 7, 7]),
    case("concat", "Concat", "x z", [32, 128, 56, 56], {"axis": 1}, x=IMAGE, z=IMAGE),
    case("layout transform", "Transpose", "x", [1024, 512], {"perm": [1, 0]}, x=ROWS),
    case("GEMM", "MatMul", "x w", [1024, 1024], None, x=[1024, 1024], w=[1024, 1024]),
    case("conv", "Conv", "x w", IMAGE, {"pads": [1, 1, 1, 1]}, x=IMAGE, w=[64, 64, 3, 3]),
    case("dropout", "Dropout", "x"),
]


def measured():
    """Kernel name (without its operator) → its kind and registers on two cards in two types."""
    found = {}
    for kind, item in CASES:
        for dtype in ("float16", "float32"):
            graph = operator_list([item], dtype=dtype)
            for target in (VOLTA, AMPERE):
                plan = plan_for(graph, "none", target)
                assert not plan.opaque
                for trace in plan.traces:
                    name = re.sub(r":n\d+", "", trace.name)
                    known, counts = found.setdefault(name, (kind, []))
                    assert known == kind
                    counts.append(trace.registers_per_thread)
    return found


def listed():
    """The rows of the section: kernel name → (quartiles, least and most of ours)."""
    text = DEVIATIONS.read_text(encoding="utf-8").split(SECTION)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+)(?:–(\d+))? \| (\d+)(?:–(\d+))? \| \w", text, re.MULTILINE)
    return {
        name: ((int(low), int(high or low)), (int(least), int(most or least)))
        for name, low, high, least, most in rows
    }


def test_registers_lie_within_the_quartiles_or_are_explained():
    outside = {
        name: (QUARTILES[kind], (min(counts), max(counts)))
        for name, (kind, counts) in measured().items()
        if not all(QUARTILES[kind][0] <= count <= QUARTILES[kind][1] for count in counts)
    }
    assert outside == listed()


@pytest.mark.external
def test_the_quartiles_are_those_of_the_facts(shared_folder):
    text = (shared_folder / "facts" / "OCCUPANCY.md").read_text(encoding="utf-8")
    for kind, (low, high) in QUARTILES.items():
        row = re.search(rf"^\| {kind} \| ([\d /…]+)", text, re.MULTILINE)
        if row is None:
            assert re.search(rf"{kind} {low}\b", text)
            continue
        numbers = [int(one) for one in re.findall(r"\d+", row[1])]
        expected = (numbers[1], numbers[3]) if len(numbers) == 5 else (numbers[0], numbers[-1])
        assert (low, high) == expected
