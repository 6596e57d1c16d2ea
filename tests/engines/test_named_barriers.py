"""Barriers at which only some warps of a block meet: they release when those are there, whoever else is."""

import pytest

from hwmodels.errors import InputError
from simulator.trace.archive import load, save
from simulator.trace.builder import KernelBuilder
from simulator.trace.check import check
from simulator.trace.expand import recorded
from simulator.trace.expression import warp
from tests.engines.readings import states, tiny_card

TURNS = 6


def two_parts(first: int, second: int, turns: tuple[int, int], named: tuple[int, ...]):
    """The first warps meet at barrier 0, the others at barrier 1, each for its own number of turns."""
    k = KernelBuilder("parts", 1, 32 * (first + second), barriers=2, barrier_warps=named)
    inside = (1 - warp // first, (warp - first) // second + 1)
    for barrier, (mine, count) in enumerate(zip(inside, turns, strict=True)):
        with k.loop(count * mine):
            k.barrier(barrier)
    return k.build()


@pytest.mark.parametrize("warps", [1, 2, 3])
def test_parts_wait_for_their_own_warps_only(run, warps):
    """A part meets while the other never does; its turns take what a block of its size alone takes."""
    gpu = tiny_card()
    trace = two_parts(warps, 2, (TURNS, 0), (warps, 2))
    check(trace, full=True)
    period = gpu.sm.barrier_release_cycles + gpu.sm.barrier_arrival_cycles * warps
    waited = states(run(trace, gpu))["barrier"]
    assert abs(waited - TURNS * warps * (period - 1)) <= TURNS * gpu.sm.barrier_arrival_cycles * warps


def test_unequal_turns_end(run):
    """With one server for both, eleven meetings take what eleven meetings of two warps take at least."""
    gpu = tiny_card()
    record = run(two_parts(2, 2, (4, 7), (2, 2)), gpu)
    period = gpu.sm.barrier_release_cycles + gpu.sm.barrier_arrival_cycles * 2
    assert states(record)["barrier"] >= (4 + 7) * 2 * (period - gpu.sm.barrier_arrival_cycles - 1)


def test_the_recorded_form_and_the_archive_keep_the_warps(run, tmp_path):
    gpu = tiny_card()
    trace = two_parts(1, 2, (3, 5), (1, 2))
    save([trace, recorded(trace)], tmp_path / "parts.trace.npz")
    kept = load(tmp_path / "parts.trace.npz")
    assert [one.barrier_warps for one in kept] == [(1, 2), (1, 2)]
    expected = states(run(trace, gpu))["barrier"]
    for one in kept:
        check(one, full=True)
        assert states(run(one, gpu))["barrier"] == expected


@pytest.mark.parametrize(
    ("turns", "named", "problem"),
    [
        ((3, 5), (), "warp"),
        ((3, 5), (2, 2), "1 warps pass barrier 0"),
        ((3, 5), (1, 5), "5 warps meet at barrier 1"),
        ((3, 5), (1, 2, 1), "3 barriers"),
    ],
)
def test_a_meeting_that_never_comes_about_is_refused(turns, named, problem):
    with pytest.raises(InputError, match=problem):
        check(two_parts(1, 2, turns, named))
