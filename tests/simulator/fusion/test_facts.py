"""Facts of silicon that come out of the simulated prices without a rule of their own, on slices of cards."""

from simulator.fusion.groups import BLOCK_SPLIT, THREAD_SPLIT, horizontal, vertical
from simulator.fusion.planner import Planner
from simulator.fusion.strategies import best, by_chains
from simulator.workload.operator_list import operator_list
from tests.simulator.fusion.support import planner_of, small_card


def kernel_ns(planner: Planner, *groups: object) -> float:
    return sum(planner.price(group).kernel_fs for group in groups) / 1e6  # type: ignore[arg-type]


def pair(rows: int) -> Planner:
    """Two element-wise operators one behind the other on [rows, 4096] in single precision."""
    shape = [rows, 4096]
    items = [
        {"op": "Relu", "inputs": ["x"], "output": "a", "shape": shape},
        {"op": "Tanh", "inputs": ["a"], "output": "b", "shape": shape},
    ]
    return planner_of(operator_list(items), rung="full")


def test_fusing_gains_little_where_the_intermediate_fits_in_l2() -> None:
    gains = {}
    for rows in (4, 64):
        planner = pair(rows)
        apart = kernel_ns(planner, vertical("n0"), vertical("n1"))
        gains[rows] = apart / kernel_ns(planner, vertical("n0", "n1"))
    # 64 KiB stay in the 384 KiB of this slice's L2; 1 MiB does not: fused, half is moved.
    assert 1 <= gains[4] < 1.7
    assert 1.8 < gains[64] < 3
    planner = pair(4)
    assert planner.price(vertical("n1")).dram_bytes == 0
    assert pair(64).price(vertical("n1")).dram_bytes > 1.5 * 64 * 4096 * 4


def independent(rows: int) -> Planner:
    """Two element-wise operators that have nothing to do with each other."""
    shape = [rows, 4096]
    items = [
        {"op": "Sigmoid", "inputs": ["x"], "output": "a", "shape": shape},
        {"op": "Tanh", "inputs": ["y"], "output": "b", "shape": shape},
    ]
    return planner_of(operator_list(items), rung="full")


def test_small_kernels_side_by_side_gain_large_ones_only_the_launch_and_may_lose() -> None:
    small, large = independent(1), independent(64)
    gap_ns = small.gpu.launch.stream_gap_ns
    saved = {}
    for planner, name in ((small, "small"), (large, "large")):
        apart = [planner.price(vertical(one)).total_fs for one in ("n0", "n1")]
        for form in (BLOCK_SPLIT, THREAD_SPLIT):
            joined = planner.price(horizontal(form, (vertical("n0"), vertical("n1"))))
            saved[name, form] = (sum(apart) - joined.total_fs) / 1e6
    assert max(saved["small", form] for form in (BLOCK_SPLIT, THREAD_SPLIT)) > gap_ns
    whole = large.price(vertical("n0")).total_fs / 1e6
    for form in (BLOCK_SPLIT, THREAD_SPLIT):
        # Beyond the launch there is nothing to gain: both wait for the same DRAM.
        assert saved["large", form] < gap_ns + 0.05 * whole
    assert min(saved["large", form] for form in (BLOCK_SPLIT, THREAD_SPLIT)) < 0


def test_a_broadcast_that_would_be_computed_4096_times_is_materialised() -> None:
    items = [
        {"op": "Mish", "inputs": [f"t{at}"], "output": f"t{at + 1}", "shape": [64, 1]} for at in range(2)
    ]
    items.append({"op": "Add", "inputs": ["y", "t2"], "output": "z", "shape": [64, 4096]})
    planner = planner_of(operator_list(items, dtype="float16"), rung="full")
    everything = vertical("n0", "n1", "n2")
    assert planner.refused(everything.operators) is None
    chain, wide = vertical("n0", "n1"), vertical("n2")
    assert planner.price(everything).total_fs > planner.price(chain).total_fs + planner.price(wide).total_fs
    assert by_chains(planner.graph, planner) == (chain, wide)
    assert best(planner.graph, planner) == (chain, wide)


def test_fused_attention_wins_although_its_occupancy_falls_to_a_third() -> None:
    """Heads of 128 and 512 rows: the tiles of a whole head fill registers and shared memory."""
    heads, scores = [1, 12, 512, 128], [1, 12, 512, 512]
    fused = {"op": "Attention", "inputs": ["q", "k", "v"], "output": "y", "shape": heads}
    fused["input_shapes"] = dict.fromkeys("qkv", heads)
    apart = [
        {"op": "MatMul", "inputs": ["q", "kt"], "output": "s", "shape": scores},
        {"op": "Softmax", "inputs": ["s"], "output": "p", "shape": scores},
        {"op": "MatMul", "inputs": ["p", "v"], "output": "y", "shape": heads},
    ]
    apart[0]["input_shapes"] = {"q": heads, "kt": [1, 12, 128, 512]}
    apart[2]["input_shapes"] = {"v": heads}
    gpu = small_card("1/4", "a100-sxm-40gb")
    one = planner_of(operator_list([fused], dtype="float16"), gpu, "full").price(vertical("n0"))
    planner = planner_of(operator_list(apart, dtype="float16"), gpu, "full")
    three = [planner.price(vertical(name)) for name in ("n0", "n1", "n2")]
    assert one.total_fs < 0.85 * sum(price.total_fs for price in three)
    # Warps on an SM, over the time of the kernels.
    (kernel,) = one.kernels
    kernels = [kernel for price in three for kernel in price.kernels]
    occupancy = sum(kernel.occupancy_pct * kernel.time_fs for kernel in kernels)
    occupancy /= sum(kernel.time_fs for kernel in kernels)
    assert 0.25 < kernel.occupancy_pct / occupancy < 0.4
