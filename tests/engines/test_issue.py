"""Issue: each warp state by a kernel of a few instructions, and its cycles by a closed form from the card.

All on one SM whose instructions are there two cycles after a block is accepted, unless a test is about fetch.
"""

import pytest

from hwmodels.operations import Operation, Pipeline, uses_lg_queue, uses_mio_queue
from simulator.statistics.phases import GLOBAL_LOAD, GLOBAL_STORE
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import expression, lane, warp
from tests.engines.readings import FIRST_FETCH_CYCLES, count, states, tiny_card
from tests.machines.random_card import base_card

ADDRESS = expression(1 << 32) + 4 * lane
START = {"no_instruction": FIRST_FETCH_CYCLES}


def kernel(threads=32, **header):
    return KernelBuilder("small", 1, threads, registers_per_thread=64, **header)


def hand_over(gpu):
    return gpu.sm.operand_latency_cycles + gpu.sm.mio_latency_cycles


def check_states(record, expected):
    """States as expected, the zeros left out; that they sum to the residency is an identity of every run."""
    assert states(record) == {name: cycles for name, cycles in expected.items() if cycles}


@pytest.mark.parametrize("length", [1, 2, 7])
def test_wait_is_the_latency_of_a_dependent_chain(run, length):
    k = kernel()
    for _ in range(length):
        k.ffma(0, 0, 1, 2)
    gpu = tiny_card(operations__FFMA__latency_cycles=6)
    check_states(run(k.build(), gpu), START | {"selected": length + 1, "wait": 5 * (length - 1)})


@pytest.mark.parametrize("interval", [10, 20, 25, 41, 83])
def test_a_pipeline_keeps_fractions_of_a_cycle(run, interval):
    k = kernel()
    for register in range(30):
        k.ffma(register, 50, 51)
    gpu = tiny_card(operations__FFMA__interval_tenths=interval)
    last = -(-interval * 29 // 10)
    expected = START | {"selected": 31, "math_pipe_throttle": last - 29}
    check_states(run(k.build(), gpu), expected)


def test_a_pipeline_that_was_idle_owes_no_fraction(run):
    k = kernel()
    for _ in range(3):
        k.ffma(0, 0, 50)
    k.ffma(1, 50)
    gpu = tiny_card(operations__FFMA__interval_tenths=25, operations__FFMA__latency_cycles=10)
    expected = START | {"selected": 5, "wait": 18, "math_pipe_throttle": 2}
    check_states(run(k.build(), gpu), expected)


@pytest.mark.parametrize("base", ["v100-sxm2-16gb", "a100-sxm-40gb"])
def test_latency_and_interval_of_every_operation(run, base):
    """Two dependent instructions are a latency apart, two independent ones an interval."""
    gpu = tiny_card(base, l2__partitions=1)
    for operation in gpu.operations:
        timing = gpu.operations[operation]
        if timing.pipeline in (Pipeline.BRANCH, Pipeline.LSU):
            continue
        fields = {"latency": 9} if operation is Operation.OPAQUE else {}
        latency = fields.get("latency", timing.latency_cycles)
        for dependent, apart in ((True, latency), (False, -(-timing.interval_tenths // 10))):
            k = kernel()
            k.emit(operation, 0, 2, **fields)
            k.emit(operation, 1, 0 if dependent else 2, **fields)
            got = count(run(k.build(), gpu), "resident_warp_cycles")
            assert got == FIRST_FETCH_CYCLES + max(1, apart) + 2, (operation.name, dependent)


@pytest.mark.parametrize(("sources", "extra"), [((2, 3, 5), 1), ((2, 4, 6), 2), ((2, 4, 4), 1), ((2, 3), 0)])
def test_dispatch_stall_is_the_extra_reads_of_a_bank(run, sources, extra):
    k = kernel()
    for turn in range(5):
        k.ffma(10 + turn, *sources)
        k.alu(20 + turn)
    gpu = tiny_card(register_file__bank_ports=1)
    record = run(k.build(), gpu)
    check_states(record, START | {"selected": 11, "dispatch_stall": 5 * extra})
    assert count(record, "operand_conflict_cycles") == 5 * extra


def test_a_conflict_delays_the_result_too(run):
    k = kernel()
    k.ffma(0, 2, 4, 6)
    k.alu(1, 0)
    gpu = tiny_card(register_file__bank_ports=1)
    latency = gpu.operations[Operation.FFMA].latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 3, "wait": latency + 2 - 1})


@pytest.mark.parametrize("latency", [4, 8, 30])
def test_branch_resolving_after_each_taken_branch(run, latency):
    k = kernel()
    with k.loop(9, predicate=None):
        k.alu(0)
    gpu = tiny_card(sm__branch_latency_cycles=latency)
    # The last branch is not taken, and EXIT needs the pipeline that it still holds.
    expected = {"selected": 19, "branch_resolving": 8 * (latency - 1), "math_pipe_throttle": 1}
    check_states(run(k.build(), gpu), START | expected)


@pytest.mark.parametrize("behind", [0, 100])
def test_no_instruction_where_the_fill_takes_longer_than_a_line(run, behind):
    """Entering a line starts the fill of the next one: a recursion over lines of eight instructions."""
    lines = 6
    k = kernel()
    for _ in range(8 * lines - 1):
        k.emit(Operation.NOP)
    gpu = tiny_card(
        sm__fetch_line_bytes=128,
        sm__l0_miss_latency_cycles=20,
        sm__l1_instruction_miss_latency_cycles=1 + behind,
    )
    fill = 21 + behind
    entered, there, waited = 0, fill, fill
    following = fill
    issue = there
    for _ in range(1, lines):
        entered, there = issue + 7, following
        following = entered + fill
        waited += max(0, there - entered - 1)
        issue = max(entered + 1, there)
    record = run(k.build(), gpu)
    check_states(record, {"no_instruction": waited, "selected": 8 * lines})
    assert count(record, "instruction_misses") == 1


def test_instructions_of_a_loop_stay_in_the_cache_while_they_fit(run):
    def waited(l0_kib):
        k = kernel()
        with k.loop(3):
            for _ in range(150):
                k.emit(Operation.NOP)
        gpu = tiny_card(
            sm__fetch_line_bytes=128, sm__l0_miss_latency_cycles=20, sm__l0_instruction_kib=l0_kib
        )
        return states(run(k.build(), gpu))["no_instruction"]

    # Nineteen lines in a cache of eight are missed in every turn, in a cache of 32 in the first only.
    assert waited(1) > 2.5 * waited(4)


def test_short_scoreboard_of_shared_memory_and_special_functions(run):
    gpu = tiny_card()
    k = kernel(shared_bytes_per_block=128)
    k.load_shared(0, 4 * lane)
    k.alu(1, 0)
    latency = hand_over(gpu) + gpu.shared_memory.access_latency_cycles + gpu.sm.writeback_latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 3, "short_scoreboard": latency - 1})
    k = kernel()
    k.emit(Operation.MUFU, 0, 2)
    k.alu(1, 0)
    latency = gpu.operations[Operation.MUFU].latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 3, "short_scoreboard": latency - 1})
    k = kernel()
    k.emit(Operation.SHUFFLE, 0, 2)
    k.alu(1, 0)
    latency = gpu.operations[Operation.SHUFFLE].latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 3, "short_scoreboard": latency - 1})


def test_long_scoreboard_is_the_latency_of_the_load(run):
    gpu = tiny_card()
    k = kernel()
    k.load(0, ADDRESS)
    k.alu(1, 0)
    record = run(k.build(), gpu)
    latency = record.kernels[0].latency_fs[GLOBAL_LOAD] // gpu.sm_period_fs
    check_states(record, START | {"selected": 3, "long_scoreboard": latency - 1})


def test_long_scoreboard_of_an_asynchronous_copy(run):
    gpu = tiny_card("a100-sxm-40gb", l2__partitions=1)
    k = kernel(shared_bytes_per_block=1024)
    k.copy_async(expression(1 << 32) + 16 * lane, 16 * lane)
    k.async_commit()
    k.async_wait()
    record = run(k.build(), gpu, keep_requests=True)
    [request] = record.requests
    latency = (request.finish_fs - request.issue_fs) // gpu.sm_period_fs
    check_states(record, START | {"selected": 4, "long_scoreboard": latency - 2})


def test_a_wait_that_allows_open_groups_does_not_wait_for_them(run):
    gpu = tiny_card("a100-sxm-40gb", l2__partitions=1)
    k = kernel(shared_bytes_per_block=1024)
    k.copy_async(expression(1 << 32) + 16 * lane, 16 * lane)
    k.async_commit()
    k.async_wait(1)
    record = run(k.build(), gpu)
    assert "long_scoreboard" not in states(record)
    assert states(record)["drain"] > 100


@pytest.mark.parametrize("warps", [1, 2, 4, 7, 16, 32])
def test_barriers_back_to_back(run, warps):
    """21 + 2 W cycles each on published cards; the warps of a sub-core arrive one a cycle."""
    turns = 5
    k = kernel(32 * warps)
    for _ in range(turns):
        k.barrier()
    gpu = tiny_card()
    period = gpu.sm.barrier_release_cycles + gpu.sm.barrier_arrival_cycles * warps
    late = sum(index // 4 for index in range(warps))
    record = run(k.build(), gpu)
    check_states(
        record,
        {
            "no_instruction": FIRST_FETCH_CYCLES * warps,
            "selected": warps * (turns + 1),
            "barrier": turns * (warps * (period - 1) - late),
            "not_selected": (turns + 1) * late,
        },
    )


def test_warps_that_have_exited_are_not_waited_for(run):
    gpu = tiny_card()
    k = kernel(64)
    with k.when(1 - warp):
        k.barrier()
    period = gpu.sm.barrier_release_cycles + gpu.sm.barrier_arrival_cycles
    assert states(run(k.build(), gpu))["barrier"] == period - 1


def test_membar_waits_for_the_acknowledgement(run):
    gpu = tiny_card()
    k = kernel()
    k.emit(Operation.MEMBAR)
    fence = gpu.sm.membar_latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 2, "membar": fence - 1})
    k = kernel()
    k.store(0, ADDRESS)
    k.emit(Operation.MEMBAR)
    record = run(k.build(), gpu)
    latency = record.kernels[0].latency_fs[GLOBAL_STORE] // gpu.sm_period_fs
    check_states(record, START | {"selected": 3, "membar": latency - 2 + fence})


def test_drain_lasts_until_the_store_is_handed_over(run):
    gpu = tiny_card()
    k = kernel()
    k.store(0, ADDRESS)
    over = hand_over(gpu) + gpu.l1.tag_latency_cycles + gpu.l1.miss_latency_cycles
    check_states(run(k.build(), gpu), START | {"selected": 2, "drain": over - 2})


def test_drain_of_a_load_that_nobody_used(run):
    gpu = tiny_card()
    k = kernel()
    k.load(0, ADDRESS)
    record = run(k.build(), gpu)
    latency = record.kernels[0].latency_fs[GLOBAL_LOAD] // gpu.sm_period_fs
    check_states(record, START | {"selected": 2, "drain": latency - 2})


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("space", ["lg", "mio"])
def test_throttle_while_the_queue_is_full(run, depth, space):
    """A queue drains one a cycle once its head has come through; until then instruction `depth` waits."""
    gpu = tiny_card(**{f"sm__{space}_queue_depth": depth})
    k = kernel(shared_bytes_per_block=128)
    loads = 12
    for register in range(loads):
        if space == "lg":
            k.load(register, ADDRESS)
        else:
            k.load_shared(register, 4 * lane)
    issued = []
    for place in range(loads):
        free = issued[place - depth] + hand_over(gpu) if place >= depth else 0
        issued.append(max(free, issued[-1] + 1 if issued else 0))
    throttled = issued[-1] - (loads - 1)
    assert states(run(k.build(), gpu))[f"{space}_throttle"] == throttled


def order_of(run, scheduler):
    """Warp slots in the order of their shared loads: warp 0 first has a chain of two to compute."""
    gpu = tiny_card(
        sm__sub_cores=1,
        sm__scheduler=scheduler,
        sm__mio_queue_depth=64,
        operations__FFMA__interval_tenths=10,
        operations__FFMA__latency_cycles=4,
    )
    k = kernel(64, shared_bytes_per_block=128)
    with k.when(1 - warp):
        k.ffma(0, 0)
        k.ffma(0, 0)
    for register in range(6):
        k.load_shared(10 + register, 4 * lane)
    record = run(k.build(), gpu, keep_requests=True)
    return [one.warp_slot for one in sorted(record.requests, key=lambda one: one.issue_fs)]


def test_each_scheduler_has_its_order(run):
    """FFMA of warp 0 in cycles 0 and 4; greedy stays with warp 1, oldest returns, round robin alternates."""
    assert order_of(run, "gto") == [1] * 6 + [0] * 6
    assert order_of(run, "oldest") == [1] * 3 + [0] * 6 + [1] * 3
    assert order_of(run, "lrr") == [1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0]


def test_not_selected_of_two_warps_on_one_sub_core(run):
    k = kernel(64)
    for _ in range(9):
        k.emit(Operation.NOP)
    expected = {"no_instruction": 2 * FIRST_FETCH_CYCLES, "selected": 20}
    for scheduler, waited in (("gto", 10), ("oldest", 10), ("lrr", 10 + 9)):
        gpu = tiny_card(sm__sub_cores=1, sm__scheduler=scheduler)
        check_states(run(k.build(), gpu), expected | {"not_selected": waited})


def test_warps_are_set_up_one_after_another(run):
    warps = 8
    k = kernel(32 * warps)
    k.emit(Operation.NOP)
    gpu = tiny_card(sm__warp_setup_tenths=45)
    late = sum(-(-45 * index // 10) for index in range(warps))
    # The first warp brings the line to the SM and its sub-core, the next three to theirs, four find it there.
    check_states(run(k.build(), gpu), {"selected": 2 * warps, "no_instruction": late + 2 + 3})


def test_operations_without_lanes_issue_and_do_nothing(run):
    k = kernel()
    k.load(0, ADDRESS, mask=0)
    k.store(0, ADDRESS, mask=0)
    record = run(k.build(), tiny_card())
    check_states(record, START | {"selected": 3})
    assert count(record, "thread_instructions") == 32


def test_memory_operations_and_only_they_use_the_queues():
    gpu = base_card("a100-sxm-40gb")
    for operation in gpu.operations:
        queued = uses_lg_queue(operation) or uses_mio_queue(operation)
        assert (gpu.operations[operation].pipeline is Pipeline.LSU) == queued, operation.name
