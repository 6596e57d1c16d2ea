"""Which points a sweep has: products in order, keys that vary together, what `--set` does to an axis."""

import itertools

import pytest

from experiments.sweep.axes import MOST_POINTS, axes_of, combinations, written
from hwmodels.errors import InputError

SWEEP = {"registers.cap": [None, 32, 64], "gpu.l2.size_kib, gpu.l2.slices": [[6144, 32], [3072, 16]]}


def points(sweep, settings=None):
    axes, rest = axes_of(sweep, settings or {}, "c.yaml")
    return combinations(axes, "c.yaml"), rest


def test_the_points_are_the_product_and_the_last_axis_changes_fastest() -> None:
    made, _ = points(SWEEP)
    expected = [
        {"registers.cap": cap, "gpu.l2.size_kib": size, "gpu.l2.slices": slices}
        for cap, (size, slices) in itertools.product([None, 32, 64], [(6144, 32), (3072, 16)])
    ]
    assert made == expected


def test_set_narrows_an_axis_gives_it_others_or_adds_one() -> None:
    made, rest = points(
        SWEEP, {"registers.cap": 48, "sweep.launch": ["stream", "graph"], "workload.batch": 2}
    )
    assert rest == {"workload.batch": 2}
    assert len(made) == 4
    assert {point["registers.cap"] for point in made} == {48}
    assert [point["launch"] for point in made[:2]] == ["stream", "graph"]
    assert len(points(SWEEP, {"registers.cap": [16, 20, 24, 28]})[0]) == 8


@pytest.mark.parametrize(
    ("sweep", "settings", "message"),
    [
        ({}, {}, "names no key to vary"),
        ({"registers.cpa": [1]}, {}, "registers.cap"),
        ({"gpu.l2.sizekib": [1]}, {}, "did you mean 'l2.size_kib'"),
        ({"name": ["a", "b"]}, {}, "name can't be an axis"),
        ({"registers.cap": []}, {}, "no list of values"),
        ({"registers.cap": [32, 32]}, {}, "stands twice"),
        ({"registers.cap": [32], "registers.cap, launch": [[32, "graph"]]}, {}, "two axes"),
        ({"registers.cap, launch": [[32]]}, {}, "no list of 2 values"),
        ({"registers.cap, launch": [[32, "graph"]]}, {"launch": "stream"}, "zipped with registers.cap"),
        ({"registers.cap": list(range(16, 256)), "workload.batch": list(range(1, 1000))}, {}, "points"),
    ],
)
def test_what_is_wrong_is_one_error(sweep, settings, message) -> None:
    with pytest.raises(InputError, match=r"c\.yaml|--set") as raised:
        points(sweep, settings)
    assert message in str(raised.value)


def test_the_limit_of_points_is_exact() -> None:
    wide = {"workload.batch": list(range(1, 10_001)), "registers.cap": list(range(20, 30))}
    assert len(points(wide)[0]) == MOST_POINTS
    wide["registers.cap"].append(30)
    with pytest.raises(InputError, match="110,000 points"):
        points(wide)


def test_true_and_one_are_two_values() -> None:
    made, _ = points({"workload.batch": [1, True]})
    assert len(made) == 2


def test_cells_keep_numbers_and_say_null() -> None:
    values = [None, 3, 0.5, "1/16", True, ["n0", "n2"]]
    assert [written(value) for value in values] == ["null", 3, 0.5, "1/16", "true", '["n0","n2"]']
