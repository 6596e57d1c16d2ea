"""What is believed of groups before they are replayed, and that the search replays fewer of them for it."""

from dataclasses import replace

from simulator.fusion.belief import PPM, SEEN_PPM, UNSEEN_PPM, Belief, believed_together
from simulator.fusion.groups import BLOCK_SPLIT, Group, horizontal, vertical
from simulator.fusion.planner import Planner
from simulator.fusion.price import Price, spacing_fs
from simulator.fusion.strategies import partition_for
from simulator.workload.graph import Graph
from simulator.workload.operator_list import operator_list
from tests.simulator.fusion.support import cheapest_of_all, planner_of

SHAPE = [1, 64, 8, 8]
NAMES = ("n0", "n1", "n2")


def block() -> Graph:
    """A convolution, a scaling and a ReLU, and the same again."""
    items: list[dict[str, object]] = []
    for at, source in ((0, "x"), (3, "t2")):
        filters = {"x": SHAPE, f"f{at}": [64, 64, 1, 1]}
        items += [
            {"op": "Conv", "inputs": [source, f"f{at}"], "output": f"t{at}", "shape": SHAPE},
            {"op": "Mul", "inputs": [f"t{at}", f"s{at}"], "output": f"t{at + 1}", "shape": SHAPE},
            {"op": "Relu", "inputs": [f"t{at + 1}"], "output": f"t{at + 2}", "shape": SHAPE},
        ]
        items[at]["input_shapes"] = filters if source == "x" else {f"f{at}": [64, 64, 1, 1]}
    return operator_list(items, dtype="float16")


def times(price: Price, factor_ppm: int) -> Price:
    kernels = tuple(replace(one, time_fs=one.time_fs * factor_ppm // PPM) for one in price.kernels)
    return replace(price, kernels=kernels)


def spaced(planner: Planner, price: Price, share_ppm: int) -> int:
    return sum(spacing_fs(one.time_fs * share_ppm // PPM, planner.gpu, "stream") for one in price.kernels)


def test_a_replayed_group_tells_of_others_with_its_heart() -> None:
    planner = planner_of(block())
    belief = Belief(planner)
    alone, both, other = vertical("n0"), vertical("n0", "n1"), vertical("n4", "n5")
    price = planner.price(both)
    assert belief.cost(both) == spaced(planner, price, UNSEEN_PPM)
    belief.learn(alone, times(planner.price(alone), 1_500_000))
    assert abs(belief.cost(both) - spaced(planner, price, SEEN_PPM * 3 // 2)) <= PPM
    # The convolution of the second block is the same work; element-wise groups have no heart.
    assert belief.heart(vertical("n3")) == belief.heart(alone)
    assert belief.heart(other) == ()
    assert belief.cost(other) == spaced(planner, planner.price(other), UNSEEN_PPM)
    # The least factor counts, whatever comes later.
    belief.learn(vertical("n3", "n4"), times(planner.price(vertical("n3", "n4")), 1_700_000))
    assert abs(belief.cost(both) - spaced(planner, price, SEEN_PPM * 3 // 2)) <= PPM


def test_what_is_between_two_groups_costs_what_they_cost() -> None:
    planner = planner_of(block())
    belief = Belief(planner)
    for group in (vertical("n0"), vertical(*NAMES)):
        belief.learn(group, planner.price(group))
    inner = min(planner.price(vertical("n0")).kernel_fs, planner.price(vertical(*NAMES)).kernel_fs)
    between = vertical("n0", "n1")
    assert belief.between(between, belief.heart(between)) == inner
    assert belief.cost(between) >= spacing_fs(inner, planner.gpu, "stream")
    # Nothing is known to be around the largest, nor inside the smallest.
    for group in (vertical("n0"), vertical(*NAMES)):
        assert belief.between(group, belief.heart(group)) == 0


def test_fewer_groups_are_replayed_and_the_choice_is_the_best() -> None:
    planner = planner_of(block(), rung="full")
    partition = partition_for("vertical", planner)
    replayed = planner.looked["full"]

    def cost(group: Group) -> int | None:
        price = planner.price(group)
        return None if price.refusal is not None else price.total_fs

    assert planner.total(partition) == cheapest_of_all(planner, cost)
    assert planner.looked["full"] > replayed


def test_a_launch_is_believed_to_have_the_errors_of_its_parts() -> None:
    planner = planner_of(block(), rung="full")
    parts = [vertical("n1", "n2"), vertical("n4", "n5")]
    joined = horizontal(BLOCK_SPLIT, parts)
    guess = planner.price(joined, "analytic")
    factor = sum(planner.price(one).kernel_fs for one in parts) / sum(
        planner.price(one, "analytic").kernel_fs for one in parts
    )
    expected = spaced(planner, guess, round(SEEN_PPM * factor))
    assert abs(believed_together(planner, joined, parts) - expected) <= expected // 1000
    # Only the parts, which are alike, have been replayed for it.
    assert planner.looked["full"] == 1
