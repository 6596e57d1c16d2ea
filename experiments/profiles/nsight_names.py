"""Which of our numbers is which of Nsight Compute's: name on the details page, section, name on the raw page,
unit, and how ours follows from a row of kernels.csv and the card.

Ours are averages over the whole kernel and all SMs, where the profiler's `…_active` figures leave out SMs
without work; hit rates of L2 are over reads. DRAM bytes written count what the kernel dirtied and DRAM wrote
while the run lasted. The stall reasons are the bars of the profiler's
warp states: warps in a state for each cycle that issues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from hwmodels.block_limits import BlockNeeds
from hwmodels.occupancy import occupancy_of
from hwmodels.sm_limits import SmLimits
from simulator.statistics.phases import STATE_NAMES

if TYPE_CHECKING:
    from hwmodels import Gpu
    from simulator.statistics.result import Result

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Name:
    """One metric. `of` works ours out; None where the row lacks it."""

    details: str
    section: str
    raw: str
    unit: str
    of: Callable[[Row, Gpu], float | None]
    from_launch: bool = False
    """Whether it follows from the launch alone, without a replay."""


def _column(name: str) -> Callable[[Row, Gpu], float | None]:
    def of(row: Row, _: Gpu) -> float | None:
        value = row.get(name)
        if value is None or isinstance(value, str) or not isfinite(float(value)):
            return None
        return float(value)

    return of


def _nanoseconds(row: Row, gpu: Gpu) -> float | None:
    cycles = _column("cycles")(row, gpu)
    return None if cycles is None else cycles * gpu.sm_period_fs / 1e6


def _rate(row: Row, gpu: Gpu) -> float | None:
    """Bytes a second at DRAM, from the share of its peak."""
    share = _column("dram_throughput_pct")(row, gpu)
    return None if share is None else share / 100 * gpu.dram.bandwidth_gb_s * 1e9


def _limit(name: str) -> Callable[[Row, Gpu], float | None]:
    def of(row: Row, gpu: Gpu) -> float | None:
        limits = limits_of(row, SmLimits.of_gpu(gpu))
        return None if limits.get(name) is None else float(limits[name] or 0)

    return of


def limits_of(row: Row, sm: SmLimits) -> Mapping[str, int | None]:
    """Blocks by limiter of the launch in a row, which may state them itself."""
    if "limits" in row:
        own: Mapping[str, int | None] = row["limits"]
        return own
    needs = BlockNeeds(
        int(row["threads_per_block"]), int(row["registers_per_thread"]), int(row["shared_bytes_per_block"])
    )
    return occupancy_of(sm, needs).limits


def _warps(column: str) -> Callable[[Row, Gpu], float | None]:
    def of(row: Row, gpu: Gpu) -> float | None:
        share = _column(column)(row, gpu)
        return None if share is None else share / 100 * gpu.sm.warp_slots

    return of


def _threads(row: Row, _: Gpu) -> float | None:
    return float(row["grid_blocks"] * row["threads_per_block"])


def _waves(row: Row, gpu: Gpu) -> float | None:
    resident = row["blocks_per_sm"] * gpu.sm_count
    return row["grid_blocks"] / resident if resident else None


def _stalled(reason: str) -> Callable[[Row, Gpu], float | None]:
    """Warps in a state in a cycle that issues: ours issue one instruction in such a cycle."""

    def of(row: Row, _: Gpu) -> float | None:
        cycles, issued = row.get("warp_cycles_by_state"), row.get("warp_instructions")
        return cycles[reason] / float(issued) if cycles and issued else None

    return of


def row_of(result: Result, place: int) -> dict[str, Any]:
    """The row of kernels.csv of one kernel of a result, with its warp-cycles by state."""
    row = {str(key): value for key, value in result.kernels.iloc[place].to_dict().items()}
    states = dict(zip(STATE_NAMES, result.record.kernels[place].states, strict=True))
    return {**row, "warp_cycles_by_state": states}


SPEED, LAUNCH, OCCUPANCY = "GPU Speed Of Light Throughput", "Launch Statistics", "Occupancy"
MEMORY, COMPUTE = "Memory Workload Analysis", "Compute Workload Analysis"
INSTRUCTIONS, WARPS = "Instruction Statistics", "Warp State Statistics"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

NAMES: tuple[Name, ...] = (
    Name("Duration", SPEED, "gpu__time_duration.sum", "ns", _nanoseconds),
    Name("Elapsed Cycles", SPEED, "gpc__cycles_elapsed.max", "cycle", _column("cycles")),
    Name(
        "SM Frequency", SPEED, "gpc__cycles_elapsed.avg.per_second", "hz", lambda _, gpu: gpu.clock_mhz * 1e6
    ),
    Name(
        "DRAM Throughput",
        SPEED,
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "%",
        _column("dram_throughput_pct"),
    ),
    Name(
        "L1/TEX Cache Throughput",
        SPEED,
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
        "%",
        _column("l1_throughput_pct"),
    ),
    Name(
        "L2 Cache Throughput",
        SPEED,
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "%",
        _column("l2_throughput_pct"),
    ),
    Name("Memory Throughput", MEMORY, "dram__bytes.sum.per_second", "byte/s", _rate),
    Name("L1/TEX Hit Rate", MEMORY, "l1tex__t_sector_hit_rate.pct", "%", _column("l1_hit_pct")),
    Name("L2 Hit Rate", MEMORY, "lts__t_sector_hit_rate.pct", "%", _column("l2_hit_pct")),
    Name("DRAM Bytes Read", MEMORY, "dram__bytes_read.sum", "byte", _column("dram_read_bytes")),
    Name("DRAM Bytes Written", MEMORY, "dram__bytes_write.sum", "byte", _column("dram_write_bytes")),
    Name(
        "Shared Bank Conflicts",
        MEMORY,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
        "",
        _column("shared_bank_conflicts"),
    ),
    Name(
        "Executed Ipc Elapsed",
        COMPUTE,
        "sm__inst_executed.avg.per_cycle_elapsed",
        "inst/cycle",
        _column("ipc"),
    ),
    Name(
        "Issue Slots Busy",
        COMPUTE,
        "sm__inst_issued.avg.pct_of_peak_sustained_active",
        "%",
        _column("issue_pct"),
    ),
    Name(
        "Executed Instructions", INSTRUCTIONS, "smsp__inst_executed.sum", "inst", _column("warp_instructions")
    ),
    Name("Block Size", LAUNCH, "launch__block_size", "", _column("threads_per_block"), True),
    Name("Grid Size", LAUNCH, "launch__grid_size", "", _column("grid_blocks"), True),
    Name(
        "Registers Per Thread",
        LAUNCH,
        "launch__registers_per_thread",
        "register/thread",
        _column("registers_per_thread"),
        True,
    ),
    Name(
        "Shared Memory Per Block",
        LAUNCH,
        "launch__shared_mem_per_block",
        "byte/block",
        _column("shared_bytes_per_block"),
        True,
    ),
    Name("Threads", LAUNCH, "launch__thread_count", "thread", _threads, True),
    Name("Waves Per SM", LAUNCH, "launch__waves_per_multiprocessor", "", _waves, True),
    Name("# SMs", LAUNCH, "launch__sm_count", "SM", lambda _, gpu: float(gpu.sm_count), True),
    Name("Block Limit SM", OCCUPANCY, "launch__occupancy_limit_blocks", "block", _limit("blocks"), True),
    Name(
        "Block Limit Registers",
        OCCUPANCY,
        "launch__occupancy_limit_registers",
        "block",
        _limit("registers"),
        True,
    ),
    Name(
        "Block Limit Shared Mem",
        OCCUPANCY,
        "launch__occupancy_limit_shared_mem",
        "block",
        _limit("shared_memory"),
        True,
    ),
    Name("Block Limit Warps", OCCUPANCY, "launch__occupancy_limit_warps", "block", _limit("warps"), True),
    Name(
        "Theoretical Active Warps per SM",
        OCCUPANCY,
        "sm__maximum_warps_avg_per_active_cycle",
        "warp",
        _warps("theoretical_occupancy_pct"),
        True,
    ),
    Name(
        "Theoretical Occupancy",
        OCCUPANCY,
        "sm__maximum_warps_per_active_cycle_pct",
        "%",
        _column("theoretical_occupancy_pct"),
        True,
    ),
    Name(
        "Achieved Occupancy",
        OCCUPANCY,
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "%",
        _column("achieved_occupancy_pct"),
    ),
    Name(
        "Achieved Active Warps Per SM",
        OCCUPANCY,
        "sm__warps_active.avg.per_cycle_active",
        "warp",
        _warps("achieved_occupancy_pct"),
    ),
    *(
        Name(f"Stall {state.replace('_', ' ').title()}", WARPS, STALLED.format(state), "", _stalled(state))
        for state in STATE_NAMES
    ),
)
