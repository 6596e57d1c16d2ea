"""Profiles of real runs: every kernel is read, our occupancy is the profiler's, known durations are near."""

from pathlib import Path

import pytest

from experiments.profiles.cards import card_for
from experiments.profiles.compare import launches_of, simulated
from experiments.profiles.fusion import candidates
from experiments.profiles.kineto import read_kineto
from experiments.profiles.nsight import read_nsight
from experiments.profiles.nsight_compare import needs_of
from experiments.profiles.tables import kernel_rows, summary
from experiments.profiles.works import Work, work_of
from hwmodels import Gpu
from hwmodels.occupancy import occupancy_of
from hwmodels.sm_limits import SmLimits

pytestmark = pytest.mark.external


def trace(shared_folder: Path, name: str) -> Path:
    return shared_folder / "inputs" / "kineto" / f"{name}.json.gz"


@pytest.mark.parametrize(
    ("name", "kernels", "card"),
    [
        ("a100_alexnet", 79, "a100-sxm-40gb"),
        ("a100_event_sync", 4, "a100-sxm-40gb"),
        ("h100_bert_small", 60, "h100-sxm"),
    ],
)
def test_every_kernel_has_the_profilers_occupancy(
    shared_folder: Path, name: str, kernels: int, card: str
) -> None:
    profile = read_kineto(trace(shared_folder, name))
    found = summary(profile, kernel_rows(profile))
    assert found["kernels"] == found["occupancy_compared"] == found["occupancy_equal"] == kernels
    gpu = card_for(profile.devices[0])
    assert gpu is not None
    assert gpu.name == card
    assert all(kernel.launch is not None for kernel in profile.kernels)


def test_shapes_of_operators(shared_folder: Path) -> None:
    profile = read_kineto(trace(shared_folder, "h100_bert_small"))
    gelus = [one for one in profile.kernels if one.operator and one.operator.name == "aten::gelu"]
    assert [one.operator.shapes[0] for one in gelus if one.operator] == [(1, 141, 2048)] * 4 + [(1, 141, 512)]


def test_chains_behind_convolutions_and_products(shared_folder: Path) -> None:
    found = candidates(read_kineto(trace(shared_folder, "a100_alexnet")), Gpu.from_card("a100-sxm-40gb"))
    assert found[0].names == ["aten::cudnn_convolution", "aten::add_", "aten::clamp_min_"]
    assert sum(one.times for one in found if len(one.names) == 3) == 10  # five layers, twice
    found = candidates(read_kineto(trace(shared_folder, "h100_bert_small")), Gpu.from_card("h100-sxm"))
    assert {tuple(one.names) for one in found} == {
        ("aten::addmm", "aten::add"),
        ("aten::addmm", "aten::gelu"),
    }


@pytest.mark.parametrize("elements", [24_780_800, 17_915_904, 8_306_688, 5_537_792])
@pytest.mark.parametrize("operator", ["clamp_min", "add"])
def test_relu_and_bias_add_of_alexnet_within_15_percent(
    shared_folder: Path, operator: str, elements: int
) -> None:
    """As in their run, behind the kernels before them; of the smallest L2 keeps what was written."""
    gpu = Gpu.from_card("a100-sxm-40gb")
    for launched in launches_of(read_kineto(trace(shared_folder, "a100_alexnet"))):
        work = work_of(launched.kernel)
        if isinstance(work, Work) and (work.operator, work.elements) == (operator, elements):
            state = (gpu, "compiled", "run", launched.producer)
            ours = simulated(launched.kernel, work, *state)["simulated_us"]
            assert ours == pytest.approx(launched.measured_us, rel=0.15)
            return
    pytest.fail("no such kernel")


def test_nsight_table_of_a_real_gemm(shared_folder: Path) -> None:
    (kernel,) = read_nsight(shared_folder / "inputs" / "nsight_compute" / "gb200_cublaslt_details.log")
    assert (kernel.block, kernel.grid, kernel.capability) == ((384, 1, 1), (9, 32, 1), "10.0")
    assert kernel.value("Duration") == 406_240
    ours = occupancy_of(SmLimits.of_capability("10.0"), needs_of(kernel))
    assert ours.theoretical_pct == kernel.value("Theoretical Occupancy") == 18.75
    limits = {"Registers": "registers", "Shared Mem": "shared_memory", "Warps": "warps", "SM": "blocks"}
    assert {one: kernel.value(f"Block Limit {one}") for one in limits} == {
        one: ours.limits[name] for one, name in limits.items()
    }
