"""`stallscope sweep` as a person meets it: the folder, one JSON document, exit codes, one-line errors."""

import json
import sqlite3
from pathlib import Path

import pytest
import yaml

from experiments.cli import main
from experiments.sweep import work
from experiments.sweep.local import LocalCrew
from experiments.sweep.work import Finished

CONFIG = """
name: small
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
workload: {kernels: [{name: copy, megabytes: 0.00390625}]}
intervals: {cycles: 0}
sweep: {gpu.clock_mhz: [1000, 1100], launch: [stream, graph]}
"""


class Here(LocalCrew):
    """Does its jobs in this process: faster than starting workers, and the same code otherwise."""

    def give(self, job) -> None:
        self.waiting = [*getattr(self, "waiting", []), work.perform(job)]

    def finished(self, timeout_s: float) -> list[Finished]:  # noqa: ARG002
        found, self.waiting = getattr(self, "waiting", []), []
        return found

    @property
    def room(self) -> int:
        return 1 - len(getattr(self, "waiting", []))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiments.sweep.local.LocalCrew", Here)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(CONFIG)


def test_the_folder_has_table_config_and_store_and_the_second_time_is_free(capsys, tmp_path: Path) -> None:
    assert main(["sweep", "small.yaml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["points"], document["ran"], document["reused"], document["holes"]) == (4, 4, 0, 0)
    assert document["keys"] == ["gpu.clock_mhz", "launch"]
    assert [row["launch"] for row in document["rows"]] == ["stream", "graph"] * 2
    assert all(row["cycles"] > 0 for row in document["rows"])
    folder = tmp_path / "results" / "small-sweep"
    assert {path.name for path in folder.iterdir()} == {"sweep.csv", "config.yaml", "store.sqlite"}
    resolved = yaml.safe_load((folder / "config.yaml").read_text())
    assert resolved["sweep"] == {"gpu.clock_mhz": [1000, 1100], "launch": ["stream", "graph"]}
    before = (folder / "sweep.csv").read_bytes()
    assert main(["sweep", str(folder / "config.yaml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ran"], document["reused"]) == (0, 4)
    assert (folder / "sweep.csv").read_bytes() == before


def test_a_changed_card_is_replayed_and_another_folder_may_share_the_store(capsys) -> None:
    def ran(*words: str) -> int:
        assert main(["sweep", "small.yaml", "--store", "shared.sqlite", "--json", *words]) == 0
        return int(json.loads(capsys.readouterr().out)["ran"])

    assert ran() == 4
    assert ran("--out", "elsewhere") == 0
    assert ran("--set", "gpu.l2.size_kib=12288") == 4
    assert ran("--set", "gpu.clock_mhz=[1000, 1200]") == 2
    assert ran("--set", "launch=stream") == 0


def test_the_table_of_one_replay_is_that_of_run(capsys, tmp_path: Path) -> None:
    assert main(["sweep", "small.yaml", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    words = ["run", "small.yaml", "--set", "gpu.clock_mhz=1000", "--out", "one", "--workers", "1", "--json"]
    assert main(words) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    for name in (
        "cycles",
        "launch_cycles",
        "time_us",
        "dram_read_bytes",
        "warp_instructions",
        "ipc",
        "bound",
    ):
        assert row[name] == kernel[name], name


def test_a_hole_is_no_failure_of_the_command_and_a_fault_is(capsys, monkeypatch) -> None:
    words = ["sweep", "small.yaml", "--set", "launch=stream"]
    assert main([*words, "--set", "sweep.workload.kernels=[]"]) == 2
    capsys.readouterr()
    assert main([*words, "--set", "sweep.gpu.scale=[1/16, 1/7]"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count(" hole ") == 2
    assert "hole: point 1, v100-sxm2-16gb, as-given: gpu.scale: 1/7 does not divide" in captured.err

    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    with monkeypatch.context() as patched:
        patched.setattr(work, "replay_variant", broken)
        assert main([*words, "--out", "broken"]) == 1
    assert "internal error: ZeroDivisionError: oh" in capsys.readouterr().err
    assert main([*words, "--out", "broken", "--retry-failed"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["copy"], "names no key to vary"),
        (["nothing.yaml"], "unknown config"),
        (["small.yaml", "--set", "sweep.launch=[strm]"], "did you mean 'stream'?"),
        (["small.yaml", "--workers", "2", "--cluster", "tcp://x:1"], "give one of the two"),
        (["small.yaml", "--workers", "0"], "above 0"),
        (["small.yaml", "--store", "small.yaml"], "no store of a sweep"),
        (["small.yaml", "--out", "small.yaml"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(words, message, capsys) -> None:
    assert main(["sweep", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert captured.out == ""


def test_a_locked_store_is_one_line(capsys, monkeypatch) -> None:
    assert main(["sweep", "small.yaml", "--set", "launch=stream"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("experiments.sweep.store.Store.__init__.__defaults__", (0.2,))
    holder = sqlite3.connect("results/small-sweep/store.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert main(["sweep", "small.yaml"]) == 2
    holder.close()
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "locked by another program" in error


def test_an_interruption_says_how_far_it_came(capsys, monkeypatch) -> None:
    count = 0

    def give(self, job) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        self.waiting = [work.perform(job)]

    monkeypatch.setattr(Here, "give", give)
    assert main(["sweep", "small.yaml"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "2 of 4 replays are stored; the same command goes on from there",
        "interrupted",
    ]
