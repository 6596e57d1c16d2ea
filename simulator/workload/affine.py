"""Integer index arithmetic that keeps its closed form: what a register of index arithmetic holds, as a sum of
quotients and remainders of block, warp, lane and loop counters.

The trace's expressions allow one quotient and one remainder a term. The rules here bring tile arithmetic into
that form exactly, by divisibility and by the ranges of the variables, and refuse what has no such form. They
do not search: a layout whose indices need nested remainders has to be laid out otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from hwmodels.errors import InputError
from simulator.trace.expression import Expression, Term, Variable


@dataclass(frozen=True, slots=True)
class Atom:
    """`((sum of factor * variable + offset) // divisor) % modulus`, modulus 0 meaning none; `limits` bound
    each variable: 0 <= variable < limit.
    """

    factors: tuple[tuple[Variable, int], ...]
    limits: tuple[int, ...]
    offset: int = 0
    divisor: int = 1
    modulus: int = 0

    @property
    def plain(self) -> bool:
        """Whether the atom is an affine sum: no quotient, no remainder."""
        return self.divisor == 1 and self.modulus == 0

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value."""
        low = high = self.offset
        for (_, factor), limit in zip(self.factors, self.limits, strict=True):
            low += min(0, factor * (limit - 1))
            high += max(0, factor * (limit - 1))
        low, high = low // self.divisor, high // self.divisor
        if self.modulus and (low < 0 or high >= self.modulus):
            return 0, self.modulus - 1
        return low, high


@dataclass(frozen=True, slots=True)
class Index:
    """A constant plus `coefficient * atom` for each atom; immutable, with exact +, -, *, //, %."""

    constant: int = 0
    parts: tuple[tuple[Atom, int], ...] = ()

    def __add__(self, other: "Index | int") -> "Index":
        right = as_index(other)
        return collected(self.constant + right.constant, self.parts + right.parts)

    __radd__ = __add__

    def __sub__(self, other: "Index | int") -> "Index":
        return self + as_index(other) * -1

    def __mul__(self, factor: int) -> "Index":
        return collected(self.constant * factor, ((atom, part * factor) for atom, part in self.parts))

    __rmul__ = __mul__

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value that interval arithmetic allows."""
        low = high = self.constant
        for atom, part in self.parts:
            ends = [part * end for end in atom.bounds()]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __floordiv__(self, divisor: int) -> "Index":
        whole, remains = self.split(divisor)
        low, high = remains.bounds()
        if low // divisor == high // divisor:
            return whole + low // divisor
        coarse, _ = remains.coarsened(divisor)
        common, atom = coarse.joined(divisor)
        divisor //= common
        if atom is None or (atom.modulus and atom.modulus % divisor):
            raise formless(f"({coarse}) // {divisor}")
        modulus = atom.modulus // divisor
        return whole + single(Atom(atom.factors, atom.limits, atom.offset, atom.divisor * divisor, modulus))

    def __mod__(self, modulus: int) -> "Index":
        _, remains = self.split(modulus)
        low, high = remains.bounds()
        if low // modulus == high // modulus:
            return remains - low // modulus * modulus
        coarse, fine = remains.coarsened(modulus)
        scale, atom = coarse.joined(modulus)
        if atom is None or (atom.modulus and atom.modulus % (modulus // scale)):
            raise formless(f"({coarse}) % {modulus}")
        inner = Atom(atom.factors, atom.limits, atom.offset, atom.divisor, modulus // scale)
        return single(inner) * scale + fine

    def split(self, divisor: int) -> tuple["Index", "Index"]:
        """(quotient of what divides evenly, the rest): self = divisor * quotient + rest."""
        if divisor < 1:
            raise InputError("index", f"cannot divide by {divisor}", "divide by a positive integer")
        even = [(atom, part // divisor) for atom, part in self.parts if part % divisor == 0]
        odd = tuple((atom, part) for atom, part in self.parts if part % divisor)
        return collected(self.constant // divisor, even), Index(self.constant % divisor, odd)

    def coarsened(self, divisor: int) -> tuple["Index", "Index"]:
        """Split into multiples of some g that divides `divisor`, and a fine part that stays within [0, g):
        the fine part changes no quotient.
        """
        ordered = sorted(self.parts, key=lambda item: -abs(item[1]))
        for count in range(1, len(ordered) + 1):
            step = divisor
            for _, part in ordered[:count]:
                step = gcd(step, part)
            fine = Index(self.constant % step, tuple(ordered[count:]))
            low, high = fine.bounds()
            if step > 1 and low >= 0 and high < step:
                return Index(self.constant - self.constant % step, tuple(ordered[:count])), fine
        return self, Index()

    def joined(self, divisor: int) -> tuple[int, Atom | None]:
        """`scale * atom` equal to this index, where scale divides `divisor`; None as the atom where the sum
        has no such form.

        Uses X // a + n = (X + a * n) // a for integers n.
        """
        scale = gcd(divisor, self.constant, *(part for _, part in self.parts))
        curved = [(atom, part // scale) for atom, part in self.parts if not atom.plain]
        plain = [(atom, part // scale) for atom, part in self.parts if atom.plain]
        if not curved:
            return scale, merged(plain, self.constant // scale)
        core, weight = curved[0]
        if len(curved) > 1 or weight != 1:
            return scale, None
        if core.modulus:
            return scale, core if not plain and self.constant == 0 else None
        inside = [(atom, part * core.divisor) for atom, part in plain]
        inside.append((Atom(core.factors, core.limits), 1))
        affine = merged(inside, core.offset + self.constant // scale * core.divisor)
        return scale, Atom(affine.factors, affine.limits, affine.offset, core.divisor)

    def expression(self) -> Expression:
        """The same value as an expression of a trace."""
        constant, terms = self.constant, []
        for atom, part in self.parts:
            if atom.plain:
                constant += part * atom.offset
                terms += [Term(part * factor, ((variable, 1),)) for variable, factor in atom.factors]
            else:
                terms.append(Term(part, atom.factors, atom.offset, atom.divisor, atom.modulus))
        return Expression(constant, tuple(terms))

    def __str__(self) -> str:
        names = (
            f"{part}*(({'+'.join(f'{f}*{v.name}' for v, f in atom.factors)}+{atom.offset})"
            f"//{atom.divisor}%{atom.modulus})"
            for atom, part in self.parts
        )
        return " + ".join((str(self.constant), *names))


def as_index(value: Index | int) -> Index:
    """`value` itself, or an integer as a constant index."""
    return value if isinstance(value, Index) else Index(value)


def variable(name: Variable, limit: int) -> Index:
    """A variable that takes the values 0 to limit - 1; one that takes a single value is the constant 0."""
    return Index() if limit == 1 else single(Atom(((name, 1),), (limit,)))


def single(atom: Atom) -> Index:
    """One atom alone, without the remainder that its range makes idle."""
    if atom.modulus:
        free = Atom(atom.factors, atom.limits, atom.offset, atom.divisor)
        low, high = free.bounds()
        if low >= 0 and high < atom.modulus:
            atom = free
    low, high = atom.bounds()
    return Index(low) if low == high else collected(0, ((atom, 1),))


def collected(constant: int, parts: Iterable[tuple[Atom, int]]) -> Index:
    """The sum with equal atoms merged, plain sums opened into their variables, zeros dropped."""
    totals: dict[Atom, int] = {}
    for atom, part in parts:
        if atom.plain:
            constant += part * atom.offset
            for (name, factor), limit in zip(atom.factors, atom.limits, strict=True):
                lone = Atom(((name, 1),), (limit,))
                totals[lone] = totals.get(lone, 0) + part * factor
        else:
            totals[atom] = totals.get(atom, 0) + part
    return Index(constant, tuple((atom, total) for atom, total in totals.items() if total))


def merged(parts: Iterable[tuple[Atom, int]], offset: int) -> Atom:
    """Plain atoms, each with its weight, as one affine atom."""
    totals: dict[tuple[Variable, int], int] = {}
    for atom, part in parts:
        for (name, factor), limit in zip(atom.factors, atom.limits, strict=True):
            totals[name, limit] = totals.get((name, limit), 0) + part * factor
        offset += part * atom.offset
    kept = sorted((key, total) for key, total in totals.items() if total)
    if any(first[0][0] == second[0][0] for first, second in pairwise(kept)):
        raise InputError("index", "one variable with two ranges", "give a variable one limit")
    return Atom(
        tuple((name, total) for (name, _), total in kept), tuple(limit for (_, limit), _ in kept), offset
    )


def formless(what: str) -> InputError:
    """The error for arithmetic without a closed term."""
    return InputError(
        "index", f"{what} has no closed term", "lay the tile out so that remainders do not nest"
    )
