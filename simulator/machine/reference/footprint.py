"""What a warp access touches: lines, sectors, whole sectors, and the data-port cycles, by the rules of
`hwmodels`.

Equal patterns recur millions of times in a kernel, so results are kept by (offsets, place in the line, mask,
width). The key says everything that the rules look at except the line number itself, on which only the tag
bank depends.
"""

from __future__ import annotations

from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES, coalesce, tag_cycles
from hwmodels.shared_memory import bank_cycles, contention
from hwmodels.write_coverage import full_sectors, lanes_in

Pattern = tuple[tuple[tuple[int, int, int, int], ...], int]
"""((line relative to the base's, sectors, whole sectors, lanes), ...), data passes."""


class Footprints:
    """The memo of one machine; a footprint depends on nothing that moves."""

    def __init__(self, gpu: Gpu) -> None:
        self.banks = gpu.shared_memory.banks
        self.bank_bytes = gpu.shared_memory.bank_bytes
        self.tag_banks = gpu.l1.tag_banks
        # A path for fewer than 32 lanes at once (GA102: 16) takes so many; conflicts hide in them.
        self.port_factor = max(1, self.banks * self.bank_bytes // gpu.l1.bytes_per_cycle)
        self.patterns: dict[tuple[tuple[int, ...], int, int, int], Pattern] = {}
        self.shared: dict[tuple[tuple[int, ...], int, int, int], int] = {}
        self.contended: dict[tuple[tuple[int, ...], int], int] = {}

    def lines(self, base: int, offsets: tuple[int, ...], mask: int, width: int) -> Pattern:
        """Lines relative to `base // 128`, ascending, and the data passes of the access."""
        place = base % LINE_BYTES
        key = (offsets, place, mask, width)
        found = self.patterns.get(key)
        if found is None:
            # Addresses are shifted to stay positive: only differences of lines matter.
            lift = LINE_BYTES * (1 - min(0, *offsets) // LINE_BYTES)
            addresses = [place + lift + offset for offset in offsets]
            lines, sectors = [0] * 128, [0] * 128
            count = coalesce(addresses, mask, width, lines, sectors)
            found = self.patterns[key] = (
                tuple(
                    (
                        lines[i] - lift // LINE_BYTES,
                        sectors[i],
                        full_sectors(addresses, mask, width, lines[i]),
                        lanes_in(addresses, mask, lines[i]),
                    )
                    for i in range(count)
                ),
                max(bank_cycles(addresses, mask, width, self.banks, self.bank_bytes), self.port_factor),
            )
        return found

    def tag_passes(self, lines: list[int]) -> int:
        """Cycles of the tag stage for these lines."""
        return tag_cycles(lines, len(lines), self.tag_banks) if len(lines) > 1 else len(lines)

    def shared_passes(self, base: int, offsets: tuple[int, ...], mask: int, width: int) -> int:
        """Data-port cycles of a shared-memory access."""
        place = base % (self.banks * self.bank_bytes)
        key = (offsets, place, mask, width)
        found = self.shared.get(key)
        if found is None:
            lift = self.banks * self.bank_bytes * (1 - min(0, *offsets))
            addresses = [place + lift + offset for offset in offsets]
            found = self.shared[key] = max(
                1, bank_cycles(addresses, mask, width, self.banks, self.bank_bytes)
            )
        return found

    def most_contended(self, offsets: tuple[int, ...], mask: int) -> int:
        """Most active lanes on one address."""
        key = (offsets, mask)
        found = self.contended.get(key)
        if found is None:
            lift = -min(0, *offsets)
            found = self.contended[key] = contention([lift + offset for offset in offsets], mask)
        return found
