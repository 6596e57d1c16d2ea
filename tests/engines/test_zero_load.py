"""One access in an empty machine: every phase equals its closed form from the numbers of the card."""

import pytest

from hwmodels.crossbar import distance_cycles
from hwmodels.dram.address_map import parse_map, split
from hwmodels.dram.dealing import dealt_sector
from hwmodels.operations import Operation
from hwmodels.slice_hash import home_of, local_line
from simulator.machine.options import Preload
from simulator.statistics import phases as names
from simulator.statistics.phases import PHASES
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import block, expression, lane
from tests.engines.readings import tiny_card
from tests.machines.random_card import base_card

SCALES = {"v100-sxm2-16gb": "1/16", "a100-sxm-40gb": "1/4", "h100-sxm": "1/4"}
QUIET = {"tlb.reach_mib": 0, "dram.refresh": "none"}
CARDS = {
    name: base_card(name).with_overrides(QUIET | {"scale": scale})
    for name, scale in SCALES.items()
    if base_card(name).sm_count % int(scale[2:]) == 0
}
# The same SM cycle, L2 cycle and memory clock for all would hide a wrong conversion.
CARDS["v100 with odd clocks"] = CARDS["v100-sxm2-16gb"].with_overrides(
    {"clock_mhz": 1234, "l2.clock_mhz": 977, "dram.data_rate_mbps": 2000}
)
FIRST_ADDRESS = 1 << 32


def up(value, step):
    return -(-value // step) * step


def lone_request(run, gpu, emit, *, sm=0, preload=(), before=None):
    """The record of the only request that `emit` makes, by the block that lands on SM `sm`."""
    k = KernelBuilder("lone", sm + 1, 32, registers_per_thread=32, shared_bytes_per_block=4096)
    if before is not None:
        before(k)
    if sm:
        with k.when(block // sm):
            emit(k)
    else:
        emit(k)
    record = run(k.build(), gpu, keep_requests=True, preload=preload)
    request = max(record.requests, key=lambda one: one.issue_fs)
    assert request.sm == sm
    assert record.kernels[0].requests[request.access_class] >= 1
    return request


def to_the_port(gpu):
    """Phases up to the SM's crossbar port."""
    period = gpu.sm_period_fs
    phases = [0] * len(PHASES)
    phases[names.LSU_QUEUE] = (gpu.sm.operand_latency_cycles + gpu.sm.mio_latency_cycles) * period
    phases[names.L1] = gpu.l1.tag_latency_cycles * period
    phases[names.MSHR] = gpu.l1.miss_latency_cycles * period
    return phases


def beyond_l1(gpu, request, line, *, missed, answered, rows_open=False):
    """Phases of a request that leaves the SM: `missed` in L2, `answered` with data that L1 takes in."""
    sm_period, period, clock = gpu.sm_period_fs, gpu.l2_period_fs, gpu.dram_period_fs
    crossbar, timing = gpu.crossbar, gpu.dram.timing
    phases = to_the_port(gpu)
    leaves = request.issue_fs + sum(phases)
    share, sides = gpu.slices_per_partition, gpu.l2.partitions
    home = home_of(line, gpu.l2.slices, sides)
    side = request.sm * sides // gpu.sm_count
    members = [one for one in range(gpu.sm_count) if one * sides // gpu.sm_count == side]
    distance = distance_cycles(
        members.index(request.sm), home % share, len(members), share, crossbar.spread_cycles
    )
    crossing = crossbar.partition_link_latency_cycles * (home // share != side)
    network = crossbar.request_latency_cycles - crossbar.spread_cycles // 2 + distance
    arrives = up(leaves, period) + network * period
    phases[names.CROSSBAR_REQUEST] = arrives - leaves
    phases[names.L2] = gpu.l2.access_latency_cycles * period
    phases[names.PARTITION_LINK] = 2 * crossing * period
    if missed:
        there = gpu.l2.access_latency_cycles // 2 + crossing + gpu.l2.miss_latency_cycles // 2
        queued = arrives + there * period
        first = up(queued, clock)
        column = first if rows_open else first + up(timing.rcd_rd, clock)
        burst = column + up(timing.cl, clock)
        ready = burst + timing.burst_fs + gpu.dram.controller_latency_ns * 10**6
        phases[names.DRAM_QUEUE] = first - queued
        phases[names.DRAM_ACTIVATE] = column - first
        phases[names.DRAM_COLUMN] = burst - column
        phases[names.DRAM_BURST] = timing.burst_fs
        phases[names.DRAM_CONTROLLER] = gpu.dram.controller_latency_ns * 10**6
        phases[names.L2] += gpu.l2.miss_latency_cycles * period + up(ready, period) - ready
    back = request.issue_fs + sum(phases)
    phases[names.CROSSBAR_REPLY] = up(back + crossbar.reply_latency_cycles * period, sm_period) - back
    if answered:
        inside = gpu.l1.fill_latency_cycles + gpu.shared_memory.access_latency_cycles
        phases[names.WRITEBACK] = (inside + gpu.sm.writeback_latency_cycles) * sm_period
    return phases


def check(request, expected):
    assert dict(zip(names.PHASE_NAMES, request.phases, strict=True)) == dict(
        zip(names.PHASE_NAMES, expected, strict=True)
    )


def word(operation, address, dst=(), **fields):
    """An emitter of one lane's access to four bytes."""
    fields = {"mask": 1, "bytes_per_lane": 4, "address": expression(address)} | fields
    return lambda k: k.emit(operation, dst, (), **fields)


ACCESSES = {
    "load": (Operation.LDG, {"dst": 1}, True, True),
    "load past L1": (Operation.LDG, {"dst": 1, "cache": "cg"}, True, True),
    "generic load": (Operation.LD, {"dst": 1}, True, True),
    "atomic": (Operation.ATOMG, {"dst": 1}, True, True),
    "reduction": (Operation.REDG, {}, True, False),
    "store": (Operation.STG, {}, False, False),
    "copy": (Operation.LDGSTS, {"shared_address": expression(0)}, True, True),
}


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("held", [False, True], ids=["miss", "hit"])
@pytest.mark.parametrize("access", ACCESSES)
def test_every_phase_beyond_l1(run, card, access, held):
    gpu = CARDS[card]
    operation, fields, fetches, answered = ACCESSES[access]
    if operation not in gpu.operations:
        assert card.startswith("v100")
        return
    for sm, address in ((0, FIRST_ADDRESS), (gpu.sm_count - 1, FIRST_ADDRESS + 32 * 4321)):
        preload = (Preload(address, 32),) if held else ()
        request = lone_request(run, gpu, word(operation, address, **fields), sm=sm, preload=preload)
        missed = fetches and not held
        check(request, beyond_l1(gpu, request, address // 128, missed=missed, answered=answered))


@pytest.mark.parametrize("card", ["a100-sxm-40gb", "h100-sxm"])
def test_far_hits_cost_two_crossings_more(run, card):
    """Where scaling leaves the card; near and far lines whose slices are equally distant."""
    gpu = CARDS[card]
    share = gpu.slices_per_partition
    homes = {home_of(line, gpu.l2.slices, 2): line for line in range((1 << 25) + 4000, 1 << 25, -1)}
    latencies = []
    for home in (1, 1 + share):
        address = 128 * homes[home]
        request = lone_request(run, gpu, word(Operation.LDG, address, dst=1), preload=(Preload(address, 32),))
        check(request, beyond_l1(gpu, request, homes[home], missed=False, answered=True))
        latencies.append(request.finish_fs - request.issue_fs)
    extra = 2 * gpu.crossbar.partition_link_latency_cycles * gpu.l2_period_fs
    assert abs(latencies[1] - latencies[0] - extra) < gpu.sm_period_fs


@pytest.mark.parametrize("card", CARDS)
def test_hits_in_l1(run, card):
    gpu, period = CARDS[card], CARDS[card].sm_period_fs

    def twice(k):
        k.load(1, expression(FIRST_ADDRESS) + 4 * lane)
        k.emit(Operation.LDG, 2, 1, address=expression(FIRST_ADDRESS) + 4 * lane, bytes_per_lane=4)

    expected = to_the_port(gpu)
    expected[names.MSHR] = 0
    expected[names.L1] += gpu.shared_memory.access_latency_cycles * period
    expected[names.WRITEBACK] = gpu.sm.writeback_latency_cycles * period
    check(lone_request(run, gpu, twice), expected)


@pytest.mark.parametrize("card", CARDS)
def test_shared_memory(run, card):
    gpu, period = CARDS[card], CARDS[card].sm_period_fs
    shared = gpu.shared_memory
    expected = to_the_port(gpu)
    expected[names.MSHR] = 0
    expected[names.L1] = shared.access_latency_cycles * period
    check(lone_request(run, gpu, lambda k: k.store_shared(1, 4 * lane)), expected)
    expected[names.WRITEBACK] = gpu.sm.writeback_latency_cycles * period
    check(lone_request(run, gpu, lambda k: k.load_shared(1, 4 * lane)), expected)
    for lanes in (1, 3, 32):
        atomic = word(Operation.ATOMS, 64, dst=1, mask=(1 << lanes) - 1)
        extra = shared.atomic_base_latency_cycles + shared.atomic_contention_tenths * lanes // 10
        expected[names.L1] = (shared.access_latency_cycles + extra) * period
        check(lone_request(run, gpu, atomic), expected)


@pytest.mark.parametrize("card", CARDS)
def test_local_memory(run, card):
    """A spill stays in L1; what was never written comes from DRAM, whose lines lie above all tensors."""
    gpu, period = CARDS[card], CARDS[card].sm_period_fs
    expected = to_the_port(gpu)
    expected[names.MSHR] = 0
    expected[names.L1] += gpu.shared_memory.access_latency_cycles * period
    spill = word(Operation.STL, 8, mask=0xFFFFFFFF)
    check(lone_request(run, gpu, spill), expected)
    fill = word(Operation.LDL, 8, dst=1, mask=0xFFFFFFFF)
    expected[names.WRITEBACK] = gpu.sm.writeback_latency_cycles * period
    # The store has long left the queue when the barrier lets the load go.
    check(lone_request(run, gpu, fill, before=lambda k: (spill(k), k.barrier())), expected)
    request = lone_request(run, gpu, word(Operation.LDL, 8, dst=1, mask=1))
    check(request, beyond_l1(gpu, request, (1 << 46) // 128 + 2, missed=True, answered=True))


def test_wide_accesses_take_a_pass_for_each_four_bytes(run):
    gpu = CARDS["v100-sxm2-16gb"]
    for width, passes in ((4, 1), (8, 2), (16, 4)):
        request = lone_request(run, gpu, lambda k, w=width: k.load_shared(4, w * lane, w))
        later = gpu.shared_memory.pass_interval_cycles * (passes - 1)
        assert (
            request.phases[names.L1] == (gpu.shared_memory.access_latency_cycles + later) * gpu.sm_period_fs
        )


def test_a_page_beyond_the_reach_costs_the_cards_latency(run):
    gpu = CARDS["v100-sxm2-16gb"].with_overrides({"tlb.reach_mib": 4, "tlb.miss_latency_cycles": 17})
    request = lone_request(run, gpu, word(Operation.LDG, FIRST_ADDRESS, dst=1))
    assert request.phases[names.TLB] == 17 * gpu.sm_period_fs

    def again(k):
        k.load(1, expression(FIRST_ADDRESS), mask=1)
        k.emit(Operation.LDG, 2, 1, address=expression(FIRST_ADDRESS + 4096), bytes_per_lane=4, mask=1)

    assert lone_request(run, gpu, again).phases[names.TLB] == 0


def row_neighbours(gpu):
    """Two sectors of one row, and one of another row of the same bank, as byte addresses."""
    spec = gpu.dram
    rule = parse_map(
        spec.address_map, spec.bank_groups, spec.banks_per_group, spec.rows, spec.row_bytes // 32
    )

    def place(address):
        line = address // 128
        local = local_line(line, gpu.l2.slices, gpu.l2.partitions)
        dealt = dealt_sector(local, address // 32 % 4, 0, gpu.slices_per_memory_partition)
        where, sector = split(dealt, spec.pseudo_channels_per_channel)
        found = rule.decode(sector)
        return (where, found.bank_group, found.bank), found.row

    bank, row = place(FIRST_ADDRESS)
    others = [(FIRST_ADDRESS + 32 * n, *place(FIRST_ADDRESS + 32 * n)) for n in range(4, 200_000)]
    same = next(address for address, b, r in others if b == bank and r == row)
    other = next(address for address, b, r in others if b == bank and r != row)
    return same, other


def test_row_hits_and_row_conflicts(run):
    gpu = tiny_card(dram__age_limit_cycles=1_000_000)
    same, other = row_neighbours(gpu)

    def after(address):
        def emit(k):
            k.load(1, expression(FIRST_ADDRESS), mask=1)
            k.emit(Operation.OPAQUE, 2, 1, latency=2000)
            k.emit(Operation.LDG, 3, 2, address=expression(address), bytes_per_lane=4, mask=1)

        return lone_request(run, gpu, emit)

    request = after(same)
    check(request, beyond_l1(gpu, request, same // 128, missed=True, answered=True, rows_open=True))
    clock, timing = gpu.dram_period_fs, gpu.dram.timing
    opened = up(timing.rp, clock) + up(timing.rcd_rd, clock)
    assert after(other).phases[names.DRAM_ACTIVATE] == opened
