"""The memory of a card: channels, pseudo-channels, banks, queues, and the policies of its controllers.

Latency of controller and PHY is its own number in ns, never hidden in a DRAM timing. Stack levels are
folded into the banks. Error correction and its traffic are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.dram.standards import STANDARDS
from hwmodels.dram.timing_spec import DramTiming
from hwmodels.field import choice, number, text

SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class DramSpec:
    """DRAM of the whole card with its controllers. A burst is one 32-byte sector."""

    timing: DramTiming
    standard: str = choice(*STANDARDS, doc="Standard; it sets the clock that belongs to a data rate.")
    channels: int = number(unit="channels", low=1, high=1024, doc="Channels of the card.")
    pseudo_channels_per_channel: int = number(
        unit="pseudo-channels", low=1, high=2, doc="Pseudo-channels, which share a channel's command slots."
    )
    width_bits: int = number(unit="bits", low=8, high=256, doc="Data pins of a pseudo-channel.")
    data_rate_mbps: int = number(unit="Mbit/s a pin", low=100, high=100_000, doc="Data rate of a pin.")
    controller_latency_ns: int = number(
        unit="ns", low=0, high=100_000, doc="Controller and PHY, both ways together."
    )
    bank_groups: int = number(unit="bank groups", low=1, high=16, doc="Bank groups of a pseudo-channel.")
    banks_per_group: int = number(unit="banks", low=1, high=16, doc="Banks of a bank group.")
    rows: int = number(unit="rows", low=1, high=1 << 24, doc="Rows of a bank.")
    row_bytes: int = number(unit="bytes", low=64, high=1 << 16, doc="Row of a bank.")
    read_queue_depth: int = number(
        unit="requests", low=1, high=4096, doc="Reads that a pseudo-channel queues."
    )
    write_queue_depth: int = number(
        unit="requests", low=1, high=4096, doc="Writes that a pseudo-channel queues."
    )
    drain_high: int = number(unit="requests", low=1, high=4096, doc="Queued writes at which writing starts.")
    drain_low: int = number(unit="requests", low=0, high=4096, doc="Queued writes at which writing stops.")
    age_limit_cycles: int = number(
        unit="memory cycles", low=1, high=1_000_000, doc="A request older than this goes before row hits."
    )
    page_policy: str = choice("open", "closed", doc="Leave a row open after use, or close it.")
    refresh: str = choice("per_bank", "all_bank", "none", doc="Refresh bank by bank, all at once, or never.")
    refresh_postpone: int = number(unit="refreshes", low=0, high=64, doc="Refreshes that may be put off.")
    address_map: str = text(
        doc="Fields of a sector's index inside its pseudo-channel, lowest last; see dram/address_map.py.",
        pattern=r"[a-z][a-z0-9=:\[\] ]*",
        example="row:bank:column:bankgroup",
    )

    @property
    def pseudo_channels(self) -> int:
        """Pseudo-channels of the card."""
        return self.channels * self.pseudo_channels_per_channel

    @property
    def bandwidth_gb_s(self) -> float:
        """Peak of all data pins, in 10^9 bytes a second."""
        return self.pseudo_channels * self.width_bits * self.data_rate_mbps / 8000

    @property
    def capacity_bytes(self) -> int:
        """Bytes of the whole card."""
        banks = self.pseudo_channels * self.bank_groups * self.banks_per_group
        return banks * self.rows * self.row_bytes
