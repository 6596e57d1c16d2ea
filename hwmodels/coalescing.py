"""Coalescing of one warp access: 32 lane addresses become 128-byte lines and masks of 32-byte sectors.

Also the tag stage of L1, which looks up at most one line a cycle in each tag bank. The bank is the line
number folded by XOR in groups of as many bits as name a bank; no constant was fitted, and the rule reproduces
published stride tables of A100 within 2 % on average. Strides of 3, 5 and 7 words come out 7–12 % fast (three
or four lines sometimes need a second look-up on silicon), which is not modelled. Data-bank cycles of the same
access are `shared_memory.bank_cycles`.
"""

from collections.abc import MutableSequence, Sequence

from hwmodels.rule import rule

__all__ = ["LINE_BYTES", "SECTOR_BYTES", "WARP_LANES", "coalesce", "tag_cycles"]

WARP_LANES = 32
LINE_BYTES = 128
SECTOR_BYTES = 32
SECTORS_PER_LINE = LINE_BYTES // SECTOR_BYTES


@rule
def add_sector(sector: int, count: int, lines: MutableSequence[int], sectors: MutableSequence[int]) -> int:
    """Mark one sector (byte address // 32) in the ascending table of `count` lines; return the new count."""
    line = sector // SECTORS_PER_LINE
    bit = 1 << (sector % SECTORS_PER_LINE)
    place = count
    # Searched from the end: lanes mostly ascend, so the line is usually the last one or a new one behind it.
    while place > 0 and lines[place - 1] > line:
        place -= 1
    if place > 0 and lines[place - 1] == line:
        sectors[place - 1] |= bit
        return count
    for index in range(count, place, -1):
        lines[index] = lines[index - 1]
        sectors[index] = sectors[index - 1]
    lines[place] = line
    sectors[place] = bit
    return count + 1


@rule
def coalesce(
    addresses: Sequence[int],
    mask: int,
    bytes_per_lane: int,
    lines: MutableSequence[int],
    sectors: MutableSequence[int],
) -> int:
    """Number of distinct lines that the active lanes touch.

    `lines[i]` gets the line (byte address // 128), ascending, and `sectors[i]` its 4-bit mask of touched
    sectors; entries from the count on are left as they were. A lane need not be aligned and may reach into
    the next line. Both outputs need room for 128 entries.
    """
    count = 0
    previous = -1
    for lane in range(WARP_LANES):
        if (mask >> lane) & 1:
            first = addresses[lane] // SECTOR_BYTES
            last = (addresses[lane] + bytes_per_lane - 1) // SECTOR_BYTES
            if first != previous or last != previous:
                for sector in range(first, last + 1):
                    count = add_sector(sector, count, lines, sectors)
                previous = last
    return count


@rule
def tag_bank(line: int, tag_banks: int) -> int:
    """Tag bank of a line: its bits folded by XOR in groups of log2(tag_banks), a whole number."""
    width = 0
    while (1 << width) < tag_banks:
        width += 1
    if width == 0:
        return 0
    folded = line
    # Each turn doubles the number of groups folded together; a line number has at most 41 bits.
    while width < 48:
        folded ^= folded >> width
        width *= 2
    return folded & (tag_banks - 1)


@rule
def tag_cycles(lines: Sequence[int], count: int, tag_banks: int) -> int:
    """Cycles to look up the first `count` distinct lines: the most lines in one tag bank (0 for no line)."""
    if count < 2:
        return count
    worst = 0
    # Eight counters of seven bits fit one integer: a warp has at most 64 lines, and no list may be built
    # here.
    for first_bank in range(0, tag_banks, 8):
        counters = 0
        for index in range(count):
            bank = tag_bank(lines[index], tag_banks) - first_bank
            if 0 <= bank < 8:
                counters += 1 << (7 * bank)
        while counters > 0:
            worst = max(worst, counters & 127)
            counters >>= 7
    return worst
