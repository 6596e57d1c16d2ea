"""Which virtual registers hold a value that is still needed, at every point of a kernel program.

Backward data flow over the structured program, a word at a time, so that filling a quad word by word starts
its life at the first word and a predicated write keeps the old value alive. A loop's body sees what its next
turn needs. What no path has written yet is not live. The result feeds the allocator and the report of
register pressure.
"""

from dataclasses import dataclass

from simulator.workload.ir import Body, Effect, Op, Part, Repeat, Virtual

WORDS = 4


@dataclass(frozen=True, slots=True)
class Interval:
    """First and last half-step of a group's life: operation p reads at 2 p and writes at 2 p + 1."""

    virtual: Virtual
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """Live words before and after each operation (as bit masks over 4 * virtual + word), in program order,
    with the number of loops around each; `loops` are the (first, last) places of each loop, inner ones
    first.
    """

    ops: tuple[Op, ...]
    depths: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    loops: tuple[tuple[int, int], ...]
    virtuals: dict[int, Virtual]

    def intervals(self) -> list[Interval]:
        """One interval for each virtual register, by start: from its first to its last mention, stretched
        over every loop that it enters alive, since the next turn needs it too.
        """
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for place, op in enumerate(self.ops):
            for part in op.reads:
                first.setdefault(part.virtual.number, 2 * place)
                last[part.virtual.number] = 2 * place
            for part in op.dst:
                first.setdefault(part.virtual.number, 2 * place + 1)
                last[part.virtual.number] = 2 * place + 1
        for begin, end in self.loops:
            for number in touched(self.before[begin]):
                first[number] = min(first[number], 2 * begin)
                last[number] = max(last[number], 2 * end + 1)
        found = [Interval(self.virtuals[number], first[number], last[number]) for number in first]
        return sorted(found, key=lambda interval: (interval.start, interval.virtual.number))

    def pressure(self) -> list[int]:
        """General-register words that live after each operation, groups counted by their live words."""
        general = sum(mask_of(number) for number, virtual in self.virtuals.items() if not virtual.predicate)
        return [(live & general).bit_count() for live in self.after]

    def peak(self) -> tuple[int, int, tuple[str, ...]]:
        """(words, place, names of what lives there) where the pressure is highest."""
        words = self.pressure()
        place = max(range(len(words)), key=words.__getitem__)
        names = sorted({self.virtuals[number].name or "temporary" for number in touched(self.after[place])})
        return words[place], place, tuple(names)

    def words_at(self, place: int) -> dict[str, int]:
        """What lives after an operation: general-register words by name, the most first."""
        found: dict[str, int] = {}
        for number in touched(self.after[place]):
            virtual = self.virtuals[number]
            if not virtual.predicate:
                words = (self.after[place] & mask_of(number)).bit_count()
                found[virtual.name or "temporary"] = found.get(virtual.name or "temporary", 0) + words
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def analyse(body: Body) -> Liveness:
    """The liveness of a program; nothing is live at its end."""
    ops: list[Op] = []
    depths: list[int] = []
    loops: list[tuple[int, int]] = []
    flatten(body, 0, ops, depths, loops)
    before, after = [0] * len(ops), [0] * len(ops)
    backward(body, 0, 0, before, after)
    forward(body, 0, 0, before, after)
    virtuals = {part.virtual.number: part.virtual for op in ops for part in (*op.dst, *op.reads)}
    return Liveness(tuple(ops), tuple(depths), tuple(before), tuple(after), tuple(loops), virtuals)


def flatten(body: Body, depth: int, ops: list[Op], depths: list[int], loops: list[tuple[int, int]]) -> None:
    """Program order, with loop depths and extents."""
    for item in body:
        if isinstance(item, Repeat):
            begin = len(ops)
            flatten(item.body, depth + (not item.only), ops, depths, loops)
            if not item.only:
                loops.append((begin, len(ops) - 1))
        else:
            ops.append(item)
            depths.append(depth)


def backward(body: Body, start: int, live: int, before: list[int], after: list[int]) -> int:
    """Fill `before` and `after` for a body that starts at `start`; returns what is live at its entry."""
    ends = []
    place = start
    for item in body:
        ends.append(place)
        place += size(item)
    for item, begin in zip(reversed(body), reversed(ends), strict=True):
        if isinstance(item, Repeat):
            entry = backward(item.body, begin, live, before, after)
            # A second pass is enough: what a turn needs does not depend on how often it was passed on.
            entry = backward(item.body, begin, live | entry, before, after)
            live = entry | live if item.only else entry
        else:
            if item.effect is Effect.EXIT and item.when is None:
                live = 0
            after[begin] = live
            if item.writes_all_lanes:
                for part in item.dst:
                    live &= ~bits(part)
            for part in item.reads:
                live |= bits(part)
            if not item.writes_all_lanes:
                for part in item.dst:
                    live |= bits(part)
            before[begin] = live
    return live


def forward(body: Body, start: int, known: int, before: list[int], after: list[int]) -> int:
    """Take out what no path can have written yet: a predicated first write has no old value to keep.

    Returns what may be written at the end.
    """
    place = start
    for item in body:
        if isinstance(item, Repeat):
            known |= written(item.body)
            forward(item.body, place, known, before, after)
        else:
            before[place] &= known
            known |= written((item,))
            after[place] &= known
        place += size(item)
    return known


def written(body: Body) -> int:
    """The words that a body may write."""
    mask = 0
    for item in body:
        if isinstance(item, Repeat):
            mask |= written(item.body)
        else:
            for part in item.dst:
                mask |= bits(part)
    return mask


def size(item: Op | Repeat) -> int:
    """Static operations in an item."""
    return 1 if isinstance(item, Op) else sum(size(inner) for inner in item.body)


def bits(part: Part) -> int:
    """The words of a part in a mask."""
    return ((1 << part.words) - 1) << (WORDS * part.virtual.number + part.first)


def mask_of(number: int) -> int:
    """All words of a virtual register in a mask."""
    return 0xF << (WORDS * number)


def touched(mask: int) -> list[int]:
    """Numbers of the virtual registers that have a bit in the mask."""
    found = []
    while mask:
        number = ((mask & -mask).bit_length() - 1) // WORDS
        found.append(number)
        mask &= ~mask_of(number)
    return found
