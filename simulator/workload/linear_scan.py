"""Linear scan over live intervals: one pass that places every virtual register or says which to spill.

Groups stand at multiples of their size. R1 is the stack pointer and never given out. Where no place is free,
the aligned window whose holders are cheapest to give up is cleared: values that can be computed again before
any that must be spilled, then by words moved with loops counted tenfold, and among equals by furthest next
use.
"""

from collections.abc import Iterator

from hwmodels.errors import InputError
from simulator.trace.schema import FIRST_PREDICATE, PREDICATES
from simulator.workload.ir import Virtual
from simulator.workload.liveness import Interval, Liveness
from simulator.workload.rematerialise import Recipe, recipes
from simulator.workload.spill import Spills

STACK_POINTER = 1
QUAD = 4
FOREVER = 1 << 62
SPILL = 10**12
"""Weight of a spilled word against a recomputed one: greater than any program's count of the latter."""


class RegisterFile:
    """Who holds which register of a thread while the scan goes on."""

    def __init__(self, limit: int) -> None:
        self.owners: list[Interval | None] = [None] * limit
        self.owners[STACK_POINTER] = Interval(Virtual(-1, 1, "stack pointer"), 0, FOREVER)
        self.predicates: list[Interval | None] = [None] * PREDICATES
        self.places: dict[int, int] = {}

    def free_until(self, start: int) -> None:
        """Give back what died before half-step `start`."""
        for row in (self.owners, self.predicates):
            for place, owner in enumerate(row):
                if owner is not None and owner.end < start:
                    row[place] = None

    def take(self, interval: Interval, place: int) -> None:
        """Put a register group at a free place."""
        words = interval.virtual.words
        self.owners[place : place + words] = [interval] * words
        self.places[interval.virtual.number] = place

    def take_predicate(self, interval: Interval) -> None:
        """Put a predicate at the first free place."""
        if None not in self.predicates:
            raise InputError("kernel", "more than seven predicates live at once", "combine conditions")
        place = self.predicates.index(None)
        self.predicates[place] = interval
        self.places[interval.virtual.number] = FIRST_PREDICATE + place

    def drop(self, interval: Interval) -> None:
        """Take a group's registers away before its end."""
        self.owners = [None if owner is interval else owner for owner in self.owners]

    def windows(self, words: int) -> Iterator[tuple[int, list[Interval]]]:
        """Every aligned place for so many words, with who is in the way."""
        for place in range(0, len(self.owners) - words + 1, words):
            if not place <= STACK_POINTER < place + words:
                row = self.owners[place : place + words]
                yield place, list(dict.fromkeys(owner for owner in row if owner is not None))

    def best_fit(self, words: int) -> int | None:
        """The aligned free place in the fullest quad, lowest on ties: scalars fill gaps, quads stay whole."""
        best, fullest = None, -1
        for quad in range(0, len(self.owners), QUAD):
            row = self.owners[quad : quad + QUAD]
            held = len(row) - row.count(None)
            if held > fullest and len(row) - held >= words:
                for step in range(0, len(row) - words + 1, words):
                    if row[step : step + words].count(None) == words:
                        best, fullest = quad + step, held
                        break
        return best


def scan(
    liveness: Liveness, limit: int, spills: Spills
) -> tuple[dict[int, int], list[Virtual], dict[int, Recipe]]:
    """One pass over registers 0 … limit - 1: (places, what has to leave its register before the next pass,
    recipes of those that can be computed again).
    """
    file = RegisterFile(limit)
    failed: list[Virtual] = []
    cheap: dict[int, Recipe] = {}
    weights: dict[int, int] = {}
    intervals = liveness.intervals()
    for interval in intervals:
        file.free_until(interval.start)
        if interval.virtual.predicate:
            file.take_predicate(interval)
            continue
        place = file.best_fit(interval.virtual.words)
        if place is None:
            if not weights:
                by_number = {one.virtual.number: one for one in intervals}
                cheap = recipes(liveness, by_number, spills.temporaries)
                weights = costs(liveness, cheap)
            place, losers = cheapest(file, interval, weights, liveness, spills)
            failed += [loser.virtual for loser in losers]
            for loser in losers:
                file.drop(loser)
        if place >= 0:
            file.take(interval, place)
    return file.places, failed, cheap


def costs(liveness: Liveness, cheap: dict[int, Recipe]) -> dict[int, int]:
    """Words to load and store if a virtual register were spilled, or to compute again where it is cheap, a
    loop counting ten times.
    """
    found: dict[int, int] = {}
    for op, depth in zip(liveness.ops, liveness.depths, strict=True):
        for part in (*op.dst, *op.reads):
            number = part.virtual.number
            weight = part.words * 10**depth * (1 if number in cheap else SPILL)
            found[number] = found.get(number, 0) + weight
    return found


def cheapest(
    file: RegisterFile, new: Interval, weights: dict[int, int], liveness: Liveness, spills: Spills
) -> tuple[int, list[Interval]]:
    """(place, whom to give up for it): the aligned place whose holders cost least, or the newcomer itself
    (place -1); among equals the one whose next use is furthest. A short-lived one is never given up.
    """
    choices = [*file.windows(new.virtual.words), (-1, [new])]
    open_choices = [
        (place, losers)
        for place, losers in choices
        if not any(loser.virtual.number in spills.temporaries for loser in losers)
    ]
    if not open_choices:
        raise InputError("registers.cap", "too few registers for one operation", "raise the cap")

    prices = [sum(weights[loser.virtual.number] for loser in losers) for _, losers in open_choices]
    equal = [choice for choice, price in zip(open_choices, prices, strict=True) if price == min(prices)]
    return max(
        equal,
        key=lambda choice: (min(next_use(liveness, loser, new.start) for loser in choice[1]), -choice[0]),
    )


def next_use(liveness: Liveness, interval: Interval, start: int) -> int:
    """The first place after half-step `start` that mentions a register; the program's end where none does."""
    for place in range(start // 2 + 1, interval.end // 2 + 1):
        op = liveness.ops[place]
        if any(part.virtual.number == interval.virtual.number for part in (*op.dst, *op.reads)):
            return place
    return len(liveness.ops)
