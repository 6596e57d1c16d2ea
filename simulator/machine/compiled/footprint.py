"""What a warp access touches: lines, sectors, whole sectors, and the data-port cycles, by the rules of
`hwmodels`.

Equal patterns recur millions of times in a kernel, so results are kept in small tables by (pattern, place,
mask, width); a result that finds its place taken replaces what stood there. Offsets that are no kept pattern
are worked out each time.
"""

from __future__ import annotations

from typing import Any

from hwmodels.coalescing import LINE_BYTES, coalesce, tag_cycles
from hwmodels.shared_memory import bank_cycles, contention
from hwmodels.write_coverage import full_sectors, lanes_in
from simulator.machine.compiled.expression import OWN_OFFSETS
from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout_sm import LANES, MOST_KEPT_LINES, footprint_at, pattern_at, shared_at

KEPT = 8192
"""Places of each table, a power of two."""


@inlined
def _place_of(pattern: int, place: int, mask: int, width: int) -> int:
    mixed = pattern * 0x9E3779B1 ^ place * 0x85EBCA6B ^ mask * 0x27D4EB2F ^ width * 0x165667B1
    return (mixed ^ mixed >> 29) & (KEPT - 1)


@compiled
def _spread(m: Any, own: Any, request: Any, place: int, unit: int, whole: int) -> int:
    """Fill the SM's addresses, shifted by units to stay positive; returns the shift."""
    lowest = 0
    offsets = request.offsets
    if request.pattern != OWN_OFFSETS:
        offsets = pattern_at(m.patterns, request.pattern).offsets
    for lane in range(LANES):
        lowest = min(lowest, offsets[lane])
    lift = unit * (1 - (lowest if whole else lowest // unit))
    for lane in range(LANES):
        own.addresses[lane] = place + lift + offsets[lane]
    return lift


@compiled
def _work_out(m: Any, own: Any, request: Any, width: int) -> int:
    """Lines, sectors and lanes of an access into the SM's record; returns its data passes."""
    place = request.first_byte % LINE_BYTES
    lift = _spread(m, own, request, place, LINE_BYTES, 0)
    mask = request.mask
    own.count = coalesce(own.addresses, mask, width, own.lines, own.sectors)
    for index in range(own.count):
        own.full[index] = full_sectors(own.addresses, mask, width, own.lines[index])
        own.lanes[index] = lanes_in(own.addresses, mask, own.lines[index])
    for index in range(own.count):
        own.lines[index] += request.first_byte // LINE_BYTES - lift // LINE_BYTES
    passes = bank_cycles(own.addresses, mask, width, m.smem_banks, m.smem_bank_bytes)
    return max(passes, m.port_factor)


@compiled
def find_lines(m: Any, own: Any, request: Any, width: int) -> int:
    """Lines of an access, ascending, into the SM's record; returns the data passes."""
    place = request.first_byte % LINE_BYTES
    kept = footprint_at(m.footprints, _place_of(request.pattern, place, request.mask, width))
    first = request.first_byte // LINE_BYTES
    if (
        request.pattern != OWN_OFFSETS
        and kept.pattern == request.pattern
        and kept.place == place
        and kept.mask == request.mask
        and kept.width == width
    ):
        own.count = kept.count
        for index in range(own.count):
            own.lines[index] = first + kept.lines[index]
            own.sectors[index] = kept.sectors[index]
            own.full[index] = kept.full[index]
            own.lanes[index] = kept.lanes[index]
        return kept.data_passes
    data = _work_out(m, own, request, width)
    if request.pattern != OWN_OFFSETS and own.count <= MOST_KEPT_LINES:
        kept.pattern = request.pattern
        kept.place = place
        kept.mask = request.mask
        kept.width = width
        kept.count = own.count
        kept.data_passes = data
        for index in range(own.count):
            kept.lines[index] = own.lines[index] - first
            kept.sectors[index] = own.sectors[index]
            kept.full[index] = own.full[index]
            kept.lanes[index] = own.lanes[index]
    return data


@inlined
def tag_passes(m: Any, own: Any) -> int:
    """Cycles of the tag stage for the lines in the SM's record."""
    return tag_cycles(own.lines, own.count, m.tag_banks) if own.count > 1 else own.count


@compiled
def shared_passes(m: Any, own: Any, request: Any, width: int) -> Any:
    """The record of a shared-memory access: its data-port cycles and its most contended address."""
    size = m.smem_banks * m.smem_bank_bytes
    place = request.first_byte % size
    kept = shared_at(m.shared_footprints, _place_of(request.pattern, place, request.mask, width))
    if (
        request.pattern == OWN_OFFSETS
        or kept.pattern != request.pattern
        or kept.place != place
        or kept.mask != request.mask
        or kept.width != width
    ):
        _spread(m, own, request, place, size, 1)
        kept.pattern = request.pattern
        kept.place = place
        kept.mask = request.mask
        kept.width = width
        kept.passes = max(1, bank_cycles(own.addresses, request.mask, width, m.smem_banks, m.smem_bank_bytes))
        kept.most = contention(own.addresses, request.mask)
    return kept
