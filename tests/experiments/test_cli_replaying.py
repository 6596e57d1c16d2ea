"""run, replay and plot from end to end on a few kilobytes: what they print and write, how they refuse."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from experiments.cli import main
from experiments.plots.pictures import KINDS
from simulator.statistics.result import load_all
from simulator.statistics.tables import TABLES

SLICE = ["--gpu", "v100-sxm2-16gb", "--set", "gpu.scale=1/16"]
COPY = "kernel:copy,megabytes=0.015625"
FILES = {"config.yaml", "summary.json", "raw.json", "cards", "plots", *(f"{name}.csv" for name in TABLES)}
GRAPH = """
name: tiny
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
workload:
  operators:
    - {op: BatchNormalization, inputs: [x, scale, shift, mean, variance], output: y, shape: [1, 8, 8, 8]}
    - {op: Relu, inputs: [y], output: z, shape: [1, 8, 8, 8]}
fusion: [none, vertical]
intervals: {cycles: 500}
"""


def answers(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(GRAPH)
    return path


def test_replay_prints_a_table_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = answers(["replay", COPY, *SLICE], capsys)
    assert code == 0
    assert "a slice of 1/16 of the card (5 SMs, 384 KiB of L2" in out
    assert "0 violated" in out
    assert list(tmp_path.iterdir()) == []


def test_replay_json_is_one_document_with_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answers(["replay", COPY, COPY, *SLICE, "--json"], capsys)
    document = json.loads(out)
    assert code == 0
    assert [row["kernel"] for row in document["kernels"]] == ["copy", "copy #2"]
    assert document["kernels"][0]["dram_read_bytes"] == 16_384
    assert document["identities"]["violated"] == []
    variant = document["gpus"]["v100-sxm2-16gb"]["variants"]["as-given"]
    assert variant["warp_instructions"] == document["warp_instructions"]


def test_run_writes_the_folder_and_says_who_wins(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    code, out, _ = answers(["run", str(config), "--out", str(folder), "--workers", "1"], capsys)
    assert code == 0
    assert {path.name for path in folder.iterdir()} == FILES
    assert {path.stem for path in (folder / "plots").iterdir()} == set(KINDS)
    summary = json.loads((folder / "summary.json").read_text())
    card = summary["gpus"]["v100-sxm2-16gb"]
    assert card["variants"]["none"]["kernels"] == 2
    assert card["variants"]["vertical"]["kernels"] == 1
    assert card["winner"] == "vertical"
    assert f"Fastest: vertical, {card['reason']}." in out
    assert yaml.safe_load((folder / "config.yaml").read_text())["fusion"] == ["none", "vertical"]


def test_workers_change_nothing(tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for workers in ("1", "2"):
        answers(["run", str(config), "--out", str(tmp_path / workers), "--workers", workers], capsys)
    alone, beside = load_all(tmp_path / "1"), load_all(tmp_path / "2")
    for one, two in zip(alone, beside, strict=True):
        assert one.kernels.equals(two.kernels)
        assert one.record.kernels == two.record.kernels
        assert one.record.intervals == two.record.intervals


def test_the_written_config_and_card_replay_to_the_same_numbers(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    answers(["run", str(config), "--out", str(first), "--workers", "1"], capsys)
    written = yaml.safe_load((first / "config.yaml").read_text())
    written["set"] = {}
    written["gpu"] = [str(first / "cards" / "v100-sxm2-16gb.yaml")]
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(written))
    answers(["run", str(again), "--out", str(second), "--workers", "1"], capsys)
    assert load_all(first)[0].kernels["cycles"].tolist() == load_all(second)[0].kernels["cycles"].tolist()


def test_limits_mark_the_result_partial(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answers(
        ["replay", "kernel:copy,megabytes=1", *SLICE, "--max-cycles", "5000", "--json"], capsys
    )
    document = json.loads(out)
    assert code == 0
    assert document["partial"]
    assert document["identities"]["not_judged"] == ["v100-sxm2-16gb/as-given"]


@pytest.mark.parametrize(("limit", "reached"), [("5000", 1), ("1000", 0)])
def test_what_a_limit_cut_short_ends_at_the_limit(
    limit: str, reached: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gap before the first kernel takes 1,377 cycles of this clock, the kernel some 30,000."""
    copy = "kernel:copy,megabytes=1"
    out = tmp_path / "out"
    code, printed, _ = answers(
        ["replay", copy, copy, *SLICE, "--max-cycles", limit, "--out", str(out)], capsys
    )
    assert code == 0
    assert ("copy (partial)" in printed) is bool(reached)
    missed = "1 kernel" if reached else "2 kernels"
    assert f"Not in the tables: {missed} of variant as-given that never began." in printed
    assert "nan" not in printed
    summary = json.loads((out / "summary.json").read_text())
    variant = summary["gpus"]["v100-sxm2-16gb"]["variants"]["as-given"]
    assert (variant["partial"], variant["kernels"], variant["kernels_not_begun"]) == (
        True,
        reached,
        2 - reached,
    )
    assert variant["cycles"] + variant["launch_cycles"] == int(limit)
    (result,) = load_all(out)
    assert len(result.kernels) == reached
    for table in TABLES:
        assert getattr(result, table)["partial"].all()
    if reached:
        (row,) = result.kernels.to_dict("records")
        assert 0 < row["achieved_occupancy_pct"] <= row["theoretical_occupancy_pct"]
        assert row["launch_cycles"] + row["cycles"] == int(limit)


def test_plot_draws_each_kind_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    answers(["replay", COPY, *SLICE, "--out", str(folder)], capsys)
    for kind in ("latency", "stalls", "occupancy-limits", "timeline"):
        path = tmp_path / f"{kind}.png"
        code, out, _ = answers(["plot", str(folder), "--kind", kind, "--out", str(path)], capsys)
        assert (code, out.strip()) == (0, str(path))
        assert path.read_bytes() == (folder / "plots" / f"{kind}.png").read_bytes()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "no-such-config"], "neither a file nor shipped"),
        (["run", "copy", "--set", "workload.batsh=2"], "did you mean 'workload.batch'"),
        (["run", "copy", "--set", "gpu.l2.size_kb=2"], "did you mean 'l2.size_kib'"),
        (["run", "copy", "--gpu", "a100-sxm-40g"], "a100-sxm-40gb"),
        (["run", "copy", "--engine", "fast"], "unknown choice 'fast'"),
        (["run", "resnet50-conv-bn-relu", "--set", "fusion=[none, horizontl]"], "did you mean 'horizontal'"),
        (["run", "resnet50-conv-bn-relu", "--set", "workload.onnx=light_resnet5"], "light_resnet50"),
        (["run", "copy", "--max-cycles", "0"], "--max-cycles: 0 is out of range"),
        (["run", "copy", "--max-seconds", "nan"], "--max-seconds: nan is out of range"),
        (["run", "copy", "--workers", "two"], "'two' is not a number"),
        (["replay", "kernel:cop"], "did you mean 'copy'"),
        (["replay", "missing.trace.npz"], "missing.trace.npz"),
        (["replay", COPY, "--set", "launch=graphs"], "did you mean 'graph'"),
        (["plot", "missing"], "no such folder"),
        (["plot", ".", "--kind", "stall"], "did you mean 'stalls'"),
        (["plot", ".", "--out", "x.jpg"], "x.jpg is no PNG"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = answers([*argv, *(["--out", "out"] if argv[0] == "run" else [])], capsys)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_refused_before_the_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    code, _, err = answers(["run", "copy", "--out", str(tmp_path)], capsys)
    assert code == 2
    assert "holds something other than results" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_lost_worker_is_one_line(config: Path, tmp_path: Path) -> None:
    """A worker process that dies (here: by its own hand) must not hang or trace back."""
    script = (
        "import os, experiments.run\n"
        "from experiments.workers import run_all\n"
        "def die(job, progress): os._exit(9)\n"
        "if __name__ == '__main__':\n"
        "    from hwmodels.errors import ResultError\n"
        "    try: run_all(die, [1, 2], 2)\n"
        "    except ResultError as error: print(error)\n"
    )
    path = tmp_path / "die.py"
    path.write_text(script)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert (
        done.stdout.strip() == "workers: a worker process died, perhaps for lack of memory; use --workers 1"
    )
