"""The form of a trace is no property of the machine: generated, recorded or from a file, same numbers."""

import pytest

from hwmodels.errors import InputError
from simulator.trace.archive import load, save
from simulator.trace.builder import KernelBuilder
from simulator.trace.expand import recorded
from simulator.trace.expression import expression, lane
from tests.engines.readings import same_numbers, tiny_card
from tests.machines.random_card import base_card, seeded_card
from tests.machines.random_trace import seeded_traces

SEEDS = range(900, 910)


@pytest.mark.parametrize("seed", SEEDS)
def test_recorded_and_generated_traces_run_alike(run, seed):
    gpu = seeded_card(seed)
    kernels = seeded_traces(seed, gpu)
    plain = same_numbers(run(kernels, gpu, keep_requests=True))
    again = [recorded(trace) if trace.program is not None else trace for trace in kernels]
    assert same_numbers(run(again, gpu, keep_requests=True)) == plain


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_from_a_file_runs_alike(run, tmp_path, seed):
    gpu = seeded_card(seed)
    kernels = seeded_traces(seed, gpu)
    path = tmp_path / "kernels.trace.npz"
    save(kernels, path)
    assert same_numbers(run(load(path), gpu)) == same_numbers(run(kernels, gpu))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (
            {"shared_bytes_per_block": 200_000},
            "bytes of shared memory a block, 101696 over the limit of 98304",
        ),
        ({"registers_per_thread": 250, "block": 512}, "registers a block"),
        ({"block": 1056}, "1056 threads a block, 32 over the limit of 1024"),
    ],
)
def test_a_kernel_that_no_sm_can_hold_is_refused_with_the_limit(run, header, problem):
    header = {"block": 32, "registers_per_thread": 16} | header
    k = KernelBuilder("huge", 1, header.pop("block"), **header)
    with pytest.raises(InputError, match=problem):
        run(k.build(), tiny_card())


def test_an_operation_that_the_card_lacks_is_refused_by_name(run):
    k = KernelBuilder("copy", 1, 32, registers_per_thread=16, shared_bytes_per_block=512)
    k.copy_async(expression(1 << 32) + 16 * lane, 16 * lane)
    with pytest.raises(InputError, match="LDGSTS"):
        run(k.build(), base_card("v100-sxm2-16gb"))
