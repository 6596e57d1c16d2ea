"""Instruction supply of an SM: an L0 cache a sub-core, one instruction cache behind them, and the fill from
L2.

Lines of 128 bytes, LRU. A warp asks only when its next instruction lies in another line than the last one;
entering a line starts the fill of the next, so straight-line code waits only where the fill takes longer than
the line's issue. Fills from L2 have a fixed latency and take no crossbar or L2 bandwidth. Constants are
assumed resident.
"""

from __future__ import annotations

from hwmodels import Gpu

Key = tuple[int, int]
"""(kernel, line of its program)."""


class InstructionCache:
    """One cache: lines with the cycle at which they are there, least recently used first."""

    def __init__(self, lines: int) -> None:
        self.capacity = lines
        self.lines: dict[Key, int] = {}

    def find(self, key: Key) -> int | None:
        """The cycle at which the line is there, or None; it becomes the most recently used."""
        ready = self.lines.pop(key, None)
        if ready is not None:
            self.lines[key] = ready
        return ready

    def fill(self, key: Key, ready: int) -> None:
        """Take a line in, at the cost of the least recently used one."""
        if len(self.lines) >= self.capacity:
            del self.lines[next(iter(self.lines))]
        self.lines[key] = ready


class Fetch:
    """The instruction supply of one SM."""

    def __init__(self, gpu: Gpu, program_lines: list[int]) -> None:
        sm = gpu.sm
        self.program_lines = program_lines
        self.l0_latency = sm.l0_miss_latency_cycles
        self.l1_latency = sm.l1_instruction_miss_latency_cycles
        self.l1 = InstructionCache(sm.l1_instruction_kib * 1024 // sm.fetch_line_bytes)
        self.l0 = [
            InstructionCache(sm.l0_instruction_kib * 1024 // sm.fetch_line_bytes) for _ in range(sm.sub_cores)
        ]

    def line(self, sub_core: int, kernel: int, line: int, cycle: int) -> tuple[int, bool]:
        """(cycle at which a warp of this sub-core has the line, whether the sub-core had it), and start the
        next line.
        """
        ready = self.l0[sub_core].find((kernel, line))
        held = ready is not None
        if ready is None:
            ready = self._fill(sub_core, (kernel, line), cycle)
        if line + 1 < self.program_lines[kernel] and self.l0[sub_core].find((kernel, line + 1)) is None:
            self._fill(sub_core, (kernel, line + 1), cycle)
        return max(ready, cycle), held

    def _fill(self, sub_core: int, key: Key, cycle: int) -> int:
        behind = self.l1.find(key)
        if behind is None:
            behind = cycle + self.l1_latency
            self.l1.fill(key, behind)
        ready = max(behind, cycle) + self.l0_latency
        self.l0[sub_core].fill(key, ready)
        return ready
