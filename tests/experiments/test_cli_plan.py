"""`stallscope plan`: the document of the interface, the words, the options, one-line refusals, and that the
plan's counts are those of the model.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.cli.plan_words import BARS, curve, drawn

PART = [
    "plan",
    "light_resnet50",
    "--batch",
    "1",
    "--gpu",
    "v100-sxm2-16gb",
    "--first",
    "n10",
    "--last",
    "n15",
]
OPERATORS = """\
name: small
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
workload:
  operators:
    - {op: Relu, inputs: [x], output: a, shape: [1, 8, 16, 16]}
    - {op: Add, inputs: [a, y], output: b, shape: [1, 8, 16, 16]}
"""


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main([*argv, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return err


def test_json_has_the_keys_of_the_interface(capsys: pytest.CaptureFixture[str]) -> None:
    plan = document(capsys, *PART)
    assert (plan["nodes"], plan["kernels_before"], plan["kernels_after"]) == (6, 6, 2)
    assert [group["operators"] for group in plan["groups"]] == [["n10", "n11"], ["n12", "n13", "n14", "n15"]]
    for group in plan["groups"]:
        assert 64 <= group["registers_per_thread"] <= 168
        assert group["spill_bytes_per_thread"] == 0
        (kernel,) = group["kernels"]
        assert group["cycles"] == kernel["cycles"] > 0
        assert group["cycles_by"] == "analytic"
        assert kernel["registers_per_thread"] == group["registers_per_thread"]
        assert max(kernel["pressure"]) == kernel["pressure_peak"]
        assert sum(kernel["live_words_at_peak"].values()) == kernel["pressure_peak"]
        assert set(kernel["live_at_peak"]) >= set(kernel["live_words_at_peak"])
    (left,) = plan["why_not"]
    assert (left["producer"], left["consumer"], left["tensor"]) == ("n11", "n14", "r11")
    assert (left["rule"], left["number"], left["limit"]) == ("two contractions", 2, 1)


def test_data_flow_is_that_of_the_operators(capsys: pytest.CaptureFixture[str]) -> None:
    flow = document(capsys, *PART, "--strategy", "none")["dataflow"]
    tensor = 56 * 56 * 256 * 2
    assert [(edge["producer"], edge["consumer"]) for edge in flow["edges"]] == [
        ("n10", "n11"),
        ("n11", "n14"),
        ("n12", "n13"),
        ("n13", "n14"),
        ("n14", "n15"),
    ]
    assert flow["bytes_written"] == 6 * tensor
    # n11's result waits while n12 and n13 run.
    assert flow["peak_live_bytes"] == 3 * tensor
    assert set(flow["bytes_by_level"]) <= {"global memory", "L2 by chance"}


def test_a_cap_spills_and_says_what(capsys: pytest.CaptureFixture[str]) -> None:
    plan = document(capsys, *PART, "--set", "registers.cap=32")
    assert {kind for group in plan["groups"] for kind in group["kinds"]} >= {"Conv", "Sum", "Relu"}
    for group in plan["groups"]:
        assert group["registers_per_thread"] <= 32
        if "Conv" not in group["kinds"]:
            continue
        assert group["spill_bytes_per_thread"] > 0
        (kernel,) = group["kernels"]
        assert "accumulator" in kernel["spilled"]
        assert kernel["recomputed"]


def test_words_say_what_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PART) == 0
    out = capsys.readouterr().out
    assert "6 kernels before, 2 after" in out
    assert "Kernels; cycles by arithmetic, each kernel by itself" in out
    assert "one kernel tiles one of n10 (Conv) and n12 (Conv)" in out
    assert "fused in conv_bn_sum_relu:n12" in out
    assert any(set(line.strip()) <= set(BARS) for line in out.splitlines() if line.strip())


@pytest.mark.parametrize(("length", "width"), [(1, 60), (59, 60), (60, 60), (61, 60), (1000, 60)])
def test_the_curve_shows_the_peak_and_the_ends(length: int, width: int) -> None:
    values = [0] * length
    values[length // 2] = 9
    drawn = curve(values, width)
    assert len(drawn) == min(length, width)
    assert drawn.count(BARS[-1]) == 1
    assert set(drawn) <= {BARS[0], BARS[-1]}


def test_a_config_with_operators_is_planned_replayed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "small.yaml"
    config.write_text(OPERATORS, encoding="utf-8")
    apart = document(capsys, "plan", str(config), "--strategy", "none")
    plan = document(capsys, "plan", str(config), "--simulate", "--out", str(tmp_path / "plan"))
    assert (apart["kernels_after"], plan["kernels_after"]) == (2, 1)
    assert plan["groups"][0]["cycles"] > 0
    assert [group["cycles_by"] for group in (*apart["groups"], *plan["groups"])] == [
        "analytic",
        "analytic",
        "replay",
    ]
    assert json.loads((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8")) == plan
    assert "1 after" in (tmp_path / "plan" / "plan.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--strategy", "verticl"], "did you mean 'vertical'"),
        (["--first", "n999"], "unknown operator or tensor 'n999'"),
        (["--batch", "0"], "workload.batch"),
        (["--dtype", "int4"], "workload.dtype"),
        (["--set", "gpu.sm_cout=3"], "did you mean"),
    ],
)
def test_bad_options_are_one_line(extra: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "plan", "light_resnet50", *extra)


def test_what_has_no_operators_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "kernels have no operators to plan" in refusal(capsys, "plan", "copy")
    assert "did you mean 'light_resnet50'" in refusal(capsys, "plan", "light_resnt50")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert "holds something other than a plan" in refusal(capsys, *PART, "--out", str(tmp_path))


def test_many_kernels_of_a_kind_share_a_curve() -> None:
    def kernel(name: str, peak: int, spilled: tuple[str, ...] = ()) -> dict[str, Any]:
        return {"kernel": name, "pressure_peak": peak, "spilled": list(spilled), "recomputed": []}

    few = [kernel(f"conv:n{at}", 100 + at) for at in range(3)]
    assert drawn(few) == [(one, []) for one in few]
    many = [kernel(f"conv:n{at}", 100 + at % 9) for at in range(12)] + [kernel("conv:n12", 90, ("a",))]
    (first, like_it), (alone, nothing) = drawn(many)
    assert (first["kernel"], len(like_it)) == ("conv:n8", 11)
    assert (alone["kernel"], nothing) == ("conv:n12", [])
