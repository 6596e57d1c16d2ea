"""A sweep that is killed, interrupted or started twice ends with the table of an undisturbed one, and does
nothing twice but what was in flight.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from sweeping import start, stored, table, wait_for

from experiments.sweep.store import Store

WORKERS = 2
POINTS = 32
"""More than two workers can do between a look at the store and the signal."""


def undisturbed(config: str, folder: Path) -> bytes:
    process = start(config, "--out", str(folder), "--workers", str(WORKERS))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return table(folder)


def killed(config: str, folder: Path, points: int, kills: int, started) -> None:
    """Kill a sweep at random moments, let it end, and judge what is there."""
    for _ in range(kills):
        before = stored(folder)
        process = started(config, "--out", str(folder), "--workers", str(WORKERS))
        moment = before + random.randint(0, max(1, points // (kills + 1)))
        wait_for(
            lambda moment=moment, process=process: stored(folder) >= moment or process.poll() is not None
        )
        time.sleep(random.random() / 10)
        process.kill()
        process.wait()
    process = started(config, "--out", str(folder), "--workers", str(WORKERS))
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    with Store(folder / "store.sqlite") as store:
        attempts = store.attempts()
    assert len(attempts) == points
    assert sum(attempts.values()) - points <= kills * WORKERS
    assert f"{points} replays" in output


def test_one_kill(tiny, started, tmp_path: Path) -> None:
    config = tiny(24)
    killed(config, tmp_path / "killed", 24, 1, started)
    assert table(tmp_path / "killed") == undisturbed(config, tmp_path / "calm")


@pytest.mark.slow
def test_ten_kills_of_200_points(tiny, started, tmp_path: Path) -> None:
    config = tiny(200)
    killed(config, tmp_path / "killed", 200, 10, started)
    assert table(tmp_path / "killed") == undisturbed(config, tmp_path / "calm")


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(tiny, started, tmp_path: Path) -> None:
    config, folder = tiny(POINTS), tmp_path / "out"
    process = started(config, "--out", str(folder), "--workers", str(WORKERS))
    wait_for(lambda: stored(folder) >= 2 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert errors.splitlines()[-1] == "interrupted"
    assert f"of {POINTS} replays are stored; the same command goes on from there" in errors
    assert "Traceback" not in errors
    before = stored(folder)
    with Store(folder / "store.sqlite") as store:
        assert store.connection.execute(
            "SELECT count(*) FROM results WHERE state = 'running'"
        ).fetchone() == (0,)
    process = started(config, "--out", str(folder), "--workers", str(WORKERS))
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert f"{POINTS - before} run now, {before} in the store already" in output


def test_two_sweeps_at_once_share_the_store(tiny, started, tmp_path: Path) -> None:
    config, folder = tiny(16), tmp_path / "out"
    both = [started(config, "--out", str(folder), "--workers", "1") for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    with Store(folder / "store.sqlite") as store:
        assert set(store.attempts().values()) == {1}
        assert len(store.attempts()) == 16
    assert table(folder).count(b"\n") == 17


def test_the_workers_of_a_killed_sweep_end_too(tiny, started, tmp_path: Path) -> None:
    config, folder = tiny(300), tmp_path / "out"
    process = started(config, "--out", str(folder), "--workers", "2")
    wait_for(lambda: stored(folder) >= 1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list children")
    numbers = [int(word) for word in children.read_text().split()]
    assert len(numbers) >= 2
    process.kill()
    process.wait()

    def gone(number: int) -> bool:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return state == "Z"

    wait_for(lambda: all(gone(number) for number in numbers), 20)
