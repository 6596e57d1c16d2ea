"""Where a sector lies: from its index in a pseudo-channel to bank group, bank, row and column, and back.

A map is a text of fields, most significant first, as in ``row:bank:column:bankgroup``; a field may be cut
into bit ranges (``row:column[4:1]:bank:bankgroup:column[0]``). By default the row is XOR-folded onto the
bank, and the row without its lowest bit onto the bank group, so that equal strides do not meet in one bank;
the words ``plain`` (no fold) and ``rotate=N`` (the bank moves on by N with each row) after the fields change
that. The row is the most significant field and takes all bits above the others, so that every non-negative
sector has a place of its own. Which pseudo-channel a sector goes to is decided before, by :func:`split`. The
default order is that of the published comparison of maps: rotating the bank group first doubles the
bandwidth of a plain stream.
"""

import re
from dataclasses import dataclass

from hwmodels.coalescing import SECTORS_PER_LINE
from hwmodels.errors import InputError
from hwmodels.rule import rule

DEFAULT_MAP = "row:bank:column:bankgroup"
FIELDS = ("row", "bank", "bankgroup", "column")
_SEGMENT = re.compile(r"(row|bank|bankgroup|column)(?:\[(\d+)(?::(\d+))?\])?")


@rule
def split_pseudo_channel(local_sector: int, pseudo_channels: int) -> int:
    """Pseudo-channel of a sector: consecutive lines are dealt out in turn, each whole."""
    return local_sector // SECTORS_PER_LINE % pseudo_channels


@rule
def split_sector(local_sector: int, pseudo_channels: int) -> int:
    """Index of a sector inside its pseudo-channel."""
    line = local_sector // (SECTORS_PER_LINE * pseudo_channels)
    return line * SECTORS_PER_LINE + local_sector % SECTORS_PER_LINE


def split(local_sector: int, pseudo_channels: int) -> tuple[int, int]:
    """(pseudo-channel, sector inside it) of a sector that is local to a memory partition."""
    return split_pseudo_channel(local_sector, pseudo_channels), split_sector(local_sector, pseudo_channels)


def join(pseudo_channel: int, sector: int, pseudo_channels: int) -> int:
    """The exact inverse of :func:`split`."""
    line = sector // SECTORS_PER_LINE * pseudo_channels + pseudo_channel
    return line * SECTORS_PER_LINE + sector % SECTORS_PER_LINE


@rule
def fold(value: int, bits: int) -> int:
    """All bits of `value` XORed together in groups of `bits`; 0 bits fold to 0."""
    if bits == 0:
        return 0
    folded = 0
    while value > 0:
        folded ^= value & ((1 << bits) - 1)
        value >>= bits
    return folded


@rule
def hashed_bank(bank: int, row: int, bits: int, folds: int, rotation: int) -> int:
    """Bank index after folding the row onto it (`folds` 1) and moving it on by `rotation` a row."""
    if folds == 1:
        bank ^= fold(row, bits)
    return (bank + rotation * (row & 0xFFFF)) & ((1 << bits) - 1)


@rule
def unhashed_bank(bank: int, row: int, bits: int, folds: int, rotation: int) -> int:
    """The inverse of :func:`hashed_bank`."""
    bank = (bank - rotation * (row & 0xFFFF)) & ((1 << bits) - 1)
    if folds == 1:
        bank ^= fold(row, bits)
    return bank


@dataclass(frozen=True, slots=True)
class Place:
    """Coordinates of a sector in a pseudo-channel; `bank` counts inside its bank group."""

    bank_group: int
    bank: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of bits: `width` bits of `field` from its bit `low`, found at bit `shift` of the sector index."""

    field: str
    low: int
    width: int
    shift: int


@dataclass(frozen=True, slots=True)
class AddressMap:
    """A parsed map for one geometry. Build it with :func:`parse_map`."""

    segments: tuple[Segment, ...]
    bank_group_bits: int
    bank_bits: int
    column_bits: int
    folds: int
    rotation: int

    @property
    def column_mask(self) -> int:
        """Bits of a sector index that only choose the column: the others give bank and row."""
        return sum(((1 << s.width) - 1) << s.shift for s in self.segments if s.field == "column")

    def decode(self, sector: int) -> Place:
        """Where the sector lies."""
        raw = {"row": 0, "bank": 0, "bankgroup": 0, "column": 0}
        for segment in self.segments:
            bits = sector >> segment.shift
            if segment.width:
                bits &= (1 << segment.width) - 1
            raw[segment.field] |= bits << segment.low
        row = raw["row"]
        bank = hashed_bank(raw["bank"], row, self.bank_bits, self.folds, self.rotation)
        group = raw["bankgroup"] ^ (fold(row >> 1, self.bank_group_bits) * self.folds)
        return Place(group, bank, row, raw["column"])

    def encode(self, place: Place) -> int:
        """The sector at a place: the exact inverse of :meth:`decode`."""
        group = place.bank_group ^ (fold(place.row >> 1, self.bank_group_bits) * self.folds)
        bank = unhashed_bank(place.bank, place.row, self.bank_bits, self.folds, self.rotation)
        values = {"row": place.row, "bank": bank, "bankgroup": group, "column": place.column}
        sector = 0
        for segment in self.segments:
            bits = values[segment.field] >> segment.low
            if segment.width:
                bits &= (1 << segment.width) - 1
            sector |= bits << segment.shift
        return sector


def parse_map(
    text: str, bank_groups: int, banks_per_group: int, rows: int, sectors_per_row: int
) -> AddressMap:
    """An address map for a geometry of powers of two; :class:`InputError` when the text does not fit it."""
    sizes = {"row": rows, "bank": banks_per_group, "bankgroup": bank_groups, "column": sectors_per_row}
    for field, size in sizes.items():
        if size < 1 or size & (size - 1):
            raise InputError("dram geometry", f"{size} {field}s is not a power of two", "use a power of two")
    widths = {field: size.bit_length() - 1 for field, size in sizes.items()}
    order, *options = text.split() or [""]
    folds, rotation = _options(text, options)
    segments: list[Segment] = []
    shift = 0
    for part in reversed(order.split(":") if "[" not in order else _cut(order)):
        match = _SEGMENT.fullmatch(part)
        if match is None:
            raise _refusal(text, f"'{part}' is not a field", "use row, bank, bankgroup and column")
        field = match[1]
        high = int(match[2]) if match[2] else widths[field] - 1
        low = int(match[3]) if match[3] else (high if match[2] else 0)
        if low > high + 1 or high >= max(widths[field], 1):
            raise _refusal(text, f"'{part}' has no such bits", f"{field} has {widths[field]} bits here")
        segments.append(Segment(field, low, high - low + 1, shift))
        shift += high - low + 1
    _check_cover(text, segments, widths)
    top = segments[-1]
    segments[-1] = Segment(top.field, top.low, 0, top.shift)
    # A field of one value has no bits: a width of 0 means "all bits above", so such segments are left out.
    kept = (*(s for s in segments[:-1] if s.width), segments[-1])
    return AddressMap(kept, widths["bankgroup"], widths["bank"], widths["column"], folds, rotation)


def _cut(order: str) -> list[str]:
    """Parts of an order whose bit ranges also hold colons."""
    return re.split(r":(?![^\[]*\])", order)


def _options(text: str, options: list[str]) -> tuple[int, int]:
    folds, rotation = 1, 0
    for option in options:
        if option == "plain":
            folds = 0
        elif match := re.fullmatch(r"rotate=(\d{1,4})", option):
            rotation = int(match[1])
        else:
            raise _refusal(text, f"'{option}' is not an option", "use plain or rotate=N")
    return folds, rotation


def _check_cover(text: str, segments: list[Segment], widths: dict[str, int]) -> None:
    if segments[-1].field != "row" or segments[-1].low + segments[-1].width != widths["row"]:
        raise _refusal(text, "the top bits are not the row's", "begin the map with row")
    for field, width in widths.items():
        bits = sorted(b for s in segments if s.field == field for b in range(s.low, s.low + s.width))
        if bits != list(range(width)):
            raise _refusal(text, f"{field} needs its {width} bits exactly once", f"give {field} once, whole")


def _refusal(text: str, problem: str, remedy: str) -> InputError:
    return InputError(f"dram.address_map '{text}'", problem, remedy)
