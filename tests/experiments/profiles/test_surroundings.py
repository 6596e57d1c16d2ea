"""What a kernel finds in L2 in its run: who its producer is, and what is replayed before it."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.profiles.compare import launches_of
from experiments.profiles.kineto import read_kineto
from experiments.profiles.surroundings import producers, run_up
from experiments.profiles.works import Work, work_of
from hwmodels import Gpu

Write = Callable[[Any], Path]
GPU = Gpu.from_card("a100-sxm-40gb").scaled("1/4")


def test_a_kernel_right_behind_one_of_its_size_reads_its_result(
    document: dict[str, Any], write: Write
) -> None:
    profile = read_kineto(write(document))
    add, clamp = profile.kernels
    found = producers(profile)
    assert set(found) == {clamp.place}
    assert found[clamp.place].kernel is add
    assert [one.producer is not None for one in launches_of(profile)] == [False, True]
    other = copy.deepcopy(document)
    other["traceEvents"][8]["args"]["stream"] = 8
    assert producers(read_kineto(write(other))) == {}
    other = copy.deepcopy(document)
    other["traceEvents"][8]["args"]["grid"] = [512, 1, 1]
    other["traceEvents"][4]["args"]["Input Dims"] = [[4, 64, 32, 32]]
    assert producers(read_kineto(write(other))) == {}


def test_before_it_run_a_kernel_that_fills_l2_and_the_producer(
    document: dict[str, Any], write: Write
) -> None:
    profile = read_kineto(write(document))
    clamp = profile.kernels[1]
    work = work_of(clamp)
    assert isinstance(work, Work)
    producer = producers(profile)[clamp.place]
    traces, places = run_up(producer, work, GPU)
    assert [trace.name for trace in traces] == ["producer", "offsets:add"]
    assert sum(tensor.bytes for tensor in traces[0].tensors) == GPU.l2.size_kib * 1024
    written = [tensor for tensor in traces[1].tensors if tensor.base_address == places.inputs[0].base_address]
    assert [tensor.bytes for tensor in written] == [4 * work.elements]
    alone, apart = run_up(None, work, GPU)
    assert [trace.name for trace in alone] == ["producer"]
    assert apart.result.bytes == 4 * work.elements
