"""How a kernel's warps go through its program, as far as its instructions can say so themselves."""

from __future__ import annotations

from itertools import pairwise

from simulator.machine.program import Program
from simulator.trace.schema import KernelTrace


class Form:
    """How a kernel's warps go through its program."""

    def __init__(self, trace: KernelTrace, program: Program) -> None:
        self.recorded = trace.recording is not None
        steps, decoded = trace.flat().steps, program.decoded
        pairs = [] if self.recorded else pairwise(steps)
        self.plain = {
            static
            for static, following in pairs
            if 0 <= static == following - 1 and decoded[static].fetch_line == decoded[following].fetch_line
        }
        """Instructions behind which the next one of their line follows, without a mark between."""
