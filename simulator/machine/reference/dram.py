"""A DRAM channel: its queues, its FR-FCFS scheduler and write drain, one command a bus and clock.

Each tick issues at most one row command and one column command, which the pseudo-channels of the channel
share; among them the oldest request goes first. Inside a pseudo-channel a request whose row is open goes
before others, oldest first. Writes wait until the high mark is reached or no read waits, and stop at the low
mark or, when the high mark was not reached, as soon as a read waits; while writes drain, banks without
writes already open rows for the reads. A read of a sector that still waits to be written is answered from
the write queue, so a read never overtakes a write to its sector; a write may overtake an earlier read, which
the L2 rules out by holding the line. Controller and PHY latency belong to the caller, who also tells the
time: clocks are whole numbers of this channel's own clock and never go back.
"""

# ruff: noqa: PLR1730 - comparisons instead of min() and max(): the hottest code of the memory side.
from typing import Any

from hwmodels.dram.address_map import parse_map
from hwmodels.dram.clocks import timing_clocks
from hwmodels.dram.spec import SECTOR_BYTES, DramSpec
from hwmodels.dram.timing import Command, ConstraintTable, constraint_table
from simulator.machine.reference import dram_refresh
from simulator.machine.reference.dram_candidates import column_candidate, row_candidate
from simulator.machine.reference.dram_command import issue_column, issue_row
from simulator.machine.reference.dram_distances import distances_of
from simulator.machine.reference.dram_queue import KEY_MASK, NONE, push
from simulator.machine.state_dram import FAR, READ, WRITE, PseudoChannel, make_channel

Completion = tuple[int, Any, int, int, int]
"""(end of the burst, token, clock queued, clock of the first command for it, clock of its column command)."""


class DramChannel:
    """One channel of `spec`. The owner pushes requests, ticks it at `next_ck`, and empties `completions`."""

    def __init__(
        self, spec: DramSpec, pseudo_channels: int | None = None, table: ConstraintTable | None = None
    ) -> None:
        self.clocks = timing_clocks(spec)
        self.table = constraint_table(self.clocks) if table is None else table
        self.distances = distances_of(self.table)
        self.map = parse_map(
            spec.address_map,
            spec.bank_groups,
            spec.banks_per_group,
            spec.rows,
            spec.row_bytes // SECTOR_BYTES,
        )
        count = spec.pseudo_channels_per_channel if pseudo_channels is None else pseudo_channels
        self.state = make_channel(count, spec.bank_groups, spec.banks_per_group)
        self.read_depth = spec.read_queue_depth
        self.write_depth = spec.write_queue_depth
        self.drain_high = spec.drain_high
        self.drain_low = spec.drain_low
        self.age_limit = spec.age_limit_cycles
        self.closed_page = spec.page_policy == "closed"
        self.refresh = spec.refresh
        self.postpone = spec.refresh_postpone
        self.completions: list[Completion] = []
        self.trace: list[tuple[int, Command, int, int]] | None = None
        """Set to a list to have every command as (clock, command, pseudo-channel, bank)."""
        self.data_clocks = (self.clocks.cl + self.clocks.burst, self.clocks.cwl + self.clocks.burst)
        self.places: dict[int, tuple[int, int]] = {}
        """Bank and row by sector without its column bits: decoded once for each row that is touched."""
        self.column_mask = ~self.map.column_mask
        dram_refresh.start(self)

    def can_accept_read(self, pseudo_channel: int) -> bool:
        """Whether the read queue has room."""
        return self.state.pseudo_channels[pseudo_channel].waiting[READ] < self.read_depth

    def can_accept_write(self, pseudo_channel: int) -> bool:
        """Whether the write queue has room."""
        return self.state.pseudo_channels[pseudo_channel].waiting[WRITE] < self.write_depth

    def push_read(self, ck: int, pseudo_channel: int, sector: int, token: Any) -> None:
        """Queue a read at clock `ck`; the tick of the same clock may already serve it."""
        self.advance(ck)
        pc = self.state.pseudo_channels[pseudo_channel]
        if sector in pc.write_sectors:
            pc.counters.forwarded += 1
            self.completions.append((ck + self.clocks.burst, token, ck, ck, ck))
        else:
            push(self, ck, pc, READ, sector, token)

    def push_write(self, ck: int, pseudo_channel: int, sector: int, token: Any) -> None:
        """Queue a write at clock `ck`."""
        self.advance(ck)
        pc = self.state.pseudo_channels[pseudo_channel]
        pc.write_sectors[sector] = pc.write_sectors.get(sector, 0) + 1
        push(self, ck, pc, WRITE, sector, token)

    def advance(self, ck: int) -> None:
        """Do the refreshes of an idle channel that fall before clock `ck`, which its counters then hold."""
        if self.state.refresh_wake < ck and not self.state.requests:
            dram_refresh.catch_up(self, ck)

    def tick(self, ck: int) -> None:
        """Issue what can be issued at clock `ck`: at most one column command and one row command."""
        state = self.state
        if state.refresh_wake <= ck:
            self.advance(ck)
            dram_refresh.note_due(self, ck)
        state.tick_ck = ck
        if state.last_column_ck < ck:
            best = NONE
            chosen: PseudoChannel | None = None
            for pc in state.pseudo_channels:
                if pc.column_wake <= ck:
                    key = column_candidate(pc, ck)
                    if key < best:
                        best = key
                        chosen = pc
            if chosen is not None:
                issue_column(self, chosen, chosen.banks[best & KEY_MASK], ck)
        if state.last_row_ck < ck and state.row_slot // self.distances.slots_per_clock <= ck:
            if state.refresh_wake <= ck and dram_refresh.issue(self, ck):
                return
            best = NONE
            chosen = None
            for pc in state.pseudo_channels:
                if pc.row_wake <= ck:
                    key = row_candidate(pc, ck)
                    if key < best:
                        best = key
                        chosen = pc
            if chosen is not None:
                issue_row(self, chosen, chosen.banks[best & KEY_MASK], ck)

    def next_ck(self, ck: int) -> int | None:
        """A clock after `ck` before which nothing can happen; None when only refresh is left, for later."""
        state = self.state
        if not state.requests:
            return None
        soonest = FAR
        for pc in state.pseudo_channels:
            if pc.row_wake < soonest:
                soonest = pc.row_wake
        slot = state.row_slot // self.distances.slots_per_clock
        if soonest < slot:
            soonest = slot
        for pc in state.pseudo_channels:
            if pc.column_wake < soonest:
                soonest = pc.column_wake
        if state.refresh_wake < soonest:
            soonest = state.refresh_wake
        return soonest if soonest > ck else ck + 1

    def waits_for(self) -> list[str]:
        """For the watchdog: what each pseudo-channel still holds and what stands before it."""
        lines = []
        for pc in self.state.pseudo_channels:
            reads, writes = pc.waiting
            if reads or writes:
                line = f"DRAM pseudo-channel {pc.index}: {reads} reads and {writes} writes queued"
                if pc.refresh_all:
                    line += ", an all-bank refresh is due"
                elif pc.refresh_bank >= 0:
                    line += f", bank {pc.refresh_bank} is kept for refresh"
                lines.append(line)
        return lines
