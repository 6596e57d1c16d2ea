"""Prices: signatures, the store, launches, the ladder; and strategies on the way from a graph to a plan."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator import replay
from simulator.fusion.groups import Group, horizontal, vertical
from simulator.fusion.legality import Refusal
from simulator.fusion.order import sound
from simulator.fusion.plans import plan_with
from simulator.fusion.price import KernelCost, Price, spacing_fs
from simulator.fusion.sensitivity import sensitivity
from simulator.fusion.signature import is_data
from simulator.fusion.steps import steps
from simulator.fusion.store import Store
from simulator.fusion.strategies import partition_for
from simulator.fusion.toy import toy_of
from simulator.fusion.why import Reasons
from simulator.fusion.windows import LOSES, SPILLS, windows_of
from simulator.workload.dataflow import analyse
from simulator.workload.graph import Graph, Tensor
from simulator.workload.onnx_import import import_onnx
from simulator.workload.operator_list import operator_list
from tests.simulator.fusion.support import chain, planner_of, small_card, web

SHAPE = [4, 512]
OURS = ("none", "vertical", "horizontal", "horizontal-then-vertical", "vertical-then-horizontal")
NAMES = (*OURS, "best", "tvm-style", "xla-style", "inductor-style", "analytic-toy")


def test_equal_blocks_of_a_model_are_priced_once() -> None:
    planner = planner_of(import_onnx("light_resnet50", 1, "float16"))
    planned = [
        one.name for one in planner.graph.operators if one.kind in {"Relu", "Sum", "BatchNormalization"}
    ]
    prices = {name: planner.price(vertical(name)) for name in planned}
    assert len(planned) == 118
    # Four widths of image, times the few widths of channels that each has.
    assert planner.looked["analytic"] < 40
    assert len({price.total_fs for price in prices.values()}) <= planner.looked["analytic"]


def test_what_is_stored_and_what_is_in_l2_change_the_signature() -> None:
    graph = web(5, random.Random(3), SHAPE)
    planner = planner_of(graph)
    cold = planner.price(vertical("n0"))
    planner.l2_state = "warm"
    assert planner.price(vertical("n0")).dram_bytes < cold.dram_bytes


def test_a_store_is_shared_by_many_and_survives(tmp_path: Path) -> None:
    kernel = KernelCost(5, 1, 2, 32, 0, 0, 4, 50.0, None, 12.5)

    def write(number: int) -> None:
        store = Store(tmp_path)
        store.put(f"s{number % 7}", Price("full", number % 7, (kernel,)))
        assert store.get(f"s{number % 7}") is not None

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(80)))
    fresh = Store(tmp_path)
    for number in range(7):
        assert fresh.get(f"s{number}") == Price("full", number, (kernel,))
    assert fresh.get("none") is None
    refused = Price("full", 0, (), Refusal("card", "too much", 5, 4))
    fresh.put("refused", refused)
    assert Store(tmp_path).get("refused") == refused


def test_a_store_without_a_folder_keeps_prices_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    store = Store(tmp_path / "file")
    store.put("a", Price("bytes", 1, ()))
    assert store.get("a") == Price("bytes", 1, ())
    assert store.path is None


def test_prices_of_kernels_in_a_row_add_up_to_the_replay() -> None:
    # Kernels that share nothing: each by itself takes as long as in the row, launches included.
    items = [{"op": "Relu", "inputs": [f"x{at}"], "output": f"y{at}", "shape": [1, 256]} for at in range(3)]
    planner = planner_of(operator_list(items), rung="full")
    groups = [vertical(f"n{at}") for at in range(3)]
    result = replay([planner.kernels(group)[0].trace for group in groups], planner.gpu, "compiled")
    starts = [kernel.start_fs for kernel in result.record.kernels]
    period = planner.gpu.sm_period_fs
    for at, group in enumerate(groups[:2]):
        spent = spacing_fs(planner.price(group).kernel_fs, planner.gpu, "stream")
        assert abs(starts[at + 1] - starts[at] - spent) <= max(8 * period, spent // 50)


def test_prices_found_side_by_side_are_those_found_alone() -> None:
    graph = web(6, random.Random(5), SHAPE)
    alone, together = planner_of(graph, rung="full"), planner_of(graph, rung="full")
    groups = [vertical(operator.name) for operator in graph.operators]
    together.prepare([*groups, *groups])
    counted = dict(together.looked)
    assert [together.price(group) for group in groups] == [alone.price(group) for group in groups]
    assert together.looked == counted
    assert counted["full"] == alone.looked["full"] < len(groups)


def test_a_group_that_no_card_can_launch_has_a_refusal() -> None:
    graph = chain(2, random.Random(1), SHAPE)
    gpu = small_card().with_overrides({"sm.max_threads_per_block": 64})
    price = planner_of(graph, gpu).price(vertical("n0"))
    assert price.refusal is not None
    assert "can't launch" in price.refusal.sentence


def test_arithmetic_is_near_the_replay_and_bytes_are_below_it() -> None:
    graph = import_onnx("light_resnet50", 1, "float16").subgraph("n3", "n6")
    planner = planner_of(graph, small_card("1/4"))
    groups = [vertical(name) for name in ("n3", "n4", "n5", "n6")] + [vertical("n4", "n5", "n6")]
    ladder = steps(
        {rung: [planner.price(one, rung) for one in groups] for rung in ("bytes", "analytic", "full")}
    )
    assert ladder[0].kernel_ns <= ladder[2].kernel_ns
    assert ladder[1].error_pct is not None
    assert abs(ladder[1].error_pct) < 45
    assert ladder[1].worst_pct is not None
    assert abs(ladder[1].worst_pct) < 70


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_makes_a_sound_plan(name: str) -> None:
    for seed in range(2):
        planner = planner_of(web(6, random.Random(seed), SHAPE))
        plan, partition = plan_with(planner, name)
        assert sound(planner.legality, partition)
        computed = {operator.name for kernel in plan.kernels for operator in kernel.group.operators}
        assert computed == {operator.name for operator in planner.graph.operators}
        if name == "best":
            ours = [partition_for(one, planner) for one in OURS]
            assert planner.total(partition) == min(planner.total(one) for one in ours)


def test_the_search_beats_the_baselines_by_its_own_prices() -> None:
    for seed in range(2):
        planner = planner_of(web(6, random.Random(seed), SHAPE))
        mine = planner.total(partition_for("best", planner))
        for name in ("tvm-style", "xla-style", "inductor-style"):
            assert mine <= planner.total(partition_for(name, planner))


@pytest.mark.slow
def test_resnet50_takes_at_most_60_kernels() -> None:
    graph = import_onnx("light_resnet50", 1, "float16")
    planner = planner_of(graph, small_card("1/1", "a100-sxm-40gb"))
    plan, _ = plan_with(planner, "vertical")
    assert len(plan.kernels) <= 60
    sums = [
        kernel.group for kernel in plan.kernels if any(one.kind == "Sum" for one in kernel.group.operators)
    ]
    assert len(sums) == 16
    assert all([one.kind for one in group.operators][-2:] == ["Sum", "Relu"] for group in sums)
    assert all(group.operators[0].kind == "Conv" for group in sums)
    assert planner.found is not None
    assert planner.found.gap_ppm == 0


def test_a_graph_of_five_hundred_operators_is_planned_in_seconds_by_arithmetic() -> None:
    graph = import_onnx("light_inception_v2", 1, "float16")
    assert len(graph.operators) > 400
    planner = planner_of(graph, small_card("1/1", "a100-sxm-40gb"))
    began = time.process_time()
    partition = partition_for("vertical", planner)
    assert time.process_time() - began < 60
    assert len(partition) < 0.7 * len(graph.operators)
    assert planner.found is not None
    assert planner.found.gap_ppm == 0


def spilling_chain() -> Graph:
    """Six operators in half precision, each with an operand of its own: their addresses fill registers."""
    items = [
        {"op": "Mul", "inputs": [f"t{at}", f"w{at}"], "output": f"t{at + 1}", "shape": [16, 4096]}
        for at in range(6)
    ]
    return operator_list(items, dtype="float16")


def test_windows_mark_where_spilling_begins_and_where_it_loses() -> None:
    planner = planner_of(spilling_chain(), cap=32, rung="full")
    windows = {one.operators: one for one in windows_of(planner)}
    assert len(windows) == 21
    series = [windows[tuple(f"n{at}" for at in range(size))] for size in range(1, 7)]
    spills = [one.spill_bytes for one in series]
    assert spills[0] == 0
    assert spills == sorted(spills)
    assert [SPILLS in one.marks for one in series] == [False, True, False, False, False, False]
    # The first window that spills still wins by the launch that it saves; larger ones drown in local memory.
    (losing,) = (at for at, one in enumerate(series) if LOSES in one.marks)
    assert losing >= 1
    assert series[losing].total_ns > min(
        windows[series[losing].operators[:cut]].total_ns + windows[series[losing].operators[cut:]].total_ns
        for cut in range(1, losing + 1)
    )
    assert series[-1].saved_ns < 0
    assert max(windows.values(), key=lambda one: one.saved_ns).pareto
    # What stays inside is neither written nor read: twice its size for each value.
    assert [one.saved_bytes for one in series] == [2 * at * 16 * 4096 * 2 for at in range(6)]


def test_reasons_say_rule_or_price() -> None:
    graph = spilling_chain()
    planner = planner_of(graph, cap=24)
    partition = partition_for("vertical", planner)
    reasons = Reasons(planner, partition, "vertical")
    home = {name: group for group in partition for name in group.operators}
    apart = [edge for edge in analyse(graph).edges if home[edge.producer] != home[edge.consumer]]
    assert apart
    for edge in apart:
        why = reasons.why(edge)
        assert why.rule == "cost"
        assert why.loses_ns is not None
        assert why.loses_ns > 0
        assert "bytes spilled" in why.sentence
    none = Reasons(planner, partition_for("none", planner), "none")
    assert none.why(apart[0]).sentence == "no fusion asked for"


def test_a_contraction_stores_a_value_for_others_and_goes_on_from_it() -> None:
    image, filters = [1, 64, 14, 14], [64, 64, 1, 1]
    items = [
        {"op": "Conv", "inputs": ["x", "f"], "output": "a", "shape": image},
        {"op": "Relu", "inputs": ["a"], "output": "b", "shape": image},
        {"op": "Conv", "inputs": ["b", "g"], "output": "c", "shape": image},
        {"op": "Add", "inputs": ["c", "a"], "output": "d", "shape": image},
    ]
    items[0]["input_shapes"] = {"x": image, "f": filters}
    items[2]["input_shapes"] = {"g": filters}
    planner = planner_of(operator_list(items, dtype="float16"), rung="full")
    partition = partition_for("vertical", planner)
    assert partition == (vertical("n0", "n1"), vertical("n2", "n3"))
    # `a` is read by the sum and by the ReLU: written once, and never read by the kernel that makes it.
    (kernel,) = planner.kernels(partition[0])
    kinds = {info.name: info.bytes for info in kernel.trace.tensors if info.name in {"a", "b"}}
    assert set(kinds) == {"a", "b"}
    apart = planner.price(vertical("n0")).total_fs + planner.price(vertical("n1")).total_fs
    assert planner.price(partition[0]).total_fs < apart


def test_sensitivity_plans_eight_cards_and_names_what_flips() -> None:
    planner = planner_of(spilling_chain(), cap=24)
    partition = partition_for("vertical", planner)
    shifts = sensitivity(planner, partition, "vertical")
    by_name = {(one.what, one.factor): one for one in shifts}
    assert len(by_name) == 8
    # A launch that costs less never joins operators, one that costs more never parts them.
    here = planner.total(partition) // 10**6
    assert by_name["launch gap", "1/2"].total_ns < here < by_name["launch gap", "2"].total_ns
    assert not by_name["launch gap", "1/2"].joined
    assert not by_name["launch gap", "2"].parted
    long_gaps = planner.gpu.with_overrides(
        {"launch.stream_gap_ns": 100_000, "launch.host_period_ns": 100_000}
    )
    other = planner.on(long_gaps)
    assert len(partition_for("vertical", other)) == 1
    for one in shifts:
        assert not set(one.joined) & set(one.parted)


def test_the_toy_is_that_of_the_article() -> None:
    items = [
        {
            "op": "Conv",
            "inputs": ["x", "f"],
            "output": "a",
            "shape": [1, 64, 64, 64],
            "input_shapes": {"x": [1, 64, 64, 64], "f": [64, 64, 1, 1]},
        },
        {
            "op": "BatchNormalization",
            "inputs": ["a", "s", "b", "m", "v"],
            "output": "c",
            "shape": [1, 64, 64, 64],
        },
        {"op": "Relu", "inputs": ["c"], "output": "d", "shape": [1, 64, 64, 64]},
        {"op": "Add", "inputs": ["d", "y"], "output": "e", "shape": [1, 64, 64, 64]},
    ]
    toy = toy_of(operator_list(items, dtype="float32"))
    assert (toy.operators, toy.kilobytes) == (4, 1024)
    assert (toy.unfused_cycles, toy.fused_cycles) == (1_638_480, 204_880)
    assert f"{toy.ratio:.2f} {toy.with_ends:.2f} {toy.with_operands:.2f}" == "8.00 4.00 3.00"


def test_horizontal_groups_have_the_parts_operators() -> None:
    one = horizontal("block-split", [vertical("a", "b"), vertical("c")])
    assert one.operators == ("a", "b", "c")
    assert list(one.leaves()) == [Group(("a", "b")), Group(("c",))]


def test_numbers_of_weights_do_not_part_prices() -> None:
    graph = import_onnx("light_resnet50", 1, "float16")
    planner = planner_of(graph)
    numbers = [graph.tensors[name].values for name in (graph.operators[at].inputs[1] for at in (5, 8))]
    assert numbers[0] != numbers[1]
    assert planner.key(vertical("n5"), "full") == planner.key(vertical("n8"), "full")


@pytest.mark.parametrize(
    ("shape", "dtype", "data"),
    [((4,), "float32", True), ((2, 2), "float16", True), ((1,), "float32", False), ((4,), "int64", False)],
)
def test_numbers_that_say_what_an_operator_does_part_prices(
    shape: tuple[int, ...], dtype: str, data: bool
) -> None:
    assert is_data(Tensor("w", shape, dtype, "weight", (1, 2, 3, 4)[: len(shape)])) is data
