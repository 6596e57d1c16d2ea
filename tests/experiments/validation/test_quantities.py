"""The grammar: what rows of known and of similar names ask for. No card is replayed here."""

from inspect import signature

import pytest

from experiments.probes.registry import PROBES
from experiments.validation.boards import card_of
from experiments.validation.graphs import GRAPHS
from experiments.validation.kernel_replays import graph_traces
from experiments.validation.measurements import PUBLISHED, Measurement, read_file
from experiments.validation.replays import REPLAYS
from experiments.validation.request import REASONS, Refusal, Request
from experiments.validation.run import ask, wanted_of
from hwmodels import Gpu, cards

KIB = 1024
V100, A100, H100 = (Gpu.from_card(name) for name in ("v100-pcie-16gb", "a100-sxm-40gb", "h100-sxm"))


def wanted(quantity, unit="cycles", conditions="", gpu=V100):
    return wanted_of(Measurement("rows.csv:2", "", quantity, 1.0, unit, conditions, "", "high"), gpu)


@pytest.mark.parametrize(
    ("board", "card"),
    [
        ("V100", "v100-sxm2-16gb"),
        ("V100 SXM2", "v100-sxm2-16gb"),
        ("V100 PCIe", "v100-pcie-16gb"),
        ("A100", "a100-sxm-40gb"),
        ("A100 SXM4", "a100-sxm-40gb"),
        ("A100 SXM4 40GB", "a100-sxm-40gb"),
        ("A100 SXM4 80GB", "a100-sxm-80gb"),
        ("H100", "h100-sxm"),
        ("H100 SXM5", "h100-sxm"),
        ("H100 PCIe", "h100-pcie"),
        ("H800 PCIe (GH100)", "h800-pcie"),
        ("v100-pcie-16gb", "v100-pcie-16gb"),
        ("CC 7.0 (V100)", None),
        ("TITAN V", None),
        ("B200", None),
        ("T4", None),
        ("A100 PCIe 80GB", None),
    ],
)
def test_boards(board, card):
    assert card_of(board) == card


@pytest.mark.external
def test_every_card_of_the_interface_that_is_shipped_has_a_board():
    boards = {row.gpu for row in read_file(PUBLISHED)}
    found = {card_of(board) for board in boards} - {None}
    assert found <= set(cards())
    assert len(found) >= 7


@pytest.mark.parametrize(
    ("quantity", "conditions", "gpu", "replay", "parameters"),
    [
        (
            "lat.chase.l2",
            "random pointer chase, footprint 4849 kB, clock 1380 MHz",
            V100,
            "chase",
            {"footprint_bytes": 4849 * KIB, "address_cycles": 0},
        ),
        (
            "lat.l2_hit_far",
            "random pointer chase, footprint 26-37 MB; 1395 MHz",
            A100,
            "chase",
            {"footprint_bytes": 63 * KIB * KIB // 2, "address_cycles": 0},
        ),
        (
            "lat.l2_hit_near",
            "random pointer chase, footprint <20 MB",
            A100,
            "chase",
            {"footprint_bytes": 10 * KIB * KIB, "address_cycles": 0},
        ),
        (
            "lat.l2_hit_far",
            "per-access K-means clusters, 32 B stride chase",
            A100,
            "cluster",
            {"which": "hit far"},
        ),
        ("lat.l2_miss_near", "per-access K-means clusters", A100, "cluster", {"which": "miss near"}),
        (
            "lat.l2_hit",
            "fine-grained pointer chase, one location at 1380 MHz",
            V100,
            "one location",
            {"level": "l2"},
        ),
        ("lat.l1_hit", "p-chase p50", H100, "chase", {"footprint_bytes": 32 * KIB, "address_cycles": 6}),
        ("lat.shared", "pointer chase", A100, "shared chase", {"address_cycles": 6}),
        ("lat.shared", "no conflict at 1380 MHz", V100, "shared chase", {"address_cycles": 0}),
        ("lat.alu.IADD3", "dependent-issue", V100, "operation", {"operation": "ALU", "how": "dependent"}),
        ("lat.cpi_independent.add.f32", "", A100, "operation", {"operation": "FADD", "how": "independent"}),
        (
            "lat.mma.sync.bf16.f32.m16n8k16",
            "dense",
            A100,
            "operation",
            {"operation": "HMMA_16816_F32", "how": "dependent"},
        ),
        (
            "lat.atomicAdd_same_address_108blk_128thr",
            "",
            A100,
            "global atomics",
            {"blocks": 108, "threads": 128},
        ),
        (
            "bw.stream_triad_occ25.0%",
            "40960 resident threads on chip, CTA 256 threads",
            V100,
            "stream",
            {"pattern": "triad", "threads": 512},
        ),
        ("bw.cache_ws_64kB", "one CTA per SM", V100, "shared buffer", {"bytes": 64 * KIB}),
        ("bw.l2_ws_4096kB", "", A100, "l2 read", {"bytes": 0, "width": 8}),
        (
            "bw.l1_stride5_cycles_per_warp_load",
            "",
            A100,
            "probe",
            {"group": "strides", "quantity": "L1 load, stride 5"},
        ),
        ("bw.copy_32MB", "", H100, "repeated copy", {"bytes": 32 * KIB * KIB}),
        ("time.launch_cuda_graph", "dummy kernel", H100, "launch", {"launch": "graph", "busy_cycles": 0}),
    ],
)
def test_names_of_latencies_and_rates(quantity, conditions, gpu, replay, parameters):
    found = wanted(quantity, "", conditions, gpu)
    assert isinstance(found, Request), found
    assert (found.replay, dict(found.parameters)) == (replay, parameters)


@pytest.mark.parametrize(
    ("quantity", "unit", "conditions", "graph", "sizes", "strategy"),
    [
        (
            "kernel.liger.layer_norm.liger_N2048",
            "ms",
            "forward; M: 4096, dtype: torch.float32",
            "liger_layer_norm",
            "4096x2048",
            "vertical",
        ),
        (
            "kernel.liger.rms_norm.huggingface_H4096",
            "ms",
            "forward; M: 2048, dtype: torch.bfloat16",
            "rms_norm_eager_half",
            "2048x4096",
            "none",
        ),
        (
            "kernel.quickgelu_fwd_fused",
            "us",
            "fp16 [64,128,2048] = 16.8M elements",
            "quick_gelu",
            "16777216",
            "vertical",
        ),
        ("kernel.roller_baseline.reduce_128x4096", "ms", "fp32", "row_sum", "128x4096", "vertical"),
        ("kernel.softmax_fused", "GB/s", "fp32 M=4096 N=781", "softmax", "4096x781", "vertical"),
        (
            "kernel.attn_fwd_flash_N512",
            "ms",
            "fp16, batch 16, 8 heads, head dim 64",
            "attention",
            "16x8x512x64",
            "vertical",
        ),
        (
            "kernel.liger.fused_add_rms_norm.liger_fused_add_rms_norm_H8192",
            "ms",
            "forward; M: 2048, dtype: torch.float32",
            "liger_add_rms_norm",
            "2048x8192",
            "vertical",
        ),
        (
            "kernel.liger.fused_add_rms_norm.liger_rms_norm_H8192",
            "ms",
            "forward; M: 2048, dtype: torch.float32",
            "add_then_liger_rms_norm",
            "2048x8192",
            "none",
        ),
        (
            "kernel.rmsnorm_fp8quant_fused_M256",
            "ms",
            "hidden 4096, 1 kernel",
            "rms_norm_quantised",
            "256x4096",
            "vertical",
        ),
    ],
)
def test_names_of_kernels(quantity, unit, conditions, graph, sizes, strategy):
    found = wanted(quantity, unit, conditions, A100)
    assert isinstance(found, Request), found
    parameters = dict(found.parameters)
    assert (parameters["graph"], parameters["sizes"], parameters["strategy"]) == (graph, sizes, strategy)


@pytest.mark.parametrize(
    ("quantity", "conditions", "gpu", "why"),
    [
        ("lat.l2_hit", "pointer chase .cg (mix of partitions)", A100, "shape unknown"),
        ("lat.dram_tlb_miss_cold", "first access", V100, "feature not modelled"),
        ("lat.wgmma_n256_dense_SS", "", H100, "feature not modelled"),
        ("kernel.liger.rms_norm.liger_H1024", "forward; M: 2048", A100, "shape unknown"),
        ("kernel.liger.kl_div.liger_V4096", "forward; B: 8, T: 2048", H100, "shape unknown"),
        ("spec.l2_slices", "", V100, "not a measurement"),
        ("lat.never_heard_of", "", V100, "feature not modelled"),
    ],
)
def test_reasons(quantity, conditions, gpu, why):
    found = wanted(quantity, "ms", conditions, gpu)
    assert isinstance(found, Refusal)
    assert found.reason == why


def test_published_rows_ask_for_replays_that_exist():
    """Every reason is of the closed list; every probe's row that is asked for has a group; at least 60 % of
    latencies, rates and kernels on our cards have a replay, and at least 60 kernels.
    """
    asked = ask(read_file(PUBLISHED))
    compared = [one for one in asked if one.card and one.row.quantity.startswith(("lat.", "bw.", "kernel."))]
    found = [one for one in compared if isinstance(one.wanted, Request)]
    assert len(found) >= 0.6 * len(compared)
    assert sum(one.row.quantity.startswith("kernel.") for one in found) >= 60
    for one in asked:
        if isinstance(one.wanted, Refusal):
            assert one.wanted.reason in REASONS
        else:
            assert one.wanted.replay in REPLAYS
            group = dict(one.wanted.parameters).get("group")
            assert group is None or group in PROBES


@pytest.mark.parametrize(
    ("graph", "rank"), [(name, len(signature(one).parameters)) for name, one in GRAPHS.items()]
)
def test_every_graph_has_kernels(graph, rank):
    """Small sizes of each graph, fused and one by one: one by one there are as many kernels as operators."""
    sizes = "x".join(["2", "4", "64", "64"][:rank] if rank == 4 else ["8", "64", "256"][-rank:])
    for strategy in ("none", "vertical"):
        made = graph_traces(A100, graph, sizes, "float16", strategy)
        assert made
        if strategy == "none":
            items = GRAPHS[graph](*map(int, sizes.split("x")))
            assert len(made) >= len(items)
