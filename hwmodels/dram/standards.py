"""What a DRAM standard fixes for every part of it: clock against pin rate, burst length, command-bus time.

HBM2 and HBM2E clock their commands at half the pin rate and move 4 beats a burst; HBM3 clocks at a quarter
and moves 8; GDDR6 and GDDR6X clock at an eighth and move 16. So a burst is 2 memory clocks on all of them,
and 32 bytes on a 64-, 32- or 16-bit pseudo-channel. Row commands of HBM2 take two slots (ACT) or one (PRE);
HBM3 sends row commands on both edges of its clock, three edges and one. GDDR6X is GDDR6 with its own data
rate, a simplification: its four-level signalling is not modelled. Numbers are those of the published presets
that the card files name.
"""

from dataclasses import dataclass

from hwmodels.errors import unknown


@dataclass(frozen=True, slots=True)
class Standard:
    """The fixed numbers of one standard."""

    name: str
    beats_per_clock: int
    """Data bits a pin moves in one memory clock."""
    burst_beats: int
    row_slots_per_clock: int
    """Slots of the row-command bus in one memory clock."""
    act_slots: int
    pre_slots: int
    refresh_slots: int

    @property
    def burst_clocks(self) -> int:
        """Memory clocks that one burst holds the data bus."""
        return -(-self.burst_beats // self.beats_per_clock)

    def period_fs(self, data_rate_mbps: int) -> int:
        """Memory clock period in femtoseconds at a pin rate in Mbit/s, to the nearest whole one."""
        return (self.beats_per_clock * 1_000_000_000 + data_rate_mbps // 2) // data_rate_mbps


STANDARDS = {
    standard.name: standard
    for standard in (
        Standard("HBM2", 2, 4, 1, 2, 1, 1),
        Standard("HBM2E", 2, 4, 1, 2, 1, 1),
        Standard("HBM3", 4, 8, 2, 3, 1, 1),
        Standard("HBM3E", 4, 8, 2, 3, 1, 1),
        Standard("GDDR6", 8, 16, 1, 1, 1, 1),
        Standard("GDDR6X", 8, 16, 1, 1, 1, 1),
    )
}


def standard(name: str) -> Standard:
    """The standard of a name; raises :class:`InputError` with the nearest valid one."""
    if name not in STANDARDS:
        raise unknown("dram.standard", "DRAM standard", name, STANDARDS)
    return STANDARDS[name]
