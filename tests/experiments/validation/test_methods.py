"""How published rows are replayed: the shuffled chase, graphs of rounds, long kernels in two lengths."""

import pytest

from experiments.probes.chases import POINTER_STRIDE, shuffled_chase
from experiments.probes.measure import last_loads, mean_step, replayed
from experiments.validation.kernel_replays import graph_traces
from experiments.validation.machine import L2_TURNS, _share
from hwmodels import Gpu
from simulator.trace.cursor import open_cursor
from simulator.trace.tally import tally

KIB = 1024
V100, A100 = Gpu.from_card("v100-pcie-16gb"), Gpu.from_card("a100-sxm-80gb")
L1_HIT, L2_HIT = 28, 212
"""Cycles of the two levels on the V100."""


def addresses(trace):
    cursor = open_cursor(trace, 0, 0)
    found = []
    while cursor.peek() >= 0:
        if cursor.mask() == 1:
            found.append(cursor.addresses()[0])
        cursor.advance()
    return found


def test_a_lap_visits_every_pointer_once_and_laps_are_equal():
    found = addresses(shuffled_chase(8 * KIB, 2))
    count = 8 * KIB // POINTER_STRIDE
    assert found[:count] == found[count:]
    assert sorted(found[:count]) == [min(found) + POINTER_STRIDE * one for one in range(count)]


@pytest.mark.parametrize("ratio", [1.05, 1.15, 1.5])
def test_misses_set_in_gently_and_are_complete_at_four_thirds(ratio):
    """With a cache of any associativity: a pointer hits if its line stays for a lap. At a share g of the lap
    comes the other pointer of its line; N lines, each at two random places, show N (2 g - g^2) lines within
    g. So with c the cache's share of the lines, 1 - 2 sqrt(1 - c) of the pointers hit, none from c = 3/4 on.
    """
    size = int(V100.l1.usable_kib(0) * ratio) * KIB
    result = replayed([shuffled_chase(size, 3)], V100, keep_requests=True)
    step = mean_step(last_loads(result, size // POINTER_STRIDE))
    misses = min(1.0, 2 * (1 - 1 / ratio) ** 0.5)
    assert (step - L1_HIT) / (L2_HIT - L1_HIT) == pytest.approx(misses, abs=0.16)


def test_the_shorter_of_two_lengths_turns_l2_over():
    trace = graph_traces(V100, "relu", "67108864", "float32", "none")
    part = V100.scaled("1/4")
    share = _share(trace, part, int(sum(tally(trace[0]))), 4)
    moved = sum(tensor.bytes for tensor in trace[0].tensors) / 4
    assert share < 1
    assert share / 2 * moved >= 0.99 * L2_TURNS * part.l2.size_kib * KIB


def test_quantised_results_are_bytes_and_kept_sums_are_written():
    quantised = graph_traces(V100, "rms_norm_quantised", "8x256", "float16", "vertical")
    assert [tensor.bytes for tensor in quantised[-1].tensors if tensor.kind == "output"] == [8 * 256]
    (fused,) = graph_traces(V100, "add_rms_norm", "8x256", "float32", "vertical")
    assert sum(tensor.kind == "output" for tensor in fused.tensors) == 2
    half = graph_traces(V100, "rms_norm_eager_half", "8x256", "float16", "none")
    assert half[0].tensors[-1].bytes == 2 * half[0].tensors[0].bytes
    assert half[-1].tensors[-1].bytes == half[0].tensors[-1].bytes


@pytest.mark.parametrize(
    ("width", "threads"), [(1000, 128), (2048, 256), (4096, 256), (8192, 512), (16384, 512), (32768, 1024)]
)
def test_a_library_shares_a_row_by_its_own_rule(width, threads):
    for name in ("liger_layer_norm", "liger_rms_norm", "liger_add_rms_norm"):
        (made,) = graph_traces(A100, name, f"4x{width}", "float32", "vertical")
        assert (made.block[0], made.blocks) == (threads, 4)
        assert made.registers_per_thread <= 65536 // threads


def test_broadcasts_of_a_framework_go_element_by_element():
    made = graph_traces(A100, "add_rms_norm_eager", "8x512", "float32", "none")
    assert [one.blocks for one in (made[0], made[-2], made[-1])] == [4, 16, 16]
