"""Occupancy against a naive second implementation, which puts warp after warp onto an SM until it is full."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hwmodels.block_limits import BlockNeeds
from hwmodels.occupancy import occupancy_of
from hwmodels.sm_limits import CAPABILITIES, SmLimits

limits = st.builds(
    lambda capability, quarters: replace(
        SmLimits.of_capability(capability), register_file_registers=16_384 * quarters
    ),
    st.sampled_from(sorted(CAPABILITIES)),
    st.sampled_from([1, 2, 3, 4, 8, 32]),
)
needs = st.builds(
    BlockNeeds,
    threads=st.integers(1, 1100),
    registers=st.integers(0, 260),
    shared_bytes=st.one_of(st.just(0), st.integers(0, 60_000), st.integers(0, 240_000)),
    barriers=st.integers(0, 16),
    carveout_kib=st.one_of(st.none(), st.integers(0, 64)),
    opt_in=st.booleans(),
)


class NaiveSm:
    """Free resources, and blocks that take them piece by piece. Knows no division by a block's size."""

    def __init__(self, sm: SmLimits, needs: BlockNeeds) -> None:
        self.free_registers = [sm.register_file_registers // sm.sub_cores] * sm.sub_cores
        self.free_warps, self.free_blocks, self.free_barriers = (
            sm.warp_slots,
            sm.block_slots,
            sm.barrier_slots,
        )
        self.has_barrier_limit = sm.barrier_slots > 0
        self.block_bytes = needs.shared_bytes + sm.shared_reserved_bytes
        while self.block_bytes % sm.shared_unit_bytes:
            self.block_bytes += 1
        wanted = 1024 * (needs.carveout_kib if needs.carveout_kib is not None else 10**6)
        fitting = [size for size in sm.carveouts_bytes if size >= max(wanted, self.block_bytes)]
        self.free_bytes = min(fitting) if fitting else max(sm.carveouts_bytes)
        self.sm, self.needs = sm, needs

    def warps(self) -> int:
        return len(range(0, self.needs.threads, 32))

    def warp_registers(self) -> int:
        count = self.needs.registers * 32
        while count % self.sm.register_unit:
            count += 1
        return count

    def launchable(self) -> bool:
        """The rules about one block alone: its size, and its warps dealt evenly over empty sub-cores."""
        shared_most = self.sm.shared_max_bytes if self.needs.opt_in else self.sm.shared_default_bytes
        dealt = [0] * self.sm.sub_cores
        for warp in range(self.warps()):
            dealt[warp % self.sm.sub_cores] += self.warp_registers()
        return (
            self.needs.threads <= self.sm.max_threads_per_block
            and self.needs.registers <= self.sm.registers_max_per_thread
            and self.needs.shared_bytes <= shared_most
            and max(dealt) <= self.free_registers[0]
        )

    def take_block(self) -> bool:
        for _ in range(self.warps()):
            roomiest = max(range(self.sm.sub_cores), key=lambda core: self.free_registers[core])
            self.free_registers[roomiest] -= self.warp_registers()
            self.free_warps -= 1
        self.free_blocks -= 1
        self.free_bytes -= self.block_bytes
        self.free_barriers -= self.needs.barriers
        left = [self.free_warps, self.free_blocks, self.free_bytes, *self.free_registers]
        return min(left) >= 0 and (self.free_barriers >= 0 or not self.has_barrier_limit)

    def blocks(self) -> int:
        if not self.launchable():
            return 0
        count = 0
        while self.take_block():
            count += 1
        return count


@given(limits, needs)
@settings(max_examples=600)
def test_equals_filling_an_sm_warp_by_warp(sm: SmLimits, needs: BlockNeeds) -> None:
    answer = occupancy_of(sm, needs)
    assert answer.blocks_per_sm == NaiveSm(sm, needs).blocks()
    assert (answer.blocks_per_sm == 0) == bool(answer.cannot_launch)
    assert answer.limiters
    assert all(answer.limits[name] == answer.blocks_per_sm for name in answer.limiters)


@given(limits, needs)
@settings(max_examples=300)
def test_the_next_step_reaches_its_blocks_and_nothing_smaller_does(sm: SmLimits, needs: BlockNeeds) -> None:
    answer = occupancy_of(sm, needs)
    step = answer.next_step
    assume(step is not None)
    assert step is not None
    assert step.blocks_per_sm == answer.blocks_per_sm + 1

    def blocks(registers_fewer: int, shared_fewer: int) -> int:
        fewer = replace(
            needs, registers=needs.registers - registers_fewer, shared_bytes=needs.shared_bytes - shared_fewer
        )
        return occupancy_of(sm, fewer).blocks_per_sm

    assert blocks(step.registers_fewer, step.shared_bytes_fewer) >= step.blocks_per_sm
    for registers_fewer in range(step.registers_fewer):
        assert blocks(registers_fewer, step.shared_bytes_fewer) < step.blocks_per_sm
    near = range(max(0, step.shared_bytes_fewer - 130), step.shared_bytes_fewer)
    far = range(0, step.shared_bytes_fewer, 997)
    for shared_fewer in (*near, *far):
        assert blocks(step.registers_fewer, shared_fewer) < step.blocks_per_sm


@given(limits, needs)
@settings(max_examples=200)
def test_without_a_next_step_no_saving_buys_a_block(sm: SmLimits, needs: BlockNeeds) -> None:
    answer = occupancy_of(sm, needs)
    assume(answer.next_step is None)
    for quarters in range(5):
        fewer = replace(
            needs, registers=min(1, needs.registers), shared_bytes=needs.shared_bytes * quarters // 4
        )
        assert occupancy_of(sm, fewer).blocks_per_sm <= answer.blocks_per_sm
