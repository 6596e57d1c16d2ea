"""Tables against hand-added numbers, totals that add up exactly, and a result that survives being saved."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from synthetic import CARD, HEADERS, synthetic_run

from hwmodels.errors import InputError, ResultError
from simulator.statistics.phases import PHASE_NAMES, STATE_NAMES
from simulator.statistics.result import Result, load_all
from simulator.statistics.tables import TABLES

INTERFACE_COLUMNS = {
    "kernels": "gpu, variant, stream, kernel, operators, grid_blocks, threads_per_block, "
    "registers_per_thread, spill_bytes_per_thread, shared_bytes_per_block, blocks_per_sm, limiters, "
    "theoretical_occupancy_pct, achieved_occupancy_pct, launch_cycles, cycles, time_us, "
    "warp_instructions, ipc, dram_read_bytes, "
    "dram_write_bytes, dirty_bytes_left, dram_throughput_pct, l2_read_bytes, l2_hit_pct, l1_hit_pct, "
    "shared_bank_conflicts, local_bytes, mean_load_latency_cycles, mean_access_latency_cycles, "
    "energy_uj, bound",
    "stalls": "gpu, variant, kernel, reason, warp_cycles, pct",
    "latency": "gpu, variant, kernel, space, operation, phase, requests, cycles, mean_cycles",
    "occupancy": "gpu, variant, kernel, limiter, blocks_per_sm, binding, launch_blocked_cycles",
    "energy": "gpu, variant, kernel, level, bytes, energy_uj, pct",
    "traffic": "gpu, variant, kernel, level, operation, requests, sectors, bytes, hits, misses",
    "intervals": "gpu, variant, stream, kernel, start_cycle, end_cycle, ipc, active_warps_per_sm, "
    "dram_read_bytes, dram_write_bytes, l2_bytes, " + ", ".join(STATE_NAMES),
}


@pytest.fixture
def result() -> Result:
    return Result(synthetic_run(), HEADERS, CARD, "none")


@pytest.mark.parametrize("table", TABLES)
def test_columns_are_those_of_the_interface_in_their_order(result: Result, table: str) -> None:
    wanted = INTERFACE_COLUMNS[table].split(", ")
    assert list(getattr(result, table).columns[: len(wanted)]) == wanted


def test_kernel_rows_against_hand_added_numbers(result: Result) -> None:
    conv, relu = result.kernels.to_dict("records")
    assert (conv["gpu"], conv["variant"], conv["operators"], conv["limiters"]) == (
        "paper-gpu",
        "none",
        "n0;n1",
        "registers",
    )
    assert (conv["cycles"], conv["launch_cycles"], conv["time_us"]) == (2_000, 1_000, 3.0)
    assert conv["theoretical_occupancy_pct"] == 100 * 2 * 8 / 64
    assert conv["achieved_occupancy_pct"] == pytest.approx(100 * 32_000 / (2_000 * 2 * 64))
    assert conv["ipc"] == 800 / 2_000 / 2
    assert (conv["dram_read_bytes"], conv["dram_write_bytes"], conv["dirty_bytes_left"]) == (2_048, 0, 1_024)
    # 2,048 bytes in 2 µs are 1.024 GB/s of 1 GB/s: over the peak here, and the busiest resource.
    assert conv["dram_throughput_pct"] == pytest.approx(102.4)
    assert conv["bound"] == "dram"
    assert (conv["l1_hit_pct"], conv["l2_hit_pct"]) == (20.0, 0.0)
    assert conv["mean_load_latency_cycles"] == 8_000 / 20
    assert conv["mean_access_latency_cycles"] == 200
    assert conv["l1_throughput_pct"] == pytest.approx(100 * (28 + 40) / 4_000)
    assert conv["issue_pct"] == pytest.approx(100 * 800 / 16_000)
    assert relu["limiters"] == "registers;warps"
    assert (relu["l2_hit_pct"], relu["bound"], relu["local_bytes"]) == (100.0, "latency", 0)
    assert math.isnan(relu["mean_access_latency_cycles"])


def test_totals_add_up_exactly(result: Result) -> None:
    assert result.cycles == result.kernels["cycles"].sum() == 3_000
    assert result.launch_cycles == result.kernels["launch_cycles"].sum() == 2_000
    assert result.time_us == result.kernels["time_us"].sum() == 5.0
    assert result.dram_bytes == 2_048
    assert result.warp_instructions == 900
    assert result.mean_access_latency_cycles == 200


def test_times_between_clock_edges_still_add_up() -> None:
    record = synthetic_run()
    record.intervals = []
    record.kernels[0].end_fs += 1
    record.kernels[1].launch_fs -= 1
    result = Result(record, HEADERS, CARD)
    assert list(result.kernels["cycles"]) == [2_001, 1_000]
    assert list(result.kernels["launch_cycles"]) == [1_000, 999]
    assert result.cycles + result.launch_cycles == 5_000


def test_kernels_side_by_side_count_once() -> None:
    record = synthetic_run()
    record.intervals = []
    record.kernels[1].start_fs = record.kernels[0].start_fs + 500 * record.sm_period_fs
    result = Result(record, HEADERS, CARD)
    assert result.cycles == 4_000
    assert result.launch_cycles == 1_000


def test_stalls_latency_and_intervals_are_views_of_one_record(result: Result) -> None:
    stalls = result.stalls.groupby("kernel", sort=False)
    assert list(stalls["warp_cycles"].sum()) == [32_000, 4_000]
    assert list(stalls["pct"].sum()) == pytest.approx([100, 100])
    assert list(result.stalls["reason"][:14]) == list(STATE_NAMES)
    loads = result.latency.query("kernel == 'conv' and space == 'global' and operation == 'load'")
    assert list(loads["phase"]) == list(PHASE_NAMES)
    assert loads["cycles"].sum() == 8_000
    assert loads["mean_cycles"].sum() == result.kernels["mean_load_latency_cycles"][0]
    intervals = result.intervals.query("kernel == 'conv'")
    assert list(intervals["start_cycle"]) == [1_000, 2_000]
    assert intervals["dram_read_bytes"].sum() == result.kernels["dram_read_bytes"][0]
    assert intervals[list(STATE_NAMES)].to_numpy().sum() == 32_000
    assert intervals["active_warps_per_sm"].mean() == 32_000 / 4_000


def test_occupancy_names_all_limits_and_the_binding_ones(result: Result) -> None:
    conv = result.occupancy.query("kernel == 'conv'").set_index("limiter")
    assert conv["binding"].to_dict() == {
        "registers": True,
        "shared_memory": False,
        "warps": False,
        "blocks": False,
        "barriers": False,
    }
    assert conv["launch_blocked_cycles"]["registers"] == 70
    assert conv["blocks_per_sm"]["warps"] == 8
    assert conv["blocks_per_sm"]["barriers"] is pd.NA


def test_traffic_by_level(result: Result) -> None:
    rows = result.traffic.query("kernel == 'conv'").set_index(["level", "operation"])
    load = rows.loc[("l1", "global_load")]
    assert (load["requests"], load["sectors"], load["bytes"], load["hits"], load["misses"]) == (
        20,
        80,
        2_560,
        16,
        64,
    )
    assert rows.loc[("l2", "write")]["bytes"] == 1_024
    assert rows.loc[("dram", "read")]["bytes"] == 2_048
    assert rows.loc[("shared", "load")]["bytes"] == 1_280
    assert rows.loc[("shared", "load")]["hits"] is pd.NA
    assert ("dram", "write") not in rows.index
    assert list(dict.fromkeys(rows.index.get_level_values("level"))) == [
        "shared",
        "l1",
        "crossbar",
        "l2",
        "dram",
    ]


def test_a_kernel_launched_twice_gets_two_names() -> None:
    result = Result(synthetic_run(), (HEADERS[0], HEADERS[0]), CARD, verify=False)
    assert list(result.kernels["kernel"]) == ["conv", "conv #2"]


def test_a_violated_identity_refuses_the_result() -> None:
    record = synthetic_run()
    record.kernels[0].states[4] += 1
    with pytest.raises(ResultError, match="warp states = resident warp-cycles"):
        Result(record, HEADERS, CARD)
    record.partial = True
    assert Result(record, HEADERS, CARD).partial


def test_identities_are_listed_with_both_sides(result: Result) -> None:
    assert result.identities["holds"].all()
    assert (result.identities["left"] == result.identities["right"]).all()


def test_saved_and_loaded_whole(result: Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "new" / "folder")
    again = Result.load(folder)
    assert again.record == result.record
    assert again.source == result.source
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(again, table), getattr(result, table))
        assert list(pd.read_csv(folder / f"{table}.csv").columns) == list(getattr(result, table).columns)
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    again.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_several_results_in_one_folder_need_a_name(result: Result, tmp_path: Path) -> None:
    from simulator.statistics import archive

    archive.write(tmp_path, [result.source, result.named("vertical").source])
    assert [one.variant for one in load_all(tmp_path)] == ["none", "vertical"]
    assert Result.load(tmp_path, variant="vertical").variant == "vertical"
    with pytest.raises(
        InputError, match="holds 2 such results; name one of paper-gpu/none, paper-gpu/vertical"
    ):
        Result.load(tmp_path)
    with pytest.raises(InputError, match="did you mean 'paper-gpu/vertical'"):
        Result.load(tmp_path, variant="vertica", gpu="paper-gpu")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[: len(text) // 2], "not valid JSON"),
        (lambda _: "[1]", "not a results file of format 4"),
        (lambda text: text.replace('"dram_queue"', '"dram_line"'), "counts other phases than this version"),
        (lambda text: text.replace('"sm_count":2', '"sm_count":"2"'), "is not of type int"),
        (lambda text: text.replace('"end_fs"', '"end_ns"'), "not the fields of"),
        (lambda _: "[" * 100_000, "not valid JSON"),
    ],
)
def test_an_edited_file_is_refused_with_one_line(result: Result, tmp_path: Path, edit, message: str) -> None:
    path = result.save(tmp_path) / "raw.json"
    path.write_text(edit(path.read_text()))
    with pytest.raises(InputError, match=message) as caught:
        Result.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"raw\.json: cannot be read"):
        Result.load(tmp_path)


def test_raw_json_is_plain(result: Result, tmp_path: Path) -> None:
    document = json.loads((result.save(tmp_path) / "raw.json").read_text())
    assert document["results"][0]["record"]["kernels"][0]["name"] == "conv"


def test_html_says_cycles_and_gaps_apart(result: Result) -> None:
    html = result._repr_html_()
    assert "3,000 SM cycles in kernels, 2,000 in launch gaps" in html
    assert "relu" in html
    assert repr(result).startswith("<Result paper-gpu, ")
    assert "3,000 SM cycles in kernels, 2,000 in launch gaps, 5.0 µs>" in repr(result)


def test_html_shows_a_strangers_name_as_words(result: Result) -> None:
    html = result.named("<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
