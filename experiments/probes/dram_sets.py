"""The timing sets, organisations and policies of the published DRAM simulators, as descriptions of ours.

Their sets are stated in clocks; here each becomes a time of that many clock periods, so that rounding gives
the same clocks back. Queues are those of one of our pseudo-channels; the peers share one queue between two,
and their own drain rules differ, which is why a mixed stream agrees less closely than a pure one. Sources:
the projects' shipped files as listed in the facts on DRAM.
"""

from dataclasses import replace

from hwmodels.dram.spec import DramSpec
from hwmodels.dram.timing_spec import DramTiming
from hwmodels.errors import unknown

ROTATED = "row:bank:column:bankgroup plain"
ROTATED_FOLDED = "row:bank:column:bankgroup"
COLUMN_FIRST = "row:bank:bankgroup:column plain"

_NAMES = (
    "cl",
    "cwl",
    "rcd_rd",
    "rcd_wr",
    "rp",
    "ras",
    "rc",
    "ccd_s",
    "ccd_l",
    "rrd_s",
    "rrd_l",
    "faw",
    "wr",
    "rtp",
    "wtr_s",
    "wtr_l",
    "rtw",
    "rfc",
    "refi",
    "rfc_pb",
    "refi_pb",
)
# One line a set, in clocks, in the order of the names. CL of DRAMSys holds its clock of data-strobe delay.
_RAMULATOR_HBM2 = (14, 5, 14, 12, 14, 34, 48, 2, 4, 4, 4, 15, 16, 5, 6, 8, 13, 260, 3900, 160, 244)
_RAMULATOR_HBM3 = (20, 10, 31, 15, 26, 45, 72, 2, 4, 4, 5, 24, 33, 9, 7, 10, 20, 560, 6240, 320, 390)
_DRAMSYS_HBM2 = (18, 7, 12, 6, 14, 28, 42, 2, 3, 4, 6, 16, 14, 5, 4, 9, 18, 220, 3900, 96, 244)
# (standard, Mbit/s a pin, bits, period in fs, rows, banks a group, clocks, row slots of ACT and PRE). The two
# stack levels of HBM3 are folded into its banks; DRAMsim3 has the clocks of Ramulator, like for like.
_CLOCKS_OF_STANDARD = ("ccd_s", "ccd_l")
"""Times that a standard states in clocks; the others are nanoseconds and keep those at another speed."""


def _at_speed(
    clocks: tuple[int, ...], period_fs: int, new_period_fs: int, **changed_fs: int
) -> tuple[int, ...]:
    """A set at another clock: its nanoseconds rounded up to the new clocks, some of them replaced first."""
    made = []
    for name, count in zip(_NAMES, clocks, strict=True):
        time_fs = changed_fs.get(name, count * period_fs)
        made.append(count if name in _CLOCKS_OF_STANDARD else -(-time_fs // new_period_fs))
    # Read to write: the bus turns in two clocks after the data of both directions.
    made[_NAMES.index("rtw")] = made[0] + 4 - made[1]
    return tuple(made)


_HBM2_1754, _HBM2E_3200, _HBM3_5200 = 1_140_251, 625_000, 769_231
_SLOWER_HBM2 = _at_speed(_RAMULATOR_HBM2, 1_000_000, _HBM2_1754)
_FASTER_HBM2 = _at_speed(_RAMULATOR_HBM2, 1_000_000, _HBM2E_3200, rfc=350_000_000)
_SLOWER_HBM3 = _at_speed(_RAMULATOR_HBM3, 625_000, _HBM3_5200)
_SETS = {
    "Ramulator 2.1 HBM2 1.754": ("HBM2", 1754, 64, _HBM2_1754, 32768, 4, _SLOWER_HBM2, (2, 1)),
    "Ramulator 2.1 HBM2E 3.2": ("HBM2E", 3200, 64, _HBM2E_3200, 32768, 4, _FASTER_HBM2, (2, 1)),
    "Ramulator 2.1 HBM3 5.2": ("HBM3", 5200, 32, _HBM3_5200, 16384, 8, _SLOWER_HBM3, (3, 1)),
    "Ramulator 2.1 HBM2": ("HBM2", 2000, 64, 1_000_000, 32768, 4, _RAMULATOR_HBM2, (2, 1)),
    "Ramulator 2.1 HBM3": ("HBM3", 6400, 32, 625_000, 16384, 8, _RAMULATOR_HBM3, (3, 1)),
    "DRAMsim3 HBM2": ("HBM2", 2000, 64, 1_000_000, 32768, 4, _RAMULATOR_HBM2, (1, 1)),
    "DRAMSys HBM2": ("HBM2", 2000, 64, 1_000_000, 32768, 4, _DRAMSYS_HBM2, (2, 1)),
}


def peer_spec(
    name: str,
    *,
    refresh: str = "all_bank",
    queue: int = 128,
    address_map: str = ROTATED,
    drain: tuple[int, int] | None = None,
) -> DramSpec:
    """One channel with a peer's timing set; `queue` is the depth of the read and of the write queue."""
    if name not in _SETS:
        raise unknown("DRAM timing set", "set", name, _SETS)
    standard, rate, width, period, rows, banks, clocks, (act, pre) = _SETS[name]
    times = {key: value * period for key, value in zip(_NAMES, clocks, strict=True)}
    timing = DramTiming(tck_fs=period, burst_fs=2 * period, act_slots=act, pre_slots=pre, **times)
    high, low = drain or (queue * 4 // 5, queue // 5)
    return DramSpec(
        timing=timing,
        standard=standard,
        channels=1,
        pseudo_channels_per_channel=1,
        width_bits=width,
        data_rate_mbps=rate,
        controller_latency_ns=0,
        bank_groups=4,
        banks_per_group=banks,
        rows=rows,
        row_bytes=1024,
        read_queue_depth=queue,
        write_queue_depth=queue,
        drain_high=high,
        drain_low=low,
        age_limit_cycles=4000,
        page_policy="open",
        refresh=refresh,
        refresh_postpone=8,
        address_map=address_map,
    )


def with_page_policy(spec: DramSpec, policy: str) -> DramSpec:
    """The same memory under another page policy."""
    return replace(spec, page_policy=policy)
