"""The search against every choice there is: set partitions and copies by plain recursion, costs by chance."""

import random
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest

from simulator.fusion.chains import cheapest_cuts, plan_chain
from simulator.fusion.problem import (
    Candidate,
    Problem,
    bits,
    is_convex,
    is_sound,
    launch_order,
    needed_stores,
    reach_of,
)
from simulator.fusion.search import cheapest


def chain(count: int, chance: random.Random) -> Problem:
    """A chain whose intervals cost what chance says; some are not allowed."""
    readers = tuple(1 << at + 1 if at + 1 < count else 0 for at in range(count))
    candidates = []
    for begin in range(count):
        for end in range(begin + 1, count + 1):
            if end - begin > 1 and chance.random() < 0.2:
                continue
            members = (1 << end) - (1 << begin)
            candidates.append(Candidate(members, 1 << end - 1, chance.randint(1, 20) * (2 + end - begin)))
    return Problem(readers, (0,) * count, 1 << count - 1, 0, tuple(candidates))


def graph(count: int, chance: random.Random, copies: bool) -> Problem:
    """A random graph; candidates are convex sets, some with a value that may be copied left unstored."""
    readers = [0] * count
    for reader in range(1, count):
        for writer in chance.sample(range(reader), k=min(reader, chance.choice((1, 1, 2)))):
            readers[writer] |= 1 << reader
    leaves = sum(1 << at for at in range(count) if not readers[at])
    copied = 0
    if copies:
        several = [at for at in range(count) if readers[at].bit_count() > 1]
        copied = sum(1 << at for at in chance.sample(several, k=min(2, len(several))))
    plain = Problem(tuple(readers), (0,) * count, leaves, copied, ())
    reach = reach_of(readers)
    candidates = []
    for size in range(1, 5):
        for picked in combinations(range(count), size):
            members = sum(1 << at for at in picked)
            if not is_convex(members, reach) or (size > 1 and chance.random() < 0.3):
                continue
            stores = needed_stores(plain, members)
            cost = chance.randint(5, 30) + 3 * size
            candidates.append(Candidate(members, stores, cost))
            for dropped in bits(stores & copied & ~leaves):
                if readers[dropped] & members:
                    left = stores & ~(1 << dropped)
                    candidates.append(Candidate(members, left, max(1, cost - chance.randint(0, 6))))
    return Problem(tuple(readers), (0,) * count, leaves, copied, tuple(candidates))


def choices(problem: Problem, single: int, chosen: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, ...]]:
    """Every set of candidates that computes each operator that may not be copied exactly once."""
    if single:
        first = single & -single
        for one in problem.candidates:
            mine = one.members & ~problem.copied
            if one.members & first and not mine & ~single:
                yield from choices(problem, single & ~mine, (*chosen, one))
        return
    extra = [one for one in problem.candidates if not one.members & ~problem.copied]
    for size in range(min(3, len(extra)) + 1):
        for more in combinations(extra, size):
            yield (*chosen, *more)


def brute_force(problem: Problem) -> int:
    everything = (1 << problem.count) - 1
    return min(
        sum(one.cost for one in chosen)
        for chosen in choices(problem, everything & ~problem.copied, ())
        if is_sound(problem, chosen)
    )


@pytest.mark.parametrize("part", range(5))
def test_chains_agree_with_every_cut_there_is(part: int) -> None:
    chance = random.Random(part)
    for _ in range(100):
        count = chance.randint(1, 10)
        problem = chain(count, chance)
        costs = {(next(bits(one.members)), one.members.bit_length()): one.cost for one in problem.candidates}
        every = []
        for size in range(count):
            for inner in combinations(range(1, count), size):
                edges = (0, *inner, count)
                places = list(pairwise(edges))
                if all(place in costs for place in places):
                    every.append(sum(costs[place] for place in places))
        exact, bounded = plan_chain(problem), cheapest(problem)
        assert exact is not None
        assert exact.cost == min(every) == bounded.cost
        assert sum(one.cost for one in exact.chosen) == exact.cost
        assert is_sound(problem, exact.chosen)
        # The bound of a chain is exact, so nothing has to be tried twice.
        assert bounded.gap_ppm == 0
        assert bounded.nodes <= count + 1


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("part", range(5))
def test_graphs_agree_with_every_choice_there_is(part: int, copies: bool) -> None:
    chance = random.Random(100 + part)
    for _ in range(30):
        problem = graph(chance.randint(2, 6 if copies else 8), chance, copies)
        found = cheapest(problem)
        assert is_sound(problem, found.chosen)
        assert found.cost == sum(one.cost for one in found.chosen) == brute_force(problem)
        assert found.bound == found.cost


def test_a_search_cut_short_states_a_bound_that_holds() -> None:
    chance = random.Random(7)
    gaps = 0
    for _ in range(60):
        problem = graph(8, chance, copies=False)
        cut, whole = cheapest(problem, most_nodes=9), cheapest(problem)
        assert cut.bound <= whole.cost <= cut.cost
        assert cut.gap_ppm * cut.cost >= 1_000_000 * (cut.cost - whole.cost) - cut.cost
        gaps += cut.gap_ppm > 0
    assert gaps


def test_groups_that_wait_for_each_other_are_never_chosen() -> None:
    # 0 → 2, 1 → 3: {0, 3} and {1, 2} would each need the other first.
    candidates = [Candidate(1 << at, 1 << at, 10) for at in range(4)]
    candidates += [Candidate(0b1001, 0b1001, 1), Candidate(0b0110, 0b0110, 1)]
    problem = Problem((1 << 2, 1 << 3, 0, 0), (0,) * 4, 0b1100, 0, tuple(candidates))
    assert launch_order([(0b1001, 0b1001), (0b0110, 0b0110)], problem.producers, problem.waits) is None
    assert cheapest(problem).cost == 21


def test_waiting_for_somebody_outside_counts() -> None:
    # 1 waits for 0 and 2 for 1, over operators elsewhere: a group of 0 and 2 would wait for itself.
    candidates = [Candidate(1 << at, 1 << at, 10) for at in range(3)] + [Candidate(0b101, 0b101, 1)]
    waits = (0, 1 << 0, 1 << 1)
    assert cheapest(Problem((0, 0, 0), waits, 0b111, 0, tuple(candidates))).cost == 30
    assert cheapest(Problem((0, 0, 0), (0, 0, 0), 0b111, 0, tuple(candidates))).cost == 11


def test_convexity_by_paths() -> None:
    chance = random.Random(3)
    for _ in range(100):
        problem = graph(7, chance, copies=False)
        paths = all_paths(problem)
        reach = reach_of(problem.readers)
        for members in range(1, 1 << 7):
            leaves_and_returns = any(
                path[0] in bits(members) and path[-1] in bits(members) and not set(path) <= set(bits(members))
                for path in paths
            )
            if chance.random() < 0.1:
                assert is_convex(members, reach) is not leaves_and_returns


def all_paths(problem: Problem) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [(at,) for at in range(problem.count)]
    for path in found:
        found += [(*path, reader) for reader in bits(problem.readers[path[-1]])]
    return found


def test_cuts_need_intervals_that_meet() -> None:
    assert cheapest_cuts(3, {(0, 2): 5, (2, 3): 1, (0, 1): 1, (1, 2): 1}) == (3, [(0, 1), (1, 2), (2, 3)])
    with pytest.raises(ValueError, match="no cut"):
        cheapest_cuts(2, {(0, 1): 1})
