"""The timing numbers of a DRAM standard, in femtoseconds.

Card files give nanoseconds, since row timings barely move when only the data rate does; they become whole
clocks, rounded up, where the constraint table is made. The clock and the burst follow from data rate and
width. Temperature and voltage effects are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hwmodels.field import nanoseconds, number

Femtoseconds = int


@dataclass(frozen=True, slots=True)
class DramTiming:
    """Timings of one pseudo-channel. Keys in card files end in `_ns`; `tck_fs` and `burst_fs` are derived."""

    tck_fs: Femtoseconds = field()
    burst_fs: Femtoseconds = field()
    cl: Femtoseconds = nanoseconds(low=0, high=1000, doc="Read command to its first data (CAS latency).")
    cwl: Femtoseconds = nanoseconds(low=0, high=1000, doc="Write command to its first data.")
    rcd_rd: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to read.")
    rcd_wr: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to write.")
    rp: Femtoseconds = nanoseconds(low=0, high=1000, doc="Precharge to activate.")
    ras: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to precharge.")
    rc: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to activate of one bank.")
    ccd_s: Femtoseconds = nanoseconds(low=0, high=1000, doc="Column to column command, other bank group.")
    ccd_l: Femtoseconds = nanoseconds(low=0, high=1000, doc="Column to column command, same bank group.")
    rrd_s: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to activate, other bank group.")
    rrd_l: Femtoseconds = nanoseconds(low=0, high=1000, doc="Activate to activate, same bank group.")
    faw: Femtoseconds = nanoseconds(
        low=0, high=1000, doc="Window that holds at most four activates; 0 = none."
    )
    wr: Femtoseconds = nanoseconds(low=0, high=1000, doc="End of write data to precharge.")
    rtp: Femtoseconds = nanoseconds(low=0, high=1000, doc="Read to precharge.")
    wtr_s: Femtoseconds = nanoseconds(low=0, high=1000, doc="End of write data to read, other bank group.")
    wtr_l: Femtoseconds = nanoseconds(low=0, high=1000, doc="End of write data to read, same bank group.")
    rtw: Femtoseconds = nanoseconds(low=0, high=1000, doc="Read to write command.")
    rfc: Femtoseconds = nanoseconds(low=0, high=10_000, doc="Duration of an all-bank refresh.")
    refi: Femtoseconds = nanoseconds(low=0, high=100_000, doc="Between all-bank refreshes.")
    rfc_pb: Femtoseconds = nanoseconds(low=0, high=10_000, doc="Duration of a one-bank refresh.")
    refi_pb: Femtoseconds = nanoseconds(
        low=0, high=100_000, doc="Between one-bank refreshes of a pseudo-channel."
    )
    act_slots: int = number(
        unit="row slots",
        low=1,
        high=16,
        doc="Row-bus slots of an activate; a clock has one, or two from HBM3 on.",
    )
    pre_slots: int = number(unit="row slots", low=1, high=16, doc="Row-bus slots of a precharge.")
