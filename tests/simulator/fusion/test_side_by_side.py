"""Work in forked processes: order, closures, errors, and one process where more are not worth it."""

import os

import pytest

from simulator.fusion.side_by_side import side_by_side
from simulator.processors import processors


def test_results_stand_in_order_and_functions_need_not_travel() -> None:
    offset = 5
    assert list(side_by_side(lambda number: number * number + offset, range(20), 3)) == [
        number * number + 5 for number in range(20)
    ]
    assert list(side_by_side(lambda number: number, [], 4)) == []


def test_one_thing_stays_in_this_process() -> None:
    assert list(side_by_side(lambda _: os.getpid(), [0], 4)) == [os.getpid()]
    # Of several the first stays too, so that workers find what it has loaded.
    first, *others = side_by_side(lambda _: os.getpid(), range(4), 2)
    assert first == os.getpid()
    assert first not in others


def test_what_a_worker_raises_is_raised_here() -> None:
    def broken(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    results = side_by_side(broken, range(4), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(results)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_a_process_on_one_processor_has_one() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert processors() == len(allowed)
