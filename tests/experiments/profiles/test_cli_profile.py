"""`stallscope profile` and `plan --from-profile` as a person sees them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.profiles.nsight import read_nsight

Write = Callable[[Any], Path]
Output = pytest.CaptureFixture[str]


def small(document: dict[str, Any]) -> dict[str, Any]:
    """The trace with 2,048 elements, so that a replay takes no time."""
    add, clamp = document["traceEvents"][1], document["traceEvents"][4]
    add["args"]["Input Dims"] = [[2, 16, 64], [1, 16, 1]]
    clamp["args"]["Input Dims"] = [[2, 16, 64]]
    for place, blocks in ((7, 8), (8, 4)):
        document["traceEvents"][place]["args"]["grid"] = [blocks, 1, 1]
    return document


def run_json(capsys: Output, *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_info(document: dict[str, Any], write: Write, capsys: Output) -> None:
    path = str(write(document))
    found = run_json(capsys, "profile", "info", path)
    assert (found["kind"], len(found["kernels"])) == ("kineto", 2)
    assert found["summary"]["occupancy_equal"] == found["summary"]["occupancy_compared"] == 2
    assert main(["profile", "info", path, "--limit", "1"]) == 0
    text = capsys.readouterr().out
    assert "ours equals the profiler's in 2 of 2 kernels" in text
    assert "1 more; --limit 2 shows them" in text


def test_compare_a_trace(document: dict[str, Any], write: Write, capsys: Output) -> None:
    path = str(write(small(document)))
    found = run_json(capsys, "profile", "compare", path, "--engine", "reference", "--l2-state", "cold")
    assert found["gpu"] == "a100-sxm-40gb"
    for row in found["launches"]:
        assert row["error_pct"] == pytest.approx(100 * (row["simulated_us"] / row["measured_us"] - 1))
    words = ["profile", "compare", path, "--engine", "reference", "--l2-state", "cold", "--most", "1"]
    first, second = run_json(capsys, *words)["launches"]
    assert (first["why_not"], second["why_not"]) == (None, "not among the 1 dearest launches (--most)")
    times = {}
    for state in ("cold", "warm", "written"):
        words = ["profile", "compare", path, "--engine", "reference", "--l2-state", state]
        times[state] = run_json(capsys, *words)["launches"][1]["simulated_us"]
    assert times["warm"] < times["cold"]
    assert times["written"] < times["cold"]
    run = run_json(capsys, "profile", "compare", path)["launches"]
    assert run == run_json(capsys, "profile", "compare", path, "--l2-state", "run")["launches"]
    # The small result of the kernel before is still in L2; the first kernel waits for others' write-backs.
    assert run[1]["simulated_us"] < times["cold"] < run[0]["simulated_us"]
    assert main(["profile", "compare", path, "--engine", "reference", "--l2-state", "cold"]) == 0
    assert "simulated 2, 100 % of the measured time" in capsys.readouterr().out


def test_plan_from_a_profile(document: dict[str, Any], write: Write, capsys: Output) -> None:
    path = str(write(small(document)))
    found = run_json(capsys, "plan", "--from-profile", path, "--engine", "reference")
    (chain,) = found["candidates"]
    assert chain["operators"] == ["aten::add_", "aten::clamp_min_"]
    assert found["total_gain_us"] == pytest.approx(chain["gain_us"]) != 0
    assert main(["plan", "--from-profile", path, "--engine", "reference"]) == 0
    assert "add_ + clamp_min_" in capsys.readouterr().out
    assert main(["plan", "light_resnet50", "--from-profile", path]) == 2
    assert main(["plan"]) == 2


def test_export_and_compare_with_a_result_folder(tmp_path: Path, capsys: Output) -> None:
    folder, table = tmp_path / "copy", tmp_path / "copy.csv"
    words = ["--gpu", "a100-sxm-40gb", "--set", "gpu.scale=1/4", "--engine", "reference"]
    assert main(["replay", "kernel:copy,megabytes=0.25", *words, "--out", str(folder)]) == 0
    capsys.readouterr()
    for page in ("details", "raw"):
        assert main(["profile", "export", str(folder), "--page", page, "--out", str(table)]) == 0
        (kernel,) = read_nsight(table)
        with (folder / "kernels.csv").open(newline="") as file:
            (row,) = csv.DictReader(file)
        cycles = kernel.value("Elapsed Cycles", "gpc__cycles_elapsed.max")
        assert cycles == float(row["cycles"])
        read = kernel.value("DRAM Bytes Read", "dram__bytes_read.sum")
        assert read == float(row["dram_read_bytes"])
        stalls = [value.value for name, value in kernel.metrics.items() if "tall" in name[0]]
        warps = sum(one for one in stalls if one is not None)
        resident = float(row["achieved_occupancy_pct"]) / 100 * 64 * 27 * float(row["cycles"])
        assert warps * float(row["warp_instructions"]) == pytest.approx(resident)
    assert main(["profile", "export", str(folder)]) == 0
    assert capsys.readouterr().out.startswith('"ID","Process ID"')
    found = run_json(
        capsys, "profile", "compare", str(table), "--gpu", "a100-sxm-40gb", "--results", str(folder)
    )
    (own,) = found["kernels"]
    names = {one["metric"] for one in own["metrics"]}
    assert {"Duration", "DRAM Throughput", "L2 Hit Rate", "Theoretical Occupancy"} <= names
    for one in own["metrics"]:
        assert one["ours"] == pytest.approx(one["theirs"]), one["metric"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["profile", "info", "none.json"], "none.json: cannot be read"),
        (["profile", "info", "FILE", "--limit", "-1"], "--limit: -1 kernels"),
        (["profile", "info", "FILE", "--max-bytes", "10"], "more than 10 bytes of text"),
        (["profile", "info", "FILE", "--max-bytes", "0"], "--max-bytes: 0 bytes"),
        (["profile", "compare", "FILE", "--gpu", "a1000"], "did you mean"),
        (["profile", "compare", "FILE", "--most", "0"], "--most: 0 launches"),
        (["profile", "compare", "FILE", "--engine", "fast"], "unknown engine 'fast'"),
        (["profile", "compare", "FILE", "--l2-state", "hot"], "unknown state 'hot'"),
        (["profile", "compare", "FILE", "--results", "x"], "only an Nsight Compute table"),
        (["profile", "export", "none"], "none: no such folder"),
        (["profile", "export", "none", "--page", "row"], "unknown page 'row'"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], complaint: str, document: dict[str, Any], write: Write, capsys: Output
) -> None:
    path = str(write(document))
    assert main([path if word == "FILE" else word for word in words]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_an_unknown_device_needs_a_card(document: dict[str, Any], write: Write, capsys: Output) -> None:
    document["deviceProperties"][0] |= {"name": "Something", "numSms": 7}
    assert main(["profile", "compare", str(write(document))]) == 2
    assert "Something is none of our cards; name one with --gpu CARD" in capsys.readouterr().err
