"""One small experiment whose report the tests of this folder look at: four element-wise operators and a
branch, unfused and fused, on a slice of a card.
"""

from pathlib import Path

import pytest

from experiments.cli import main
from experiments.config import make_config
from experiments.plots.pictures import draw_all
from experiments.run import run

OPERATORS = [
    {"op": "Relu", "inputs": ["x"], "output": "a", "shape": [1, 8, 16, 16]},
    {"op": "Sigmoid", "inputs": ["a"], "output": "b", "shape": [1, 8, 16, 16]},
    {"op": "Add", "inputs": ["b", "x"], "output": "c", "shape": [1, 8, 16, 16]},
    {"op": "Relu", "inputs": ["z"], "output": "d", "shape": [1, 8, 16, 16]},
]
HOSTILE = "<img src=x onerror=alert(1)>&'\""
VALUES = {
    "name": "small",
    "gpu": ["v100-sxm2-16gb"],
    "set": {"gpu.scale": "1/16"},
    "workload.operators": OPERATORS,
    "fusion": ["none", "vertical"],
    "intervals.cycles": 200,
    "engine": "reference",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder with pictures."""
    made = tmp_path_factory.mktemp("small")
    outcome = run(make_config(VALUES, "small"), workers=1)
    outcome.write(made)
    draw_all(outcome.results, made)
    return made


@pytest.fixture(scope="session")
def report(folder: Path) -> Path:
    """Its page, with simulated demonstrations."""
    assert main(["report", str(folder)]) == 0
    return folder / "report.html"
