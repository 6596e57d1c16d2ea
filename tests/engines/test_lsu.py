"""The load/store unit: latency and throughput of bank conflicts and tag passes, and who waits for whom.

Passes of one instruction are two cycles apart and two instructions alternate: n passes add 2 (n − 1) cycles
to a lone instruction, and n cycles to a stream of them. Degrees are counted here by brute force.
"""

from collections import Counter

import pytest

from hwmodels.operations import Operation
from simulator.statistics import phases as names
from simulator.statistics.phases import SHARED_LOAD
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import expression, lane
from tests.engines.readings import count, tiny_card

BASE = 1 << 32
STRIDES = [*range(1, 18), 24, 31, 32, 33, 64]


def bank_degree(addresses, banks=32):
    """Distinct words in the busiest bank, for lanes of four bytes."""
    return max(Counter(word % banks for word in {address // 4 for address in addresses}).values())


def tag_degree(addresses, width=2):
    """Lines in the busiest of four tag banks; the bank is the XOR of the line's pairs of bits."""
    banks = Counter()
    for line in {address // 128 for address in addresses}:
        digits = [line >> shift & 3 for shift in range(0, 48, width)]
        folded = 0
        for digit in digits:
            folded ^= digit
        banks[folded] += 1
    return max(banks.values())


def shared_kernel(warps=1, loads=1, stride=1):
    k = KernelBuilder("shared", 1, 32 * warps, registers_per_thread=64, shared_bytes_per_block=9000)
    for turn in range(loads):
        k.load_shared(turn % 60, 4 * stride * lane)
    return k.build()


def finishes(record, access_class):
    period = record.sm_period_fs
    return sorted(one.finish_fs // period for one in record.requests if one.access_class == access_class)


def stream_time(requests, passes):
    """Cycles from the first to the last of many instructions that wait: two of them alternate."""
    return 1 + 2 * passes * (requests // 2 - 1)


@pytest.mark.parametrize("stride", STRIDES)
def test_a_conflict_adds_two_cycles_a_way(run, stride):
    gpu = tiny_card()
    record = run(shared_kernel(stride=stride), gpu, keep_requests=True)
    degree = bank_degree([4 * stride * one for one in range(32)])
    served = gpu.shared_memory.access_latency_cycles + 2 * (degree - 1)
    assert record.requests[0].phases[names.L1] == served * gpu.sm_period_fs
    assert count(record, "shared_passes") == degree
    assert count(record, "shared_bank_conflicts") == degree - 1


@pytest.mark.parametrize("stride", [1, 2, 8, 32])
def test_a_stream_takes_a_cycle_a_way(run, stride):
    record = run(shared_kernel(4, 16, stride), tiny_card(sm__mio_queue_depth=64), keep_requests=True)
    done = finishes(record, SHARED_LOAD)
    assert done[-1] - done[0] == stream_time(64, stride)


@pytest.mark.parametrize("interval", [1, 3])
def test_the_interval_between_passes_is_the_cards(run, interval):
    gpu = tiny_card(shared_memory__pass_interval_cycles=interval)
    record = run(shared_kernel(stride=8), gpu, keep_requests=True)
    served = gpu.shared_memory.access_latency_cycles + 7 * interval
    assert record.requests[0].phases[names.L1] == served * gpu.sm_period_fs


@pytest.mark.parametrize("width", [8, 16])
def test_wide_lanes_without_conflict_take_a_pass_for_each_128_bytes(run, width):
    k = KernelBuilder("wide", 1, 32, registers_per_thread=64, shared_bytes_per_block=1024)
    k.load_shared(0, width * lane, width)
    record = run(k.build(), tiny_card())
    assert count(record, "shared_passes") == width // 4
    assert count(record, "shared_bank_conflicts") == 0
    assert count(record, "shared_load_bytes") == 32 * width


@pytest.mark.parametrize("stride", STRIDES)
def test_l1_hits_take_the_larger_of_tag_and_data_passes(run, stride):
    gpu = tiny_card(sm__lg_queue_depth=64)
    loads = 8
    k = KernelBuilder("hits", 1, 128, registers_per_thread=64)
    address = expression(BASE) + 4 * stride * lane
    k.load(0, address)
    k.alu(1, 0)
    k.barrier()
    k.emit(Operation.OPAQUE, 2, 3, latency=4000)
    k.alu(4, 2)
    for turn in range(loads):
        k.load(10 + turn, address)
    record = run(k.build(), gpu, keep_requests=True)
    addresses = [BASE + 4 * stride * one for one in range(32)]
    passes = max(bank_degree(addresses), tag_degree(addresses))
    late = sorted(one.finish_fs for one in record.requests)[-4 * loads :]
    assert (late[-1] - late[0]) // gpu.sm_period_fs == stream_time(4 * loads, passes)
    assert count(record, "l1_data_passes") == passes * (4 + 4 * loads)


def test_a_narrow_data_path_takes_more_cycles(run):
    def passes(width):
        k = KernelBuilder("narrow", 1, 32, registers_per_thread=64)
        k.load(0, expression(BASE) + 4 * lane)
        return count(run(k.build(), tiny_card(l1__bytes_per_cycle=width)), "l1_data_passes")

    assert [passes(width) for width in (128, 64, 32)] == [1, 2, 4]


def test_shared_memory_goes_on_while_a_global_access_lacks_an_mshr(run):
    gpu = tiny_card(l1__mshr_entries=1)
    k = KernelBuilder("both", 1, 32, registers_per_thread=64, shared_bytes_per_block=128)
    for line in range(3):
        k.load(line, expression(BASE + 128 * line) + 4 * lane)
    k.load_shared(10, 4 * lane)
    record = run(k.build(), gpu, keep_requests=True)
    *loads, _ = sorted(record.requests, key=lambda one: one.access_class)
    shared = next(one for one in record.requests if one.access_class == SHARED_LOAD)
    assert shared.finish_fs < min(one.finish_fs for one in loads if one is not shared)
    lone = run(shared_kernel(), gpu, keep_requests=True).requests[0]
    assert shared.phases == lone.phases


def test_one_instruction_a_cycle_the_oldest_first(run):
    """Four sub-cores issue in one cycle; the unit takes them by number, one a cycle."""
    record = run(shared_kernel(4), tiny_card(), keep_requests=True)
    issued = {one.issue_fs for one in record.requests}
    queued = sorted(
        (one.phases[names.LSU_QUEUE] // record.sm_period_fs, one.warp_slot) for one in record.requests
    )
    # The first warp has brought the line of instructions; the other sub-cores get it a cycle earlier.
    assert len(issued) <= 2
    assert finishes(record, SHARED_LOAD) == [
        *range(finishes(record, SHARED_LOAD)[0], finishes(record, SHARED_LOAD)[0] + 4)
    ]
    assert queued[0][0] == 10


def test_shuffles_share_the_port(run):
    k = KernelBuilder("shuffles", 1, 128, registers_per_thread=64, shared_bytes_per_block=128)
    for turn in range(8):
        k.emit(Operation.SHUFFLE, turn, 50)
    k.load_shared(40, 4 * lane)
    gpu = tiny_card(sm__mio_queue_depth=64)
    waited = run(k.build(), gpu).kernels[0].phases[SHARED_LOAD][names.LSU_QUEUE]
    alone = run(shared_kernel(4), gpu).kernels[0].phases[SHARED_LOAD][names.LSU_QUEUE]
    assert waited > alone
