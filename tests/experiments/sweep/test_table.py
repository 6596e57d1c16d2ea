"""sweep.csv: rows in the order of the points, holes that are marked, averages that don't hide them."""

from pathlib import Path

import pytest

from experiments.sweep.axes import Axis
from experiments.sweep.points import sweep_of
from experiments.sweep.row import columns
from experiments.sweep.store import Stored
from experiments.sweep.table import averages, csv_of, read_sweep, rows_of, swept_keys
from experiments.sweep.words import HOLE, average_lines, headings, lines, shared
from hwmodels.errors import InputError

CONFIG = """
name: small
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
workload:
  operators: [{op: Relu, inputs: [x], output: y, shape: [1, 256]}]
fusion: [none, vertical]
sweep: {registers.cap: [null, 32], workload.batch: [1, 2, 3]}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return str(path)


def made_up(sweep, missing=(), failed=()):
    """Rows whose time is ten times the batch, halved where fused, as if the store had them."""
    stored = {}
    for place, entry in enumerate(sweep.entries):
        if place in missing:
            continue
        time = 10.0 * entry.values["workload.batch"] / (2 if entry.variant == "vertical" else 1)
        numbers = {
            **dict.fromkeys(columns(), 0),
            "cycles": int(time * 100),
            "time_us": time,
            "limiters": "warps",
        }
        numbers |= {"partial": False, "bound": "dram"}
        stored[entry.job.key] = Stored(None, "broke") if place in failed else Stored(numbers, "")
    return rows_of(sweep, stored)


def test_rows_stand_in_the_order_of_points_and_variants(config: str) -> None:
    sweep = sweep_of(config, {})
    rows = made_up(sweep)
    assert [(row["registers.cap"], row["workload.batch"], row["variant"]) for row in rows] == [
        (cap, batch, variant)
        for cap in ("null", 32)
        for batch in (1, 2, 3)
        for variant in ("none", "vertical")
    ]
    assert [row["speedup_vs_none"] for row in rows] == [1.0, 2.0] * 6


def test_the_strategy_as_an_axis_gives_the_same_speedups(config: str) -> None:
    sweep = sweep_of(config, {"sweep.fusion": ["none", "vertical"]})
    assert sweep.points == 12
    assert sorted(row["speedup_vs_none"] for row in made_up(sweep)) == [1.0] * 6 + [2.0] * 6


def test_holes_are_marked_and_not_averaged_over(config: str) -> None:
    sweep = sweep_of(config, {})
    rows = made_up(sweep, missing=[2], failed=[5])
    assert [(row["status"], row["error"]) for row in rows[:6]] == [
        ("ok", ""), ("ok", ""), ("missing", ""), ("ok", ""), ("ok", ""), ("failed", "broke"),
    ]  # fmt: skip
    assert rows[2]["cycles"] is None is rows[5]["time_us"]
    # Without the baseline there is no speed-up, and none of a hole.
    assert rows[3]["speedup_vs_none"] is None is rows[5]["speedup_vs_none"]
    means = {(one["key"], one["value"], one["variant"]): one for one in averages(rows, sweep.axes)}
    assert means["registers.cap", 32, "none"]["time_us"] == 20.0
    assert means["registers.cap", 32, "none"]["cycles"] == 2000
    # What has no result under one cap is left out of the mean of the other one, too.
    assert means["registers.cap", 32, "none"]["averaged"] == 2
    assert means["registers.cap", "null", "none"] == {
        "key": "registers.cap", "value": "null", "variant": "none",
        "replays": 3, "averaged": 2, "holes": 1, "cycles": 2000, "time_us": 20.0,
    }  # fmt: skip
    assert means["workload.batch", 1, "none"]["time_us"] == 10.0
    assert means["workload.batch", 3, "vertical"] == {
        "key": "workload.batch", "value": 3, "variant": "vertical",
        "replays": 2, "averaged": 1, "holes": 1, "cycles": 1500, "time_us": 15.0,
    }  # fmt: skip
    assert lines(sweep.keys, rows)[2][3] == HOLE
    assert all(len(line) == len(headings(sweep.keys, rows)) for line in lines(sweep.keys, rows))
    assert ["registers.cap", "null", "none", "2 of 3", "2,000", "20.0", "1"] in average_lines(
        list(means.values())
    )


def test_where_no_point_is_complete_there_is_no_mean(config: str) -> None:
    sweep = sweep_of(config, {})
    means = averages(made_up(sweep, missing=range(0, 6, 2)), sweep.axes)
    caps = [one for one in means if one["key"] == "registers.cap" and one["variant"] == "none"]
    assert [(one["averaged"], one["cycles"]) for one in caps] == [(0, None), (0, None)]
    assert average_lines(caps)[0][3:6] == ["0 of 3", "-", "-"]


def test_equal_numbers_share_a_line() -> None:
    rows = [
        ["a", "1", "32", "none", "70"],
        ["a", "1", "64", "none", "70"],
        ["a", "2", "32", "none", "70"],
        ["a", "2", "64", "none", "70"],
        ["b", "1", "32", "none", "90"],
        ["b", "1", "64", "none", "80"],
    ]
    assert shared(rows, [[0], [1], [2]]) == [
        ["a", "1, 2", "32, 64", "none", "70"],
        ["b", "1", "32", "none", "90"],
        ["b", "1", "64", "none", "80"],
    ]
    zipped = [["a", "x", "70"], ["b", "y", "70"], ["c", "z", "71"]]
    assert shared(zipped, [[0, 1]]) == [["a, b", "x, y", "70"], ["c", "z", "71"]]


def test_keys_that_vary_together_are_averaged_together(config: str) -> None:
    zipped = {"sweep.launch": ["stream", "graph"]}
    sweep = sweep_of(config, zipped)
    sweep.axes[:2] = [Axis(("registers.cap", "workload.batch"), ())]
    means = [one for one in averages(made_up(sweep), sweep.axes) if one["variant"] == "none"]
    assert [(one["key"], one["value"], one["replays"]) for one in means[:2]] == [
        ("registers.cap, workload.batch", "null, 1", 2),
        ("registers.cap, workload.batch", "null, 2", 2),
    ]


def test_the_file_reads_back(config: str, tmp_path: Path) -> None:
    sweep = sweep_of(config, {})
    (tmp_path / "sweep.csv").write_text(csv_of(made_up(sweep, missing=[2])))
    table = read_sweep(tmp_path)
    assert swept_keys(table) == ["registers.cap", "workload.batch"]
    assert table["registers.cap"].tolist() == ["null"] * 6 + ["32"] * 6
    assert table["time_us"].isna().tolist() == [place == 2 for place in range(12)]
    assert table.loc[0, "cycles"] == 1000


def test_a_folder_without_a_table_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_sweep(tmp_path)
    (tmp_path / "sweep.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="lacks the column point"):
        read_sweep(tmp_path)


def test_a_card_that_cannot_be_made_is_a_hole_and_a_wrong_value_ends_the_command(config: str) -> None:
    sweep = sweep_of(config, {"sweep.gpu.scale": ["1/16", "1/7"], "registers.cap": 32})
    rows = rows_of(sweep, {})
    assert {(row["gpu.scale"], row["status"]) for row in rows} == {("1/16", "missing"), ("1/7", "failed")}
    assert "1/7 does not divide" in next(row["error"] for row in rows if row["status"] == "failed")
    with pytest.raises(InputError, match="no point can be run"):
        sweep_of(config, {"gpu.scale": "1/7"})
    with pytest.raises(InputError, match=r"workload\.batch: -1 is outside"):
        sweep_of(config, {"workload.batch": [1, -1]})


def test_cards_are_an_axis(config: str) -> None:
    sweep = sweep_of(config, {"sweep.gpu": ["v100-sxm2-16gb", "a100-sxm-40gb"], "gpu.scale": "1/4"})
    assert [entry.gpu for entry in sweep.entries[:4]] == ["v100-sxm2-16gb"] * 2 + ["a100-sxm-40gb"] * 2
    assert len(sweep.jobs) == 24


def test_a_workload_that_only_the_axis_gives(tmp_path: Path) -> None:
    path = tmp_path / "axis.yaml"
    path.write_text("sweep: {workload.traces: [['kernel:copy,megabytes=1'], ['a.trace.npz']]}\n")
    sweep = sweep_of(str(path), {})
    assert [entry.job.config["workload.traces"] for entry in sweep.entries] == [
        ("kernel:copy,megabytes=1",),
        (str(tmp_path / "a.trace.npz"),),
    ]
