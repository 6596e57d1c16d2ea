"""Look-ups and histograms, whose addresses hang on values: run on values that follow the stated pattern and
on others, against NumPy; contention of shared atomics against the pattern.
"""

import numpy as np
import pytest

from hwmodels.errors import InputError, ResultError
from hwmodels.operations import Operation
from hwmodels.shared_memory import contention
from simulator.trace.expand import expand
from simulator.workload.builders.gather import Pattern, Table, gather_kernel
from simulator.workload.builders.histogram import Bins, histogram_kernel
from simulator.workload.layout import Layout, Placement
from simulator.workload.lower import lower
from tests.simulator.workload.movement_support import run, traffic

SIZES = {"float16": 2, "float32": 4}


def lookup(rows, columns, count, dtype, pattern, index_type="int64"):
    place = Placement()
    for name, shape, kind in (
        ("table", (rows, columns), dtype),
        ("indices", (count,), index_type),
        ("y", (count, columns), dtype),
    ):
        place.place(name, Layout(shape, kind, "flat"), "input")
    infos = place.infos
    table = Table(columns * SIZES[dtype], {"int64": 8, "int32": 4}[index_type], count)
    return place, gather_kernel("g", "g", table, pattern, infos["table"], infos["indices"], infos["y"])


@pytest.mark.parametrize("cap", [None, 24])
@pytest.mark.parametrize("index_type", ["int64", "int32"])
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize(("rows", "columns", "count"), [(50, 768, 9), (7, 64, 32), (101, 20, 5), (3, 5, 6)])
def test_look_up(rows, columns, count, dtype, index_type, cap):
    pattern = Pattern.scattered(rows)
    place, kernel = lookup(rows, columns, count, dtype, pattern, index_type)
    values = {
        "table": np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype),
        "indices": np.array(pattern.values(count)),
    }
    got, trace = run(kernel, place, values, "y", cap)
    np.testing.assert_array_equal(got, values["table"][values["indices"]])
    assert 16 <= trace.registers_per_thread <= 32
    assert dict(trace.meta)["indices"] == str(pattern)


def test_other_indices_are_refused():
    place, kernel = lookup(16, 64, 8, "float16", Pattern(1, 0, 16))
    values = {"table": np.zeros((16, 64)), "indices": np.array([3] * 8)}
    with pytest.raises(ResultError, match="closed form"):
        run(kernel, place, values, "y")


def test_scattered_rows_come_once_before_any_comes_twice():
    for rows in (1, 2, 3, 10, 97, 1000):
        assert sorted(Pattern.scattered(rows).values(rows)) == list(range(rows))


def histogram(elements, bins):
    place = Placement()
    place.place("x", Layout((elements,), "int32", "flat"), "input")
    place.place("y", Layout((bins.bins,), "int32", "flat"), "output")
    return place, histogram_kernel("h", "h", elements, bins, place.infos["x"], place.infos["y"])


@pytest.mark.parametrize("cap", [None, 24])
@pytest.mark.parametrize(
    ("elements", "bins"),
    [
        (2048, Bins(256)),
        (1500, Bins(64, 7, 5)),
        (1000, Bins(300, 1, 0, 3)),
        (777, Bins(1)),
        (33, Bins(600, 11)),
    ],
)
def test_histogram(elements, bins, cap):
    place, kernel = histogram(elements, bins)
    x = np.array(bins.values(elements))
    got, trace = run(kernel, place, {"x": x, "y": np.zeros(bins.bins)}, "y", cap)
    np.testing.assert_array_equal(got, np.bincount(x, minlength=bins.bins))
    assert 16 <= trace.registers_per_thread <= 32
    assert traffic(trace)["LDG"] == 4 * elements


@pytest.mark.parametrize(
    ("bins", "ways"), [(Bins(256), 1), (Bins(256, 1, 0, 8), 8), (Bins(4), 8), (Bins(1), 32)]
)
def test_contention_follows_the_pattern(bins, ways):
    _, kernel = histogram(1024, bins)
    trace = lower(kernel)
    worst = {
        contention(step.addresses, step.mask)
        for step in expand(trace)
        if trace.flat().instructions[step.static].operation is Operation.ATOMS
    }
    assert worst == {ways}


def test_too_many_bins():
    with pytest.raises(InputError, match="48 KiB"):
        histogram(10, Bins(20_000))
