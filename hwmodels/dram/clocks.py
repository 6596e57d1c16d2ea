"""From the times of a card to whole memory clocks: the step between a description and its constraint table.

Times are rounded up, less a guard of a hundredth of a clock, so that a time that a card file states as a
rounded number of nanoseconds (1.646 for two clocks of 823 ps) does not cost a clock more; data sheets round
with a guard too. A refresh to another bank counts as an activate of its bank group, which is what parts do
whose sheets state no value.
"""

from hwmodels.dram.spec import DramSpec
from hwmodels.dram.standards import standard
from hwmodels.dram.timing import ConstraintTable, TimingClocks, constraint_table
from hwmodels.rule import rule


@rule
def whole_clocks(time_fs: int, period_fs: int) -> int:
    """The fewest whole clocks that last at least `time_fs`, less a hundredth of a clock."""
    return -((period_fs - 100 * time_fs) // (100 * period_fs))


def timing_clocks(spec: DramSpec) -> TimingClocks:
    """The timing parameters of a card's memory in whole clocks."""
    t = spec.timing
    kind = standard(spec.standard)

    def clocks(time_fs: int) -> int:
        return max(whole_clocks(time_fs, t.tck_fs), 0)

    return TimingClocks(
        burst=max(clocks(t.burst_fs), 1),
        cl=clocks(t.cl),
        cwl=clocks(t.cwl),
        rcd_rd=clocks(t.rcd_rd),
        rcd_wr=clocks(t.rcd_wr),
        rp=clocks(t.rp),
        ras=clocks(t.ras),
        rc=clocks(t.rc),
        ccd_s=clocks(t.ccd_s),
        ccd_l=clocks(t.ccd_l),
        rrd_s=clocks(t.rrd_s),
        rrd_l=clocks(t.rrd_l),
        faw=clocks(t.faw),
        wr=clocks(t.wr),
        rtp=clocks(t.rtp),
        wtr_s=clocks(t.wtr_s),
        wtr_l=clocks(t.wtr_l),
        rtw=clocks(t.rtw),
        rfc=clocks(t.rfc),
        refi=clocks(t.refi),
        rfc_pb=clocks(t.rfc_pb),
        refi_pb=clocks(t.refi_pb),
        rrefd=clocks(t.rrd_l),
        act_slots=t.act_slots,
        pre_slots=t.pre_slots,
        refresh_slots=kind.refresh_slots,
        row_slots_per_clock=kind.row_slots_per_clock,
    )


def table_of(spec: DramSpec) -> ConstraintTable:
    """The constraint table of a card's memory."""
    return constraint_table(timing_clocks(spec))
