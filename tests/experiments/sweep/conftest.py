"""Sweeps that tests start: a config of tiny replays, and processes that end with the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[[int], str]:
    """A config of so many points."""

    def write(points: int) -> str:
        from sweeping import CONFIG

        path = tmp_path / "tiny.yaml"
        path.write_text(CONFIG.format(clocks=", ".join(str(1000 + place) for place in range(points))))
        return str(path)

    return write


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start sweeps; what still runs at the end of the test is ended."""
    from sweeping import start

    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        running.append(start(*words))
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
