"""A row of the sweep's table against the kernels' table that it brings together."""

import math

import pandas as pd
import pytest

from experiments.sweep.row import LEFT_OUT, columns, row_of
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.tables_kernels import COLUMNS

SUMMED = ("grid_blocks", "warp_instructions", "dram_read_bytes", "dram_write_bytes", "dirty_bytes_left",
          "l2_read_bytes", "local_bytes", "shared_bank_conflicts")  # fmt: skip
WEIGHED = ("theoretical_occupancy_pct", "achieved_occupancy_pct", "dram_throughput_pct", "issue_pct")


def test_every_column_of_the_kernels_is_there_and_plain(make_result) -> None:
    row = row_of(make_result("none"))
    assert list(row) == columns()
    assert {name for name, _, _ in COLUMNS} - set(row) == set(LEFT_OUT)
    assert all(type(value) in {int, float, str, bool, type(None)} for value in row.values())


def test_two_kernels_come_together_by_the_rule_of_each_column(make_result) -> None:
    result = make_result("none")
    kernels, row = result.kernels, row_of(result)
    assert row["kernels"] == len(kernels) == 2
    for name in SUMMED:
        assert row[name] == kernels[name].sum(), name
    for name in ("cycles", "launch_cycles", "time_us"):
        assert row[name] == pytest.approx(kernels[name].sum()), name
    for name in WEIGHED:
        weighed = (kernels[name] * kernels["cycles"]).sum() / kernels["cycles"].sum()
        assert row[name] == pytest.approx(weighed), name
    assert row["registers_per_thread"] == kernels["registers_per_thread"].max()
    assert row["blocks_per_sm"] == kernels["blocks_per_sm"].min()
    assert row["bound"] == kernels.loc[kernels["cycles"].idxmax(), "bound"]
    assert set(row["limiters"].split(";")) == {
        word for cell in kernels["limiters"] for word in cell.split(";") if word
    }


def test_hits_and_latencies_are_those_of_all_requests_together(make_result) -> None:
    result = make_result("none")
    row, traffic, latency = row_of(result), result.traffic, result.latency
    reads = traffic[(traffic["level"] == "l2") & (traffic["operation"].str.contains("read|load"))]
    if not reads.empty and reads["sectors"].sum():
        assert row["l2_hit_pct"] == pytest.approx(100 * reads["hits"].sum() / reads["sectors"].sum())
    loads = latency[latency["space"].isin(["global", "local"]) & (latency["operation"] == "load")]
    requests = loads.drop_duplicates(["kernel", "space"])["requests"].sum()
    assert row["mean_load_latency_cycles"] == pytest.approx(loads["cycles"].sum() / requests)


def test_stalls_are_summed_by_name(make_result) -> None:
    result = make_result("none")
    stalls = result.stalls.groupby("reason")["warp_cycles"].sum()
    assert {state: row_of(result)[f"stall_{state}"] for state in STATE_NAMES} == stalls.to_dict()


def test_one_kernel_is_its_own_row(two_results) -> None:
    result = two_results[1]
    kernel, row = result.kernels.iloc[0], row_of(result)
    for name, _, _ in COLUMNS:
        if name in {*LEFT_OUT, "cycles", "launch_cycles", "time_us"}:
            continue
        theirs, ours = kernel[name], row[name]
        if ours is None:
            assert pd.isna(theirs), name
        elif isinstance(ours, float):
            assert math.isclose(ours, theirs), name
        else:
            assert ours == theirs, name
