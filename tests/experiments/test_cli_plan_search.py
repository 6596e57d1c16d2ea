"""`stallscope plan` as a planner: windows, sensitivity, the cost ladder, the picture, every strategy; and the
toy's numbers beside a run.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.config import make_config
from experiments.keys import STRATEGIES
from experiments.run import cards_of
from experiments.workload import make_variant
from hwmodels.errors import InputError

SHAPE = [8, 512]
CHAIN: list[dict[str, Any]] = [
    {"op": "Mul", "inputs": ["x", "w0"], "output": "a", "shape": SHAPE},
    {"op": "Mul", "inputs": ["a", "w1"], "output": "b", "shape": SHAPE},
    {"op": "Relu", "inputs": ["b"], "output": "c", "shape": SHAPE},
    {"op": "Softmax", "inputs": ["c"], "output": "d", "shape": SHAPE},
    {"op": "Tanh", "inputs": ["y"], "output": "e", "shape": SHAPE},
]


@pytest.fixture(autouse=True)
def own_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of these tests stay out of the user's cache folder."""
    monkeypatch.setattr("simulator.fusion.store.user_folder", lambda: tmp_path / "cache")


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    document = {
        "name": "small",
        "gpu": ["v100-sxm2-16gb"],
        "set": {"gpu.scale": "1/16"},
        "workload": {"operators": CHAIN, "dtype": "float16"},
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main(["plan", *argv, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    "name", [name for name in STRATEGIES if name not in {"whole", "block-split", "thread-split"}]
)
def test_every_strategy_of_the_interface_plans(
    name: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = document(capsys, config, "--strategy", name, *(["--cost", "analytic"] if name == "best" else []))
    assert plan["strategy"] == name
    assert plan["kernels_before"] == len(CHAIN)
    assert 1 <= plan["kernels_after"] <= len(CHAIN)
    members = [operator for group in plan["groups"] for operator in group["operators"]]
    assert sorted(set(members)) == [f"n{at}" for at in range(len(CHAIN))]
    assert {group["form"] for group in plan["groups"]} <= {"vertical", "block-split", "thread-split"}
    # No strategy leaves a kernel without cycles, and no line of the words without them.
    assert all(kernel["cycles"] > 0 for group in plan["groups"] for kernel in group["kernels"])
    assert all(group["cycles"] == sum(one["cycles"] for one in group["kernels"]) for group in plan["groups"])


def test_windows_sensitivity_and_ladder_are_in_words_json_and_picture(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "plan"
    plan = document(capsys, config, "--windows", "--sensitivity", "--out", str(folder))
    assert json.loads((folder / "plan.json").read_text(encoding="utf-8")) == plan
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert [step["rung"] for step in plan["ladder"]] == ["bytes", "analytic"]
    (search,) = plan["search"]
    assert search["gap_pct"] == 0
    assert search["complete"]
    # Intervals of the chain of four, and the operator beside it, which has no choice.
    assert {tuple(one["operators"]) for one in plan["windows"]} == {
        tuple(f"n{at}" for at in range(begin, end)) for begin in range(4) for end in range(begin + 1, 5)
    }
    assert any(one["pareto"] for one in plan["windows"])
    assert len(plan["sensitivity"]) == 8
    text = (folder / "plan.txt").read_text(encoding="utf-8")
    for said in ("Planned by analytic cost", "Windows (*", "Planned again on changed cards", "launch gap"):
        assert said in text


def test_check_prices_the_chosen_groups_by_a_dearer_rung(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = document(capsys, config, "--check", "full")
    assert [step["rung"] for step in plan["ladder"]] == ["bytes", "analytic", "full"]
    assert all(group["cycles"] > 0 for group in plan["groups"])
    simulated = document(capsys, config, "--simulate")
    apart = sum(group["cycles"] for group in plan["groups"])
    whole = sum(group["cycles"] for group in simulated["groups"])
    assert abs(apart - whole) <= 0.1 * whole
    none = document(capsys, config, "--check", "full", "--strategy", "none")
    assert none["ladder"][-1]["total_ns"] > plan["ladder"][-1]["total_ns"]


def test_an_unknown_rung_is_one_line(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", config, "--cost", "analytical"]) == 2
    assert "did you mean 'analytic'" in capsys.readouterr().err


def test_the_toys_numbers_stand_beside_its_variant() -> None:
    config = make_config(
        {
            "workload.operators": CHAIN,
            "fusion": ["analytic-toy"],
            "set": {"gpu.scale": "1/16"},
            "gpu": ["v100-sxm2-16gb"],
        },
        "toy",
    )
    variant = make_variant(config, "analytic-toy", cards_of(config)[0])
    assert any(note.startswith("The article's toy promises") for note in variant.notes)
    assert len(variant.kernels) == 2


def test_what_no_card_can_launch_is_said() -> None:
    values = {
        "workload.operators": CHAIN,
        "fusion": ["vertical"],
        "gpu": ["v100-sxm2-16gb"],
        "set": {"gpu.scale": "1/16", "gpu.sm.max_threads_per_block": 64},
    }
    config = make_config(values, "toobig")
    with pytest.raises(InputError, match="can't launch"):
        make_variant(config, "vertical", cards_of(config)[0])
