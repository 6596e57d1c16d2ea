"""A run that never happened, with numbers that a person can add up: what the tables and identities are
tested on.

Two kernels of one stream on a card of 2 SMs at 1 GHz (SM and L2 periods of 10^6 fs): the first reads 64
sectors from DRAM and leaves its 32 written sectors dirty, the second hits in L2.
"""

from simulator.statistics.facts import CardFacts, KernelHeader
from simulator.statistics.phases import (
    BARRIER,
    DRAM_BURST,
    GLOBAL_LOAD,
    GLOBAL_STORE,
    L1,
    LONG_SCOREBOARD,
    LSU_QUEUE,
    SELECTED,
    SHARED_LOAD,
)
from simulator.statistics.record import IntervalRecord, KernelRecord, MeterRecord, RunRecord
from simulator.statistics.schema import DRAM_COUNTERS, INDEX

PERIOD_FS = 1_000_000
FFMA = 5
STARTS_CYCLES = (1_000, 4_000)
ENDS_CYCLES = (3_000, 5_000)
LAUNCHES_CYCLES = (1_000, 1_000)

CARD = CardFacts(
    name="paper-gpu",
    scale="1/1",
    digest="0" * 64,
    sm_count=2,
    sm_period_fs=PERIOD_FS,
    l2_period_fs=PERIOD_FS,
    warp_slots=64,
    sub_cores=4,
    registers_per_sm=65_536,
    l1_bytes=131_072,
    l2_bytes=1 << 20,
    dram_bytes_per_second=10**9,
    l2_bytes_per_cycle=128,
    request_bytes_per_cycle=128,
    reply_bytes_per_cycle=128,
    link_bytes_per_cycle=0,
    pipelines=("alu",) * 5 + ("fma",) + ("alu",) * 50,
    interval_tenths=(20,) * 56,
    fj_per_byte=(160_000, 120_000, 40_000, 30_000),
    warp_fj=(2_000_000,) * 5 + (1_600_000,) + (2_000_000,) * 50,
)

HEADERS = (
    KernelHeader("conv", 0, ("n0", "n1"), 4, 256, 96, 16, 8_192),
    KernelHeader("relu", 0, ("n2",), 4, 128, 32, 0, 0),
)


def set_counts(kernel: KernelRecord, **values: int) -> None:
    for name, value in values.items():
        kernel.counts[INDEX[name]] = value


def synthetic_run() -> RunRecord:
    kernels = [_kernel(place, header) for place, header in enumerate(HEADERS)]
    _first(kernels[0])
    _second(kernels[1])
    record = RunRecord(
        engine="reference",
        gpu_name=CARD.name,
        gpu_digest=CARD.digest,
        sm_count=CARD.sm_count,
        sm_period_fs=PERIOD_FS,
        kernels=kernels,
        end_fs=ENDS_CYCLES[1] * PERIOD_FS,
        sm_active_cycles=[3_000, 3_000],
        meters=[MeterRecord("slice 0 input", 500, 500, 10, 0)],
        expected_instructions=[800, 100],
        wall_seconds=2.0,
        cpu_seconds=1.5,
        peak_memory_mb=100.0,
    )
    names = [counter.name for counter in DRAM_COUNTERS]
    for name, value in {"reads": 64, "row_hits": 60, "row_misses": 4, "activates": 4}.items():
        record.dram[names.index(name)] = value
    record.intervals = [interval for place in range(2) for interval in _halves(kernels[place], place)]
    return record


def _kernel(place: int, header: KernelHeader) -> KernelRecord:
    return KernelRecord(
        index=place,
        name=header.name,
        stream=0,
        start_fs=STARTS_CYCLES[place] * PERIOD_FS,
        end_fs=ENDS_CYCLES[place] * PERIOD_FS,
        launch_fs=LAUNCHES_CYCLES[place] * PERIOD_FS,
        operations=[0] * 56,
    )


def _first(kernel: KernelRecord) -> None:
    kernel.blocks_per_sm, kernel.limits = 2, [2, 12, 8, 32, 0]
    kernel.launch_blocked_cycles = [70, 0, 0, 0, 0]
    kernel.operations[FFMA] = 800
    set_counts(
        kernel, warp_instructions=800, thread_instructions=25_600, blocks=4, resident_warp_cycles=32_000
    )
    kernel.states[SELECTED], kernel.states[LONG_SCOREBOARD], kernel.states[BARRIER] = 800, 30_000, 1_200
    _loads(kernel, requests=20, sectors=80, hits=16, misses=64)
    set_counts(kernel, l2_read_misses=64, l2_fill_sectors=64, dram_read_sectors=64)
    set_counts(
        kernel,
        l1_global_store_requests=8,
        l1_global_store_sectors=32,
        l1_store_bytes=1_024,
        l2_write_requests=8,
        l2_write_sectors=32,
        l2_write_bytes=1_024,
        request_packets=24,
        request_bytes=1_024,
        acknowledgements=8,
        l2_dirty_left=32,
        shared_load_requests=10,
        shared_load_bytes=1_280,
        shared_passes=40,
        shared_bank_conflicts=30,
        l1_data_passes=28,
        access_count=20,
        access_fs=4_000 * PERIOD_FS,
    )
    _spend(kernel, GLOBAL_LOAD, 20, {LSU_QUEUE: 2_000, L1: 1_000, DRAM_BURST: 5_000})
    _spend(kernel, GLOBAL_STORE, 8, {LSU_QUEUE: 80})
    _spend(kernel, SHARED_LOAD, 10, {L1: 300})


def _second(kernel: KernelRecord) -> None:
    kernel.blocks_per_sm, kernel.limits = 16, [16, 0, 16, 32, 0]
    kernel.operations[0] = 100
    set_counts(kernel, warp_instructions=100, thread_instructions=3_200, blocks=4, resident_warp_cycles=4_000)
    kernel.states[SELECTED], kernel.states[LONG_SCOREBOARD] = 100, 3_900
    _loads(kernel, requests=4, sectors=16, hits=0, misses=16)
    set_counts(kernel, l2_read_hits=16, request_packets=4)
    _spend(kernel, GLOBAL_LOAD, 4, {LSU_QUEUE: 40, L1: 960})


def _loads(kernel: KernelRecord, requests: int, sectors: int, hits: int, misses: int) -> None:
    set_counts(
        kernel,
        l1_global_load_requests=requests,
        l1_global_load_sectors=sectors,
        l1_global_load_hits=hits,
        l1_global_load_misses=misses,
        l1_fill_sectors=misses,
        l2_read_requests=misses // 4,
        l2_read_sectors=misses,
        reply_packets=misses // 2,
        reply_bytes=32 * misses,
    )


def _spend(kernel: KernelRecord, access_class: int, requests: int, cycles: dict[int, int]) -> None:
    kernel.requests[access_class] = requests
    kernel.latency_fs[access_class] = sum(cycles.values()) * PERIOD_FS
    for phase, spent in cycles.items():
        kernel.phases[access_class][phase] = spent * PERIOD_FS


def _halves(kernel: KernelRecord, place: int) -> list[IntervalRecord]:
    """The kernel's numbers in two intervals, the odd ones in the second."""
    middle = (kernel.start_fs + kernel.end_fs) // 2
    first = [value // 2 for value in kernel.counts], [value // 2 for value in kernel.states]
    second = (
        [value - half for value, half in zip(kernel.counts, first[0], strict=True)],
        [value - half for value, half in zip(kernel.states, first[1], strict=True)],
    )
    return [
        IntervalRecord(place, kernel.start_fs, middle, *first),
        IntervalRecord(place, middle, kernel.end_fs, *second),
    ]
