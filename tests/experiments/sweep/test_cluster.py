"""A real Dask scheduler with two workers, all processes of this machine: the same table, also when one is
killed.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sweeping import environment, start, stored, table, wait_for

from experiments.cli import main

SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
WORKER = [
    sys.executable,
    "-m",
    "distributed.cli.dask_worker",
    "--no-nanny",
    "--nthreads",
    "1",
    "--no-dashboard",
]


class Cluster:
    """The processes, and the address of the scheduler."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("distributed")
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.begin([*SCHEDULER, "--no-dashboard", "--scheduler-file", str(file)])
        wait_for(lambda: file.exists() and file.read_text().strip().endswith("}"))
        self.address = str(json.loads(file.read_text())["address"])

    def begin(self, words: list[str]) -> subprocess.Popen[bytes]:
        log = (self.folder / f"log{len(self.processes)}").open("wb")
        with log:
            self.processes.append(
                subprocess.Popen(words, env=environment(), stdout=log, stderr=log, cwd=self.folder)
            )
        return self.processes[-1]

    def worker(self) -> subprocess.Popen[bytes]:
        return self.begin([*WORKER, self.address])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()


def test_the_table_of_a_cluster_is_that_of_local_workers_also_when_a_worker_is_killed(
    cluster: Cluster, tiny, started, tmp_path: Path
) -> None:
    points = 40
    config = tiny(points)
    first, _ = cluster.worker(), cluster.worker()
    process = started(config, "--out", str(tmp_path / "cluster"), "--cluster", cluster.address)
    wait_for(lambda: stored(tmp_path / "cluster") >= 4 or process.poll() is not None)
    first.kill()
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert f"{points} run now" in output
    assert stored(tmp_path / "cluster") == points
    local = start(config, "--out", str(tmp_path / "local"), "--workers", "2")
    _, errors = local.communicate(timeout=240)
    assert local.returncode == 0, errors
    assert table(tmp_path / "cluster") == table(tmp_path / "local")


def test_a_scheduler_that_goes_is_one_error_and_what_was_done_stays(
    cluster: Cluster, tiny, started, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    cluster.worker()
    process = started(tiny(150), "--out", str(folder), "--cluster", cluster.address)
    wait_for(lambda: stored(folder) >= 2 or process.poll() is not None)
    for one in cluster.processes:
        one.kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    lines = [line for line in errors.splitlines() if not line.startswith("sweep:")]
    assert len(lines) == 1, errors
    assert "the scheduler is gone; start it again and repeat the command" in lines[0]
    assert 2 <= stored(folder) < 150


def test_where_no_scheduler_is_the_error_says_so(tiny, monkeypatch, capsys, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("experiments.sweep.cluster.CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        assert main(["sweep", tiny(1), "--out", str(tmp_path / "out"), "--cluster", address]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"error: --cluster {address}: no scheduler answers"), captured.err
        assert captured.err.count("\n") == 1
