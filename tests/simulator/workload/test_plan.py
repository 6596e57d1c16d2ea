"""ResNet-50's parts on real cards: groups, registers in the usual ranges, bytes by closed forms,
conflict-free shared tiles, and traces that the validator passes and the archive keeps.
"""

import os
import subprocess
import sys

import pytest

from hwmodels import Gpu
from hwmodels.operations import Operation, Space, space_of
from hwmodels.shared_memory import bank_cycles
from simulator.trace.archive import load, save
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.info import info
from simulator.workload.graph import Operator, Tensor
from simulator.workload.graph_check import make_graph
from simulator.workload.onnx_import import import_onnx
from simulator.workload.plan import kernels_for, plan_for
from simulator.workload.target import AMPERE, Target

CARDS = ["v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm"]


@pytest.fixture(scope="module")
def resnet():
    return import_onnx("light_resnet50", 2, "float16")


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("strategy", ["none", "vertical"])
def test_main_job_makes_sound_kernels(resnet, card, strategy, tmp_path):
    gpu = Gpu.from_card(card)
    traces = [
        trace
        for part in resnet.parts([("n0", "n2"), ("n10", "n15")])
        for trace in kernels_for(part, strategy, gpu)
    ]
    names = [trace.name for trace in traces]
    if strategy == "vertical":
        assert names == ["conv_bn_relu:n0", "conv_bn:n10", "conv_bn_sum_relu:n12"]
    else:
        assert names == [
            f"{kind}:n{n}"
            for kind, n in zip(
                ("conv", "bn", "relu", "conv", "bn", "conv", "bn", "sum", "relu"),
                (0, 1, 2, 10, 11, 12, 13, 14, 15),
                strict=True,
            )
        ]
    for trace in traces:
        check(trace)
        low, high = (64, 168) if trace.name.startswith("conv") else (16, 32)
        assert low <= trace.registers_per_thread <= high
        assert trace.local_bytes_per_thread == 0
        assert trace.shared_bytes_per_block <= 48 * 1024
    save(traces, tmp_path / "job.trace.npz")
    assert load(tmp_path / "job.trace.npz") == traces


@pytest.mark.parametrize("strategy", ["none", "vertical"])
def test_tails_cost_no_registers_through_the_main_loop(strategy):
    """3,136 pixels are 24.5 tiles: the epilogue's loads are predicated."""
    gpu = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
    part = import_onnx("light_resnet50", 1, "float16").subgraph("n10", "n15")
    for trace in kernels_for(part, strategy, gpu):
        if trace.name.startswith("conv"):
            assert trace.grid == (4, 25, 1)
            assert trace.registers_per_thread <= 140


def test_tensors_keep_their_place_from_kernel_to_kernel(resnet):
    traces = kernels_for(resnet.subgraph("n0", "n2"), "none", Gpu.from_card("a100-sxm-40gb"))
    places = {}
    for trace in traces:
        for tensor in trace.tensors:
            assert places.setdefault(tensor.name, tensor) == tensor
    assert {"r0", "r1", "r2", "r1.scale", "r1.shift"} <= set(places)


def test_tensors_keep_their_place_from_strategy_to_strategy(resnet):
    part, gpu = resnet.subgraph("n10", "n15"), Gpu.from_card("a100-sxm-40gb")
    unfused, fused = (
        {tensor.name: tensor for trace in kernels_for(part, strategy, gpu) for tensor in trace.tensors}
        for strategy in ("none", "vertical")
    )
    assert unfused == fused


def test_element_wise_kernels_move_each_tensor_once(resnet):
    part = resnet.subgraph("n14", "n15")
    for trace in kernels_for(part, "none", Gpu.from_card("a100-sxm-40gb")):
        tensor = 2 * 256 * 56 * 56 * 2
        moved = {Operation.LDG: 0, Operation.STG: 0}
        for instruction in trace.program.body:
            if instruction.operation in moved:
                moved[instruction.operation] += (
                    instruction.bytes_per_lane * trace.blocks * trace.threads_per_block
                )
        inputs = 2 if trace.name.startswith("sum") else 1
        assert moved == {Operation.LDG: inputs * tensor, Operation.STG: tensor}


def tiny_convolution(filters=72, window=1, channels=40):
    shapes = {
        "x": (1, channels, 9, 11),
        "w": (filters, channels, window, window),
        "y": (1, filters, 10 - window, 12 - window),
    }
    kinds = {"x": "input", "w": "weight", "y": "output"}
    tensors = {name: Tensor(name, shape, "float16", kinds[name]) for name, shape in shapes.items()}
    return make_graph("tiny", [Operator("c", "Conv", ("x", "w"), ("y",))], tensors)


@pytest.mark.parametrize("card", CARDS[:2])
def test_convolution_bytes_follow_the_tiles(card):
    """Pixels are read once a column tile, filters once a row tile, tails never; results are written once."""
    (trace,) = kernels_for(tiny_convolution(), "none", Gpu.from_card(card))
    moved = {"read": 0, "written": 0}
    for step in expand(trace):
        instruction = trace.flat().instructions[step.static]
        if space_of(instruction.operation) is Space.GLOBAL:
            way = "written" if instruction.operation is Operation.STG else "read"
            moved[way] += step.mask.bit_count() * instruction.bytes_per_lane
    row_tiles, column_tiles = 2, 2
    assert moved["read"] == column_tiles * (99 * 40 * 2) + row_tiles * (72 * 40 * 2)
    assert moved["written"] == 99 * 72 * 2


def test_shared_tiles_meet_no_bank_conflict():
    (trace,) = kernels_for(tiny_convolution(64, 3, 64), "none", Gpu.from_card("a100-sxm-40gb"))
    seen = 0
    for step in expand(trace):
        if step.block or step.warp:
            break
        instruction = trace.flat().instructions[step.static]
        if space_of(instruction.operation) is Space.SHARED:
            bytes_moved = 32 * instruction.bytes_per_lane
            cycles = bank_cycles(step.addresses, step.mask, instruction.bytes_per_lane, 32, 4)
            assert cycles == bytes_moved // 128
            seen += 1
    assert seen > 100


def test_products_equal_the_tiles_multiply_adds(resnet):
    """3 × 3 convolution of 64 channels at 56²: whole tiles, so the products are exactly the operator's."""
    for card, macs in (("a100-sxm-40gb", 16 * 8 * 16), ("v100-sxm2-16gb", 256)):
        (trace,) = kernels_for(resnet.subgraph("n7", "n7"), "none", Gpu.from_card(card))
        mix = info(trace)["mix"]
        products = sum(count for name, count in mix.items() if name.startswith("HMMA"))
        assert products * macs == 2 * 56 * 56 * 64 * 64 * 9


def test_what_has_no_program_is_said_and_moves_its_bytes():
    tensors = {
        name: Tensor(name, (2, 64, size, size), "float16", kind)
        for name, size, kind in (("x", 112, "input"), ("y", 56, "output"))
    }
    graph = make_graph("odd", [Operator("n3", "Strange", ("x",), ("y",))], tensors)
    plan = plan_for(graph, "vertical", AMPERE)
    assert plan.opaque == ["n3: Strange has no kernel program"]
    (trace,) = plan.traces
    check(trace)
    moved = dict.fromkeys(("LDG", "STG"), 0)
    for step in expand(trace):
        instruction = trace.flat().instructions[step.static]
        if instruction.operation.name in moved:
            moved[instruction.operation.name] += step.mask.bit_count() * instruction.bytes_per_lane
    assert moved == {"LDG": 2 * 64 * 112 * 112 * 2, "STG": 2 * 64 * 56 * 56 * 2}


def test_cap_spills_as_local_traffic(resnet):
    part = resnet.subgraph("n10", "n11")
    gpu = Gpu.from_card("a100-sxm-40gb")
    (free,), (capped,) = (kernels_for(part, "vertical", gpu, cap) for cap in (None, 32))
    assert free.registers_per_thread > 64
    assert capped.registers_per_thread <= 32
    assert capped.local_bytes_per_thread > 0
    mix = info(capped)["mix"]
    assert mix["LDL"] > 0 < mix["STL"]
    # The work is the same, but for constants and special registers that are computed again.
    again = {"MOVE", "S2R", "ALU"}
    work = {name: count for name, count in mix.items() if name not in {"LDL", "STL"} | again}
    assert work == {name: count for name, count in info(free)["mix"].items() if name not in again}
    check(capped)


PRINT_DIGEST = """
import hashlib
from simulator.workload.onnx_import import import_onnx
from simulator.workload.plan import plan_for
from simulator.workload.target import VOLTA
part = import_onnx("light_resnet50", 1, "float16").subgraph("n7", "n9")
print(hashlib.sha256(repr(plan_for(part, "vertical", VOLTA, 64).traces).encode()).hexdigest())
"""


def test_same_kernels_in_every_process():
    """String hashes differ from process to process; nothing may depend on them."""
    seen = {
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


def test_features_come_from_the_card():
    assert not Target.of(Gpu.from_card("v100-sxm2-16gb")).async_copy
    assert Target.of(Gpu.from_card("h100-sxm")).matrix is Operation.HMMA_16816_F32


def test_whole_model_has_a_plan(resnet):
    plan = plan_for(resnet, "vertical", AMPERE)
    assert plan.views == ("n173: Reshape is a view",)
    assert sum(len(kernel.group.operators) for kernel in plan.kernels) == 176 - len(plan.views)
    assert len(plan.kernels) == 53 + 5 - len(plan.views)
    assert len(plan.opaque) <= 1
