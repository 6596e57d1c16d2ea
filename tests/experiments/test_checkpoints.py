"""`--checkpoint` and `--resume`: a command that is cut, killed politely or asked to write goes on to the same
tables.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.checkpoints import Session, session
from experiments.cli import main
from hwmodels.errors import InputError

TABLES = ("kernels", "stalls", "latency", "traffic", "intervals", "occupancy")
SMALL = ["--gpu", "v100-sxm2-16gb", "--set", "gpu.scale=1/16"]
OTHER_CARD = ["--gpu", "a100-sxm-40gb", "--set", "gpu.scale=1/4"]
COPY = ["replay", "kernel:copy,megabytes=0.0625", *SMALL, "--engine", "reference"]
CONFIG = """
name: two
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
engine: reference
workload:
  operators:
    - {op: Relu, inputs: [x], output: y, shape: [1, 8, 32, 32]}
    - {op: Relu, inputs: [y], output: z, shape: [1, 8, 32, 32]}
fusion: [none, vertical]
"""


def same_tables(one, other):
    for name in TABLES:
        assert (one / f"{name}.csv").read_text() == (other / f"{name}.csv").read_text(), name


def test_a_cut_replay_goes_on_to_the_same_tables(tmp_path, capsys):
    kept = str(tmp_path / "kept")
    assert main([*COPY, "--out", str(tmp_path / "whole")]) == 0
    assert main([*COPY, "--max-cycles", "900", "--checkpoint", kept]) == 0
    assert "Partial" in capsys.readouterr().out
    assert main([*COPY, "--resume", kept, "--out", str(tmp_path / "resumed")]) == 0
    same_tables(tmp_path / "whole", tmp_path / "resumed")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_cut_run_of_two_variants_goes_on_to_the_same_tables(tmp_path, workers):
    config, kept = tmp_path / "two.yaml", str(tmp_path / "kept")
    config.write_text(CONFIG)
    ask = ["run", str(config), "--workers", workers]
    assert main([*ask, "--out", str(tmp_path / "whole")]) == 0
    assert main([*ask, "--max-cycles", "1500", "--checkpoint", kept, "--out", str(tmp_path / "cut")]) == 0
    assert main([*ask, "--resume", kept, "--out", str(tmp_path / "resumed")]) == 0
    same_tables(tmp_path / "whole", tmp_path / "resumed")


def started(tmp_path, *more):
    words = ["replay", "kernel:copy,megabytes=1", *SMALL, "--engine", "reference"]
    code = "import sys; from experiments.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words, *more],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path, process, ask):
    """Ask until the file is there: it is written at the next look-up after the request."""
    for _ in range(600):
        if path.exists() or process.poll() is not None:
            return
        ask()
        time.sleep(0.1)


def test_sigterm_leaves_a_checkpoint_and_sigusr1_too(tmp_path):
    kept = tmp_path / "kept"
    process = started(tmp_path, "--checkpoint", "kept")
    while not list(tmp_path.glob(".checkpoint-*")):  # made once the signals are listened to
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    wait_for(kept, process, lambda: process.send_signal(signal.SIGUSR1))
    assert process.poll() is None, "asked to write, it went on"
    process.send_signal(signal.SIGTERM)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume kept" in words
    assert not list(tmp_path.glob(".checkpoint-*"))
    limited = started(tmp_path, "--resume", "kept", "--max-cycles", "2000000", "--out", "resumed")
    assert limited.wait(timeout=120) == 0
    assert started(tmp_path, "--out", "whole").wait(timeout=120) == 0
    same_tables(tmp_path / "whole", tmp_path / "resumed")


def test_what_cannot_be_kept_or_resumed_is_said(tmp_path, capsys):
    kept = tmp_path / "kept"
    assert main([*COPY, "--max-cycles", "900", "--checkpoint", str(kept)]) == 0
    other = ["replay", "kernel:copy,megabytes=0.125", *SMALL, "--engine", "reference", "--resume", str(kept)]
    (tmp_path / "text").write_text("hello")
    cases = {
        "other traces": other,
        "holds no replay of this command": [*COPY[:2], *OTHER_CARD, *COPY[6:], "--resume", str(kept)],
        "is no checkpoint": [*COPY, "--resume", str(tmp_path / "text")],
        "cannot be read": [*COPY, "--resume", str(tmp_path / "nothing")],
        "sampled": [*COPY, "--resume", str(kept), "--set", "sample=0.1"],
        "File exists": [*COPY, "--checkpoint", str(tmp_path / "text" / "below")],
    }
    capsys.readouterr()
    for words, ask in cases.items():
        assert main(ask) == 2
        said = capsys.readouterr().err
        assert words in said or "Not a directory" in said, said
        assert said.count("error:") == 1


def test_a_session_leaves_nothing_but_its_file(tmp_path):
    with session(tmp_path / "kept", None) as parts:
        assert parts.paths("card/none")[0] is not None
        assert not parts.bind()
    assert list(tmp_path.iterdir()) == []
    assert Session(None, tmp_path).paths("card/none") == (None, None)


def test_a_single_replays_checkpoint_is_told_from_a_commands(tmp_path):
    from hwmodels import Gpu
    from simulator import replay
    from simulator.trace.kernels import from_spec

    gpu = Gpu.from_card("v100-sxm2-16gb").with_overrides({"scale": "1/16"})
    replay(
        from_spec("kernel:copy,megabytes=0.0625"),
        gpu,
        "reference",
        max_cycles=500,
        checkpoint=tmp_path / "one",
    )
    with pytest.raises(InputError, match="single replay"), session(None, tmp_path / "one"):
        pass
