"""`stallscope compare`: the reasons add up to the difference, kernels are matched by name, missing ones are
named.
"""

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import folder as folders
from experiments.cli import main
from experiments.compare import ONLY_A, OVERLAP, REASONS, RESIDENCY, difference_of, matched, split, together
from experiments.compare_document import compare_folders
from hwmodels.errors import InputError
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.result import Result

STATES = st.lists(st.integers(0, 10**9), min_size=len(STATE_NAMES), max_size=len(STATE_NAMES))
CYCLES = st.integers(0, 10**7)


@given(st.tuples(CYCLES, CYCLES), STATES, STATES)
def test_the_reasons_add_up_to_the_difference_for_any_numbers(cycles, before, after) -> None:
    parts = split(cycles, before, after)
    assert [name for name, _ in parts] == list(REASONS)
    assert sum(part for _, part in parts) == cycles[1] - cycles[0]


@given(st.tuples(CYCLES, CYCLES), STATES, STATES)
def test_the_other_way_round_has_the_opposite_reasons(cycles, before, after) -> None:
    there, back = split(cycles, before, after), split(cycles[::-1], after, before)
    assert all(abs(one + other) <= 1 for (_, one), (_, other) in zip(there, back, strict=True))


def states(**given: int) -> list[int]:
    return [given.get(name, 0) for name in STATE_NAMES]


def test_at_the_same_residency_a_state_has_the_cycles_that_it_gained() -> None:
    """Ten warps all the time: 100 warp-cycles more of a wait are ten cycles more."""
    parts = dict(split((100, 110), states(selected=1000), states(selected=1000, long_scoreboard=100)))
    assert parts == dict.fromkeys(REASONS, 0) | {"long_scoreboard": 10}


def test_the_same_warp_cycles_by_twice_the_warps_are_residency() -> None:
    parts = dict(split((100, 50), states(long_scoreboard=1000), states(long_scoreboard=1000)))
    assert parts == dict.fromkeys(REASONS, 0) | {RESIDENCY: -50}


def test_a_kernel_without_warps_has_its_difference_in_residency() -> None:
    assert dict(split((0, 7), states(), states(wait=70)))[RESIDENCY] == 7


@pytest.fixture
def slower(make_result) -> Result:
    """The made-up run with a first kernel that takes longer, waits more, and loads more slowly."""
    record = copy.deepcopy(make_result("none").record)
    kernel = record.kernels[0]
    kernel.end_fs += 40 * record.sm_period_fs
    kernel.states[STATE_NAMES.index("long_scoreboard")] += 500
    kernel.phases[0][8] += 7 * record.sm_period_fs
    kernel.latency_fs[0] += 7 * record.sm_period_fs
    source = make_result("none").source
    return Result(record, source.headers, source.card, "none", verify=False)


def test_a_result_against_itself_has_no_difference(make_result) -> None:
    found = difference_of(make_result("none"), make_result("none"))
    assert len(found.kernels) == 2
    assert set(found.reasons.values()) == {0}
    assert not found.only_a
    assert not found.only_b


def test_every_sum_holds(make_result, slower: Result) -> None:
    before = make_result("none")
    found = difference_of(before, slower)
    assert sum(found.reasons.values()) == found.difference == slower.cycles - before.cycles
    for kernel in found.kernels:
        assert sum(cycles for _, cycles in kernel.reasons) == kernel.difference
        for latency in kernel.latencies:
            assert sum((part for _, part in latency.phases), Fraction(0)) == latency.difference_fs
    first = found.kernels[0]
    assert first.difference == 40
    assert first.latencies[0].difference_fs == Fraction(
        7 * before.record.sm_period_fs, first.latencies[0].requests[0]
    )


def test_kernels_that_one_side_lacks_are_named_and_counted(two_results) -> None:
    found = difference_of(two_results[0], two_results[1].named("none"))
    label = two_results[0].source.labels[1]
    cycles = int(two_results[0].kernels["cycles"].iloc[1])
    assert found.only_a == ((label, cycles),)
    assert found.only_b == ()
    assert found.reasons[ONLY_A] == -cycles
    assert sum(found.reasons.values()) == found.difference
    assert found.reasons[OVERLAP] == 0


def test_results_are_matched_by_card_and_variant_and_the_last_two_by_what_is_left(two_results) -> None:
    none, vertical = two_results
    pairs, left_a, left_b = matched(two_results, [vertical, none])
    assert [(a.variant, b.variant) for a, b in pairs] == [("none", "none"), ("vertical", "vertical")]
    assert not left_a
    assert not left_b
    pairs, left_a, left_b = matched([none], [vertical])
    assert [(a.variant, b.variant) for a, b in pairs] == [("none", "vertical")]
    pairs, left_a, left_b = matched(two_results, [vertical])
    assert [(a.variant, b.variant) for a, b in pairs] == [("vertical", "vertical")]
    assert left_a == [none]


def test_a_result_that_was_cut_short_is_not_compared(make_result) -> None:
    cut = make_result("none")
    cut.record.partial = True
    with pytest.raises(InputError, match="was cut short by a limit"):
        difference_of(make_result("none"), cut)


@pytest.fixture
def two_folders(make_result, slower: Result, two_results, tmp_path: Path) -> tuple[str, str]:
    for name, results, cap in (("a", two_results, None), ("b", [slower], 32)):
        (tmp_path / name).mkdir()
        config = {"name": "x", "registers": {"cap": cap}}
        folders.write(tmp_path / name, results, config, {}, {"card": {"sm": {"warp_slots": 64}}})
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_document_says_what_was_done_and_what_moved(two_folders, capsys) -> None:
    assert main(["compare", *two_folders, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changed"] == [{"key": "registers.cap", "a": None, "b": 32}]
    (one,) = document["results"]
    assert document["only_in_a"] == [f"{one['gpu_a']}/vertical"]
    assert one["cycles"]["difference"] == sum(row["cycles"] for row in one["reasons"]) == 40
    kernel = one["kernels"][0]
    assert kernel["cycles"]["difference"] == sum(row["cycles"] for row in kernel["reasons"]) == 40
    loads = kernel["latency"][0]
    assert sum(row["difference"] for row in loads["phases"]) == pytest.approx(loads["mean"]["difference"])
    assert one["kernels"][1]["explanation"] == "no difference in cycles"


def test_the_words_name_the_reason_and_what_is_missing(two_folders, capsys) -> None:
    assert main(["compare", *two_folders]) == 0
    output = capsys.readouterr().out
    assert "the difference of +40 cycles" in output
    assert "only in A: " in output
    assert "registers.cap  null  32" in output


def test_two_variants_of_one_folder(two_folders, capsys) -> None:
    assert main(["compare", two_folders[0], two_folders[0], "--variants", "none,vertical", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["results"]
    assert (one["variant_a"], one["variant_b"]) == ("none", "vertical")
    assert len(one["only_in_a"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--variants", "none"], "no pair"),
        (["--variants", "nine,vertical"], "unknown variant 'nine'; did you mean 'none'?"),
    ],
)
def test_bad_variants_are_one_error(words, message, two_folders, capsys) -> None:
    assert main(["compare", *two_folders, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_results_is_one_error(two_folders, tmp_path: Path, capsys) -> None:
    assert main(["compare", two_folders[0], str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_real_change_is_explained(tmp_path: Path) -> None:
    """Memory at a third of the rate: the copy waits for loads, and the requests for DRAM."""
    from experiments.config import make_config
    from experiments.run import run

    base = {"workload.kernels": [{"name": "copy", "megabytes": 0.125}], "gpu": ["v100-sxm2-16gb"]}
    for name, rate in (("a", 1755), ("b", 585)):
        config = make_config({**base, "set": {"gpu.scale": "1/16", "gpu.dram.data_rate_mbps": rate}}, "test")
        outcome = run(config, workers=1)
        (tmp_path / name).mkdir()
        outcome.write(tmp_path / name)
    document = compare_folders(tmp_path / "a", tmp_path / "b")
    (one,) = document["results"]
    assert one["cycles"]["difference"] > 0
    reasons = {row["reason"]: row["cycles"] for row in one["reasons"]}
    assert sum(reasons.values()) == one["cycles"]["difference"]
    assert max(reasons, key=lambda reason: reasons[reason]) in {"long_scoreboard", "lg_throttle", "drain"}
    loads = next(row for row in one["kernels"][0]["latency"] if row["operation"] == "load")
    phases = {row["phase"]: row["difference"] for row in loads["phases"]}
    assert sum(phases[name] for name in phases if name.startswith("dram")) > 0.3 * loads["mean"]["difference"]
    assert {"key": "set.gpu.dram.data_rate_mbps", "a": 1755, "b": 585} in document["changed"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # One kernel for two, beside one that is the same.
        ([("c", "c"), ("b", "b"), ("r", "r")], [("cb", "cb"), ("r", "r")], [([0, 1], [0]), ([2], [1])]),
        # The other way round, and a third that only A has.
        ([("cb", "cb"), ("x", "x")], [("c", "c"), ("b", "b")], [([0], [0, 1])]),
        # Cut at different places: the smallest sets with the same operators.
        ([("ab", "ab"), ("cd", "cd")], [("a", "a"), ("bc", "bc"), ("d", "d")], [([0, 1], [0, 1, 2])]),
        # Operators that one side lacks: nothing belongs together.
        ([("a", "a"), ("b", "b")], [("abc", "abc")], []),
        # Without operators by name, and by name alone where it is all that is left.
        ([("k", ""), ("l", "")], [("l", ""), ("k", "")], [([0], [1]), ([1], [0])]),
        ([("k", "a")], [("k", "ab")], [([0], [0])]),
    ],
)
def test_kernels_belong_together_by_name_and_by_operators(a, b, expected) -> None:
    named = [[(name, tuple(operators)) for name, operators in side] for side in (a, b)]
    assert together(*named) == expected


def test_a_fused_kernel_is_explained_beside_those_it_replaces(tmp_path: Path, capsys) -> None:
    from experiments.config import make_config
    from experiments.run import run

    shape = [2, 32, 32, 32]
    operators = [
        {"op": "Relu", "inputs": ["x"], "output": "y", "shape": shape},
        {"op": "Sigmoid", "inputs": ["y"], "output": "z", "shape": shape},
        {"op": "Abs", "inputs": ["u"], "output": "v", "shape": shape},
    ]
    values = {"workload.operators": operators, "gpu": ["v100-sxm2-16gb"], "set": {"gpu.scale": "1/16"}}
    run(make_config({**values, "fusion": ["none", "vertical"]}, "test"), workers=1).write(tmp_path)
    words = ["compare", str(tmp_path), str(tmp_path), "--variants", "none,vertical"]
    assert main([*words, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["results"]
    assert one["only_in_a"] == one["only_in_b"] == []
    fused, alone = one["kernels"]
    assert [len(kernels) for kernels in (fused["kernels_a"], fused["kernels_b"])] == [2, 1]
    assert alone["kernels_a"] == alone["kernels_b"]
    assert fused["cycles"]["difference"] == sum(row["cycles"] for row in fused["reasons"]) < 0
    assert fused["global_load_requests"]["a"] == 2 * fused["global_load_requests"]["b"]
    assert fused["l2_read_bytes"]["difference"] < 0
    assert fused["launch_cycles"]["difference"] < 0
    assert sum(row["cycles"] for row in one["reasons"]) == one["cycles"]["difference"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert f"{' + '.join(fused['kernels_a'])} → {fused['kernels_b'][0]}: " in text
    assert "DRAM traffic" in text
