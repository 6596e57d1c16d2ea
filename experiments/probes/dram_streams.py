"""The synthetic request streams for a DRAM channel by itself: what they touch and in which order.

Each stream is an endless sequence of (write, pseudo-channel, sector) over one channel. Sequential ones deal
consecutive sectors over the pseudo-channels; copy reads at 0 and writes half the capacity away, triad keeps
its three arrays a quarter apart; `runs` has several runs of consecutive sectors of each array in flight, as
the blocks of a kernel have. Bank patterns aim at coordinates through the address map. No time is modelled
here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from hwmodels.dram.address_map import AddressMap, Place
from hwmodels.errors import unknown

Access = tuple[bool, int, int]
"""(write?, pseudo-channel, sector inside it)."""


@dataclass(frozen=True, slots=True)
class Space:
    """The channel that a stream runs over."""

    map: AddressMap
    pseudo_channels: int
    rows: int
    seed: int

    @property
    def sectors(self) -> int:
        """Sectors of a pseudo-channel."""
        bits = self.map.column_bits + self.map.bank_bits + self.map.bank_group_bits
        return self.rows << bits

    @property
    def banks(self) -> int:
        """Banks of a pseudo-channel."""
        return 1 << (self.map.bank_bits + self.map.bank_group_bits)

    def at(self, index: int) -> tuple[int, int]:
        """Pseudo-channel and sector of a sector of the channel."""
        index %= self.sectors * self.pseudo_channels
        return index % self.pseudo_channels, index // self.pseudo_channels

    def place(self, bank_group: int, bank: int, row: int, column: int) -> int:
        """The sector at a place, coordinates taken modulo the geometry."""
        banks, groups = 1 << self.map.bank_bits, 1 << self.map.bank_group_bits
        columns = 1 << self.map.column_bits
        return self.map.encode(Place(bank_group % groups, bank % banks, row % self.rows, column % columns))


def _sequential(write: bool) -> Callable[[Space], Iterator[Access]]:
    def stream(space: Space) -> Iterator[Access]:
        index = 0
        while True:
            yield (write, *space.at(index))
            index += 1

    return stream


def _arrays(pattern: str, group: int, shift_banks: int = 0) -> Callable[[Space], Iterator[Access]]:
    """Arrays in step: `pattern` has R or W for each array, `group` accesses of one array come together."""

    def stream(space: Space) -> Iterator[Access]:
        total = space.sectors * space.pseudo_channels
        apart = total // 2 if len(pattern) == 2 else total // 4
        shift = shift_banks * space.pseudo_channels << (space.map.column_bits + space.map.bank_group_bits)
        start = 0
        while True:
            for array, kind in enumerate(pattern):
                base = array * apart + (shift if kind == "W" else 0)
                for offset in range(group):
                    yield (kind == "W", *space.at(base + start + offset))
            start += group

    return stream


def _runs(pattern: str, runs: int = 8, length: int = 32) -> Callable[[Space], Iterator[Access]]:
    """In each pseudo-channel `runs` runs of `length` sectors of each array in flight, in random turns."""

    def stream(space: Space) -> Iterator[Access]:
        random = Random(space.seed)
        apart = space.sectors // max(len(pattern), 2)
        slots = []
        for pc in range(space.pseudo_channels):
            for array in range(len(pattern)):
                slots += [[pc, array, run * length, 0] for run in range(runs)]
        fresh = [[runs * length] * len(pattern) for _ in range(space.pseudo_channels)]
        while True:
            slot = slots[random.randrange(len(slots))]
            pc, array, base, done = slot
            yield pattern[array] == "W", pc, (array * apart + base + done) % space.sectors
            slot[3] += 1
            if slot[3] == length:
                slot[2:] = [fresh[pc][array], 0]
                fresh[pc][array] += length

    return stream


def _random(writes: int, of: int) -> Callable[[Space], Iterator[Access]]:
    def stream(space: Space) -> Iterator[Access]:
        random = Random(space.seed)
        while True:
            pc = random.randrange(space.pseudo_channels)
            yield random.randrange(of) < writes, pc, random.randrange(space.sectors)

    return stream


def _mix(writes: int, of: int) -> Callable[[Space], Iterator[Access]]:
    def stream(space: Space) -> Iterator[Access]:
        random = Random(space.seed)
        index = 0
        while True:
            yield (random.randrange(of) < writes, *space.at(index))
            index += 1

    return stream


def _banks(
    place: Callable[[int, Space], tuple[int, int, int, int]], every_pc: bool
) -> Callable[[Space], Iterator[Access]]:
    def stream(space: Space) -> Iterator[Access]:
        index = 0
        while True:
            for pc in range(space.pseudo_channels if every_pc else 1):
                yield False, pc, space.place(*place(index, space))
            index += 1

    return stream


def _anywhere(space: Space) -> Iterator[Access]:
    """A random row of a random bank, first column, one after the other."""
    random = Random(space.seed)
    groups, banks = 1 << space.map.bank_group_bits, 1 << space.map.bank_bits
    while True:
        place = space.place(
            random.randrange(groups), random.randrange(banks), random.randrange(space.rows), 0
        )
        yield False, random.randrange(space.pseudo_channels), place


def _first_pc(space: Space) -> Iterator[Access]:
    """Consecutive sectors of the first pseudo-channel alone."""
    index = 0
    while True:
        yield False, 0, index % space.sectors
        index += 1


def _split(index: int, space: Space) -> tuple[int, int]:
    """Bank group and bank, groups first, of the index-th bank in turn."""
    groups = 1 << space.map.bank_group_bits
    return index % groups, index // groups % (1 << space.map.bank_bits)


STREAMS: dict[str, Callable[[Space], Iterator[Access]]] = {
    "sequential read": _sequential(False),
    "sequential write": _sequential(True),
    "copy 1R:1W (1-access interleave)": _arrays("RW", 1),
    "copy 1R:1W (16-access groups)": _arrays("RW", 16),
    "copy 1R:1W (1-access interleave) shifted": _arrays("RW", 1, 2),
    "copy 1R:1W (16-access groups) shifted": _arrays("RW", 16, 2),
    "triad 2R:1W": _arrays("RRW", 1),
    "triad 2R:1W shifted": _arrays("RRW", 1, 2),
    "random read": _random(0, 1),
    "random read/write 50/50": _random(1, 2),
    "random read/write 2R:1W": _random(1, 3),
    "sequential mix 2R:1W": _mix(1, 3),
    "pointer chase random row+bank": _anywhere,
    "sequential read one PC only": _first_pc,
    "pointer chase row-hit": _banks(lambda i, _: (0, 0, 0, i), False),
    "pointer chase same-bank row-conflict": _banks(lambda i, _: (0, 0, i, 0), False),
    "one bank row-hit": _banks(lambda i, _: (0, 0, 0, i), False),
    "one bank new row each access": _banks(lambda i, _: (0, 0, i, 0), False),
    "one bank-group row-hit (4 banks)": _banks(lambda i, _: (0, i % 4, 0, i // 4), False),
    "one bank-group new row each access": _banks(lambda i, _: (0, i % 4, i // 4, 0), False),
    "rotate bank-groups row-hit (one PC)": _banks(lambda i, _: (i, 0, 0, i // 4), False),
    "all banks new row each access": _banks(lambda i, s: (*_split(i, s), i // s.banks, 0), True),
    "runs read": _runs("R"),
    "runs write": _runs("W"),
    "runs copy 1R:1W": _runs("RW"),
    "runs 3R:1W": _runs("RRRW"),
}


def stream_of(name: str) -> Callable[[Space], Iterator[Access]]:
    """The stream of a name; raises :class:`InputError` with the nearest valid one."""
    if name not in STREAMS:
        raise unknown("DRAM stream", "stream", name, STREAMS)
    return STREAMS[name]
