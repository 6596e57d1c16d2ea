"""L1: what hits, merges, goes through, stays and is thrown out, counted on accesses one after another."""

import pytest

from hwmodels.cache import set_of
from hwmodels.operations import Operation
from simulator.statistics import phases as names
from simulator.statistics.phases import GLOBAL_LOAD
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import expression, lane, warp
from tests.engines.readings import count, tiny_card

BASE = 1 << 32


class Steps:
    """A warp that makes one access after another, each when the one before is back."""

    def __init__(self, threads=32, **header):
        header = {"local_bytes_per_thread": 4096, "shared_bytes_per_block": 0} | header
        self.k = KernelBuilder("steps", 1, threads, registers_per_thread=32, **header)

    def access(self, operation, address, *, width=4, mask=1, **fields):
        result = tuple(range(4, 4 + max(1, width // 4)))
        loads = operation in (Operation.LDG, Operation.ATOMG, Operation.LDL)
        self.k.emit(
            operation,
            result if loads else (),
            () if loads else result,
            address=expression(address),
            bytes_per_lane=width,
            mask=mask,
            **fields,
        )
        return self.pause()

    def load(self, address, **fields):
        return self.access(Operation.LDG, address, **fields)

    def pause(self, cycles=1500):
        """Long enough for whatever is under way."""
        self.k.emit(Operation.OPAQUE, 2, (4, 2), latency=cycles)
        self.k.alu(4, 2)
        return self

    def build(self):
        return self.k.build()


def outcome(record, kind="global_load", kernel=0):
    return tuple(count(record, f"l1_{kind}_{what}", kernel) for what in ("hits", "misses", "merges"))


def test_a_sector_hits_once_it_is_there_and_only_it(run):
    steps = Steps().load(BASE).load(BASE + 28).load(BASE + 32).load(BASE + 128).load(BASE + 32)
    record = run(steps.build(), tiny_card())
    assert outcome(record) == (2, 3, 0)
    assert count(record, "l2_read_sectors") == 3
    assert count(record, "l1_fill_sectors") == 3


def test_one_access_may_hit_and_miss(run):
    steps = Steps().load(BASE + 32).load(expression(BASE) + 4 * lane, mask=0xFFFFFFFF)
    record = run(steps.build(), tiny_card())
    assert outcome(record) == (1, 1 + 3, 0)


def test_requests_to_what_is_on_its_way_merge(run):
    """Four warps ask for one line at once: one goes to L2, three wait behind it, as long as it takes."""
    k = KernelBuilder("merge", 1, 128, registers_per_thread=16)
    k.load(0, expression(BASE) + 4 * lane)
    record = run(k.build(), tiny_card(), keep_requests=True)
    assert outcome(record) == (0, 4, 12)
    assert count(record, "request_packets") == 1
    first, *merged = sorted(record.requests, key=lambda one: one.issue_fs + one.phases[names.LSU_QUEUE])
    for one in merged:
        assert one.finish_fs == first.finish_fs
        assert one.phases[names.CROSSBAR_REQUEST] == one.phases[names.L2] == 0
        assert one.phases[names.MSHR] > first.phases[names.MSHR]


@pytest.mark.parametrize(("merges", "packets"), [(64, 1), (3, 1), (1, 1)])
def test_a_full_list_of_waiters_holds_the_next_one_back(run, merges, packets):
    """The first waits in the list itself; the rest finds the line when it is there."""
    k = KernelBuilder("merge", 1, 128, registers_per_thread=16)
    k.load(0, expression(BASE) + 4 * lane)
    record = run(k.build(), tiny_card(l1__mshr_merges=merges))
    hits, misses, merged = outcome(record)
    assert count(record, "request_packets") == packets
    assert misses == 4
    assert merged == 4 * (min(merges, 4) - 1)
    assert hits == 12 - merged


def test_hits_pass_under_misses(run):
    """The instruction behind a miss is served at its own latency."""
    steps = Steps().load(BASE)
    steps.k.load(10, expression(BASE + 4096), mask=1)
    steps.k.load(11, expression(BASE), mask=1)
    record = run(steps.build(), tiny_card(), keep_requests=True)
    _, miss, hit = sorted(record.requests, key=lambda one: one.issue_fs)
    assert hit.finish_fs < miss.finish_fs
    assert hit.phases[names.MSHR] == 0


def test_mshrs_are_taken_one_a_line(run):
    def latency(entries):
        k = KernelBuilder("lines", 1, 32, registers_per_thread=16)
        k.load(0, expression(BASE) + 128 * lane)
        record = run(k.build(), tiny_card(l1__mshr_entries=entries), keep_requests=True)
        assert outcome(record) == (0, 32, 0)
        return record.requests[0].finish_fs - record.requests[0].issue_fs

    assert latency(1) > 20 * latency(256)
    assert latency(1) > latency(2) > latency(8) > latency(256)
    assert latency(32) == latency(256)


def test_stores_go_through_and_leave_nothing(run):
    steps = Steps().access(Operation.STG, BASE, mask=1).load(BASE)
    record = run(steps.build(), tiny_card())
    assert outcome(record) == (0, 1, 0)
    assert count(record, "l2_write_sectors") == 1
    assert count(record, "l1_store_bytes") == 4
    assert count(record, "l2_read_misses") == 1, "a sector written in part is fetched for a read"


def test_a_store_keeps_a_line_that_is_there(run):
    record = run(Steps().load(BASE).access(Operation.STG, BASE).load(BASE).build(), tiny_card())
    assert outcome(record) == (1, 1, 0)


def test_an_atomic_takes_its_sector_out(run):
    steps = Steps().load(BASE).load(BASE + 32).access(Operation.ATOMG, BASE).load(BASE).load(BASE + 32)
    assert outcome(run(steps.build(), tiny_card())) == (1, 3, 0)


def test_loads_past_l1_leave_nothing_there(run):
    record = run(Steps().load(BASE, cache="cg").load(BASE, cache="cg").load(BASE).build(), tiny_card())
    assert outcome(record) == (0, 3, 0)
    assert count(record, "l2_read_hits") == 2


def test_a_kernel_finds_l1_empty(run):
    kernel = Steps().load(BASE).load(BASE).build()
    record = run([kernel, kernel], tiny_card())
    assert outcome(record, kernel=0) == outcome(record, kernel=1) == (1, 1, 0)
    assert count(record, "l2_read_hits", 1) == 1


def test_blocks_of_a_kernel_share_l1(run):
    k = KernelBuilder("blocks", 3, 32, registers_per_thread=16)
    k.load(4, expression(BASE), mask=1)
    k.alu(5, 4)
    assert outcome(run(k.build(), tiny_card(sm__block_slots=1))) == (2, 1, 0)


@pytest.mark.parametrize(("shared_kib", "carveout_kib"), [(0, 0), (8, 96), (40, 96), (60, 64)])
def test_capacity_is_what_the_carve_out_leaves(run, shared_kib, carveout_kib):
    """A sweep of as many lines as L1 holds hits when it is repeated; of a quarter more none does."""
    ways = 4
    gpu = tiny_card(l1__ways=ways, shared_memory__default_limit_bytes=96 << 10)
    sets = (gpu.l1.size_kib - max(carveout_kib, gpu.l1.unusable_kib)) * 8 // ways
    base = -(-BASE // (128 * sets)) * 128 * sets

    def repeated(lines):
        k = KernelBuilder("sweep", 1, 32, registers_per_thread=16, shared_bytes_per_block=shared_kib << 10)
        with k.loop(2), k.loop(lines) as line:
            k.emit(Operation.LDG, 4, 5, address=expression(base) + 128 * line, bytes_per_lane=4, mask=1)
            k.alu(5, 4)
        record = run(k.build(), gpu)
        assert record.kernels[0].carveout_bytes == carveout_kib << 10
        return outcome(record)

    assert repeated(sets * ways) == (sets * ways, sets * ways, 0)
    # In a cyclic sweep the least recently used line is the one that comes next.
    assert repeated(sets * (ways + 1))[0] == 0


@pytest.mark.parametrize("ways", [1, 2, 4])
def test_the_least_recently_used_line_goes(run, ways):
    """`ways` lines of one set, the first touched again, then one more line: the second has gone."""
    gpu = tiny_card(l1__ways=ways)
    sets = (gpu.l1.size_kib - gpu.l1.unusable_kib) * 1024 // (128 * ways)
    first = BASE // 128
    same = [line for line in range(first, first + 9 * sets) if set_of(line, sets) == set_of(first, sets)]

    def hits(*places):
        steps = Steps()
        for place in places:
            steps.load(128 * same[place])
        return outcome(run(steps.build(), gpu))[0]

    filled = tuple(range(ways))
    assert hits(*filled, 0) == 1
    assert hits(*filled, 0, ways, 0) == (2 if ways > 1 else 1)
    assert hits(*filled, 0, ways, *filled[1:2]) == 1


def test_spills_stay_until_they_are_evicted(run):
    """32 lanes of a word are one line; every line that leaves is written back whole, the rest is reported."""
    gpu = tiny_card(l1__size_kib=98, l1__unusable_kib=0, l1__ways=4)
    carveout = 96
    lines = (98 - carveout) * 8
    words = 40
    k = KernelBuilder(
        "spill", 1, 32, registers_per_thread=16, local_bytes_per_thread=4096, shared_bytes_per_block=96 << 10
    )
    with k.loop(words) as word:
        k.emit(Operation.STL, (), 4, address=4 * word, bytes_per_lane=4)
        k.alu(5, 4)
    record = run(k.build(), gpu)
    assert count(record, "l1_local_store_sectors") == 4 * words
    assert count(record, "l1_dirty_evictions") == 4 * (words - lines)
    assert count(record, "l1_dirty_left") == 4 * lines
    assert count(record, "l2_write_sectors") == 4 * (words - lines)
    assert count(record, "l2_read_sectors") == 0


def test_a_spill_that_was_evicted_comes_back_from_l2(run):
    gpu = tiny_card(l1__size_kib=98, l1__unusable_kib=0, l1__ways=4)
    k = KernelBuilder(
        "fill", 1, 32, registers_per_thread=16, local_bytes_per_thread=4096, shared_bytes_per_block=96 << 10
    )
    for operation in (Operation.STL, Operation.LDL):
        with k.loop(20) as word:
            loads = operation is Operation.LDL
            k.emit(operation, 4 if loads else (), () if loads else 5, address=4 * word, bytes_per_lane=4)
            k.alu(6, 4)
    record = run(k.build(), gpu)
    assert count(record, "l1_local_load_misses") > 0
    assert count(record, "l2_read_hits") == count(record, "l1_local_load_misses")
    assert count(record, "dram_read_sectors") == 0


def test_each_warp_has_its_own_local_memory(run):
    k = KernelBuilder("local", 1, 128, registers_per_thread=16, local_bytes_per_thread=64)
    k.emit(Operation.STL, (), 4, address=expression(0), bytes_per_lane=4)
    k.barrier()
    k.emit(Operation.OPAQUE, 2, 3, latency=1000)
    k.emit(Operation.LDL, 4, 2, address=expression(0), bytes_per_lane=4)
    record = run(k.build(), tiny_card())
    assert outcome(record, "local_load") == (16, 0, 0)
    assert count(record, "l1_dirty_left") == 16


def test_divergent_spills_touch_the_sectors_of_their_lanes(run):
    steps = Steps().access(Operation.STL, 0, mask=0x00FF0001).access(Operation.LDL, 0, mask=0xFF)
    record = run(steps.build(), tiny_card())
    assert count(record, "l1_local_store_sectors") == 2
    assert outcome(record, "local_load") == (1, 0, 0)


def test_crossbar_credits_bound_what_is_under_way(run):
    def latency(number):
        k = KernelBuilder("credits", 1, 32, registers_per_thread=16)
        k.load(0, expression(BASE) + 128 * lane)
        [request] = run(k.build(), tiny_card(crossbar__sm_credits=number), keep_requests=True).requests
        return request.finish_fs - request.issue_fs

    assert latency(1) > latency(2) > latency(4) > latency(256)


def test_phases_of_a_load_are_those_of_its_last_sector(run):
    """Two lines, one of them in L2 and one in DRAM: the record shows the way to DRAM."""
    steps = Steps().load(BASE, cache="cg")
    steps.k.load(10, expression(BASE) + 128 * (lane // 16), mask=0xFFFFFFFF)
    record = run(steps.build(), tiny_card(), keep_requests=True)
    last = max(record.requests, key=lambda one: one.issue_fs)
    assert last.access_class == GLOBAL_LOAD
    assert last.phases[names.DRAM_BURST] > 0


def test_warps_of_different_turns_do_not_disturb_the_counts(run):
    k = KernelBuilder("turns", 1, 64, registers_per_thread=16)
    with k.loop(warp + 1) as turn:
        k.load(4, expression(BASE) + 128 * turn + 4096 * warp, mask=1)
        k.alu(5, 4)
    assert outcome(run(k.build(), tiny_card())) == (0, 3, 0)
