"""What kernels do is told from name and launch; their traces move exactly those bytes; chains are found."""

from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest

from experiments.profiles.compare import launches_of, sliced, totals
from experiments.profiles.fused import fused_trace
from experiments.profiles.fusion import candidates, gain
from experiments.profiles.kineto import read_kineto
from experiments.profiles.names import short_name, template_arguments
from experiments.profiles.profile import Profile, ProfiledKernel, ProfiledOperator
from experiments.profiles.programs import operands_of, trace_of, writing
from experiments.profiles.tables import gaps_ns, kernel_rows, summary
from experiments.profiles.works import Refused, Work, work_of
from hwmodels import Gpu
from simulator.trace.builder import GlobalMemory
from simulator.trace.check import check
from simulator.trace.expand import expand
from simulator.trace.schema import KernelTrace

from .conftest import ADD, RELU

Write = Callable[[Any], Path]
HALF_ADD = RELU.replace("relu_functor<float>", "CUDAFunctor_add<c10::Half>").replace("char*, 2", "char*, 3")
NORM = (
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, "
    "float const*, float const*, float const*, float*, float*, float*)"
)


def profiled(
    name: str, blocks: int, registers: int, operator: str, shapes: list[tuple[int, ...]], word: str = "float"
) -> ProfiledKernel:
    return ProfiledKernel(
        name=name,
        place="here",
        device=0,
        stream=7,
        start_ns=0,
        duration_ns=1000,
        grid=(blocks, 1, 1),
        block=(32, 4, 1) if "norm" in name else (128, 1, 1),
        registers=registers,
        shared_bytes=0,
        occupancy_pct=None,
        correlation=1,
        operator=ProfiledOperator(operator, 0, 1, None, tuple(shapes), tuple(word for _ in shapes)),
    )


def known(kernel: ProfiledKernel) -> Work:
    work = work_of(kernel)
    assert isinstance(work, Work), work
    return work


def accesses(trace: KernelTrace) -> Iterator[tuple[str, str, int, list[int]]]:
    """(tensor, operation, bytes a lane, addresses of the active lanes) of every global access."""
    instructions = trace.flat().instructions
    for step in expand(trace):
        one = instructions[step.static]
        if one.operation.name in {"LDG", "STG"}:
            active = [place for place in step.addresses or () if place]
            yield trace.tensors[one.dst_tensor].name, one.operation.name, one.bytes_per_lane, active


def moved(trace: KernelTrace) -> dict[tuple[str, str], int]:
    """Bytes by tensor and direction, summed over every lane of every warp."""
    found: dict[tuple[str, str], int] = {}
    for tensor, operation, width, places in accesses(trace):
        found[tensor, operation] = found.get((tensor, operation), 0) + width * len(places)
    return found


@pytest.mark.parametrize(
    ("kernel", "form", "read", "written"),
    [
        (profiled(RELU, 2, 18, "aten::relu", [(1000,)]), "vectorised", [4000], 4000),
        (profiled(RELU, 2, 18, "aten::clamp_min_", [(1024,)]), "vectorised", [4096], 4096),
        (
            profiled(HALF_ADD, 1, 24, "aten::add", [(512,), (512,)], "c10::Half"),
            "vectorised",
            [1024, 1024],
            1024,
        ),
        (profiled(ADD, 4, 40, "aten::add_", [(2, 16, 32), (1, 16, 1)]), "offsets", [4096, 4096], 4096),
        (profiled(ADD, 4, 40, "aten::add", [(1000,), (1,)]), "offsets", [4000, 4000], 4000),
    ],
)
def test_a_trace_moves_each_element_once(
    kernel: ProfiledKernel, form: str, read: list[int], written: int
) -> None:
    work = known(kernel)
    assert work.form == form
    places = operands_of(work)
    trace = trace_of(kernel, work, places)
    check(trace)
    assert (trace.grid, trace.block, trace.registers_per_thread) == (
        kernel.grid,
        kernel.block,
        kernel.registers,
    )
    bytes_moved = moved(trace)
    assert bytes_moved.pop((places.result.name, "STG")) == written
    assert sorted(bytes_moved.values()) == sorted(read)


def test_broadcast_operands_are_read_where_they_lie() -> None:
    kernel = profiled(ADD, 4, 40, "aten::add_", [(2, 16, 32), (1, 16, 1)])
    work = known(kernel)
    operands = operands_of(work)
    trace = trace_of(kernel, work, operands)
    bias = operands.inputs[1]
    assert bias.bytes == 64
    seen = {
        place - bias.base_address
        for tensor, _, _, places in accesses(trace)
        if tensor == bias.name
        for place in places
    }
    assert seen == set(range(0, 64, 4))


def test_layer_norm_reads_its_rows_twice_and_writes_them_once() -> None:
    kernel = profiled(NORM, 6, 34, "aten::native_layer_norm", [(6, 512), (512,), (512,)])
    work = known(kernel)
    places = operands_of(work)
    trace = trace_of(kernel, work, places)
    check(trace)
    bytes_moved = moved(trace)
    rows = 6 * 512 * 4
    assert bytes_moved == {
        (places.inputs[0].name, "LDG"): 2 * rows,
        (places.inputs[1].name, "LDG"): rows,
        (places.inputs[2].name, "LDG"): rows,
        (places.result.name, "STG"): rows,
    }


def test_what_is_not_known_is_refused_with_a_reason() -> None:
    assert isinstance(work_of(profiled("ampere_sgemm_32x32", 4, 40, "aten::mm", [])), Refused)
    wrong = work_of(profiled(ADD, 4, 40, "aten::add_", [(2, 16), (3, 16)]))
    assert isinstance(wrong, Refused)
    assert "broadcast" in wrong.reason
    other = work_of(profiled(RELU, 9, 18, "aten::relu", [(1000,)]))
    assert isinstance(other, Refused)
    assert "does not fit" in other.reason
    many = work_of(profiled(RELU, 1, 18, "aten::relu", [(1 << 20,)]))
    assert isinstance(many, Refused)
    assert "more than one pass" in many.reason


def test_sizes_follow_from_the_launch_where_no_shape_is_known() -> None:
    work = known(profiled(RELU, 48400, 18, "aten::clamp_min_", []))
    assert (work.elements, work.from_launch) == (128 * 64 * 55 * 55, True)


def test_names() -> None:
    assert short_name(ADD) == "elementwise_kernel"
    assert template_arguments(RELU)[:1] == ["4"]
    assert template_arguments("void a<(b)1, c<d, e>, f->g>(int)") == ["(b)1", "c<d, e>", "f->g"]
    assert template_arguments("plain(int)") == []


def test_the_producer_writes_the_whole_tensor() -> None:
    tensor = GlobalMemory().tensor("x", 10_000)
    assert sum(moved(writing(tensor)).values()) == 10_000


def test_launches_of_one_kernel_are_grouped_and_sliced(document: dict[str, Any], write: Write) -> None:
    profile = read_kineto(write(document))
    assert [len(one.runs) for one in launches_of(profile)] == [1, 1]
    gpu = Gpu.from_card("a100-sxm-40gb")
    part, card, share = sliced(profiled(RELU, 48400, 18, "aten::clamp_min_", []), gpu)
    assert (part.grid[0] * share, card.sm_count * share) == (48400, gpu.sm_count)


def test_totals_count_what_was_compared() -> None:
    rows = [
        {"error_pct": 10.0, "measured_us": 5.0, "runs": 2},
        {"error_pct": -20.0, "measured_us": 5.0, "runs": 2},
        {"error_pct": None, "measured_us": 20.0, "runs": 1},
    ]
    found = totals(rows)
    assert (found["simulated"], found["kernels"], found["simulated_share_pct"]) == (2, 5, 50.0)
    assert (found["mean_abs_error_pct"], found["worst_pct"]) == (15.0, -20.0)


def test_gaps_and_occupancy(document: dict[str, Any], write: Write) -> None:
    profile = read_kineto(write(document))
    assert gaps_ns(profile) == [None, 1000]
    rows = kernel_rows(profile)
    found = summary(profile, rows)
    assert (found["queued_gaps"], found["median_queued_gap_us"]) == (1, 1.0)
    assert rows[1]["our_occupancy_pct"] == 59
    assert rows[0]["launch_to_start_us"] == 90


def test_a_chain_is_found_and_fused(document: dict[str, Any], write: Write) -> None:
    profile = read_kineto(write(document))
    (one,) = candidates(profile, Gpu.from_card("a100-sxm-40gb"))
    assert one.names == ["aten::add_", "aten::clamp_min_"]
    assert one.gaps_us == 1.0
    memory = GlobalMemory()
    first = operands_of(one.works[0], memory)
    second = operands_of(one.works[1], memory, first.result)
    assert second.inputs[0] == first.result
    trace = fused_trace(one.works, [first, second], 40)
    check(trace)
    size = 4 * prod((4, 64, 32, 64))
    assert sum(one.bytes for one in trace.tensors) == size + 4 * 64
    assert trace.operators == ("add", "clamp_min")


def test_behind_a_product_of_its_size_it_is_an_epilogue() -> None:
    head = profiled("some_gemm", 8, 100, "aten::addmm", [(64,), (32, 16), (16, 64)])
    chain = profiled(RELU, 4, 18, "aten::relu", [(32, 64)])
    other = profiled(RELU, 4, 18, "aten::relu", [(32, 32)])
    gpu = Gpu.from_card("a100-sxm-40gb")
    (one,) = candidates(Profile("x", kernels=[head, chain]), gpu)
    assert one.names == ["aten::addmm", "aten::relu"]
    assert not candidates(Profile("x", kernels=[head, other]), gpu)


def test_the_gain_of_a_small_chain_is_a_launch_and_a_pass() -> None:
    kernels = [profiled(RELU, 4, 18, "aten::relu", [(2048,)]) for _ in range(2)]
    gpu = Gpu.from_card("a100-sxm-40gb").scaled("1/4")
    (one,) = candidates(Profile("x", kernels=kernels), gpu)
    found = gain(one, gpu, "reference")
    assert found["launches_saved"] == 1
    assert 0 < found["fused_us"] < found["apart_us"]
    assert found["gain_us"] == pytest.approx(found["apart_us"] - found["fused_us"] + found["gap_us"])
    head = profiled("some_gemm", 8, 100, "aten::addmm", [(2048, 1), (2048, 16), (16, 1)])
    (one,) = candidates(Profile("x", kernels=[head, *kernels]), gpu)
    under = gain(one, gpu, "reference")
    assert (under["launches_saved"], under["fused_us"]) == (2, 0.0)
    assert (under["apart_us"], under["one_kernel_us"]) == (found["apart_us"], found["fused_us"])
