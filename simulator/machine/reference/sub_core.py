"""A sub-core: its warps, its scheduler and its pipelines. One instruction issues a cycle.

Every candidate's state is decided in the precedence of `statistics/phases.py`: the first predicate that holds
names the state, and also says when to look again (at a known cycle, or when something happens). Only warps
that could issue, or whose turn to be looked at has come, are touched. Operands are read at issue, so a later
write may not overtake a read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwmodels.operations import Pipeline
from simulator.machine.program import COPY_WAIT, LG, MIO, Decoded
from simulator.machine.state import LONG_PENDING, SHORT_PENDING, Warp
from simulator.statistics.phases import (
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    LG_THROTTLE,
    LONG_SCOREBOARD,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    NO_INSTRUCTION,
    NOT_SELECTED,
    SHORT_SCOREBOARD,
    WAIT,
)

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

ELIGIBLE = -1
UNKNOWN = -1
"""A wake-up that some event will bring."""


class SubCore:
    """One of the SM's sub-cores; `number` is its place."""

    def __init__(self, sm: Sm, number: int) -> None:
        self.sm = sm
        self.number = number
        spec = sm.gpu.sm
        self.scheduler = spec.scheduler
        self.lg_depth = spec.lg_queue_depth
        self.mio_depth = spec.mio_queue_depth
        self.free_slots = list(range(number, spec.warp_slots, spec.sub_cores))
        self.candidates: list[Warp] = []
        self.lg_waiters: list[Warp] = []
        self.mio_waiters: list[Warp] = []
        self.pipe_free_tenths = [0] * len(Pipeline)
        self.dispatch_free = 0
        self.last: Warp | None = None
        self.last_slot = -1

    def list_candidate(self, warp: Warp) -> None:
        """Look at this warp in the coming issue phase."""
        if not warp.listed and not warp.parked:
            warp.listed = True
            self.candidates.append(warp)

    def step(self, cycle: int) -> None:
        """The issue phase: sort the candidates into states, let the scheduler pick, issue."""
        eligible: list[Warp] = []
        soon: list[Warp] = []
        sm, judge, following = self.sm, self._judge, cycle + 1
        for warp in self.candidates:
            state, wake = judge(warp, warp.next, cycle)  # type: ignore[arg-type]
            if state == ELIGIBLE:
                eligible.append(warp)
                continue
            if warp.state != state:
                sm.change_state(warp, state, cycle)
            if wake == following:
                soon.append(warp)
                continue
            warp.listed = False
            if wake != UNKNOWN:
                sm.wake_at(wake, warp)
        if eligible:
            chosen = eligible[0] if len(eligible) == 1 else self._pick(eligible)
            for warp in eligible:
                if warp is not chosen:
                    soon.append(warp)
                    if warp.state != NOT_SELECTED:
                        sm.change_state(warp, NOT_SELECTED, cycle)
            self.last = chosen
            self.last_slot = chosen.slot
            if sm.issue(self, chosen, cycle):
                soon.append(chosen)
            else:
                chosen.listed = False
        self.candidates = soon

    def _judge(self, warp: Warp, inst: Decoded, cycle: int) -> tuple[int, int]:
        """(state, cycle at which to look again); ELIGIBLE when it may issue now."""
        if warp.fetch_ready > cycle:
            return NO_INSTRUCTION, warp.fetch_ready
        if warp.branch_ready > cycle:
            return BRANCH_RESOLVING, warp.branch_ready
        ready = max(map(warp.ready.__getitem__, inst.depends))
        if ready > cycle:
            return self._dependency(warp, inst, ready, cycle)
        kind = inst.kind
        if kind == LG:
            if len(self.sm.lsu.lg[self.number]) >= self.lg_depth:
                self.lg_waiters.append(warp)
                return LG_THROTTLE, UNKNOWN
        elif kind == MIO:
            if len(self.sm.lsu.mio[self.number]) >= self.mio_depth:
                self.mio_waiters.append(warp)
                return MIO_THROTTLE, UNKNOWN
        elif kind == COPY_WAIT:
            groups = warp.groups
            while groups and groups[0].pending == 0:
                groups.popleft()
            if len(groups) > inst.count:
                return LONG_SCOREBOARD, UNKNOWN
        free = self.pipe_free_tenths[inst.pipeline]
        if free > cycle * 10:
            return MATH_PIPE_THROTTLE, -(-free // 10)
        if self.dispatch_free > cycle:
            return DISPATCH_STALL, self.dispatch_free
        return ELIGIBLE, UNKNOWN

    @staticmethod
    def _dependency(warp: Warp, inst: Decoded, ready: int, cycle: int) -> tuple[int, int]:
        if ready >= LONG_PENDING:
            return LONG_SCOREBOARD, UNKNOWN
        if ready >= SHORT_PENDING:
            return SHORT_SCOREBOARD, UNKNOWN
        if warp.short:
            special = [
                warp.ready[register]
                for register in inst.depends
                if warp.ready[register] > cycle and warp.short.get(register) == warp.ready[register]
            ]
            if special:
                return SHORT_SCOREBOARD, max(special)
        return WAIT, ready

    def _pick(self, eligible: list[Warp]) -> Warp:
        """The scheduler's choice; keys are architectural (last issued, age, slot), never the order of the
        list.
        """
        if self.scheduler == "gto" and self.last in eligible:
            return self.last
        if self.scheduler == "lrr":
            return min(eligible, key=lambda warp: (warp.slot <= self.last_slot, warp.slot))
        return min(eligible, key=lambda warp: warp.age)
