"""Little's law meter and interval snapshots, against sums done by hand."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.reference.intervals import IntervalLog
from simulator.machine.reference.meter import QueueMeter


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30))
def test_area_equals_waits(visits):
    events = [(enter, 0, enter) for enter, _ in visits]
    events += [(enter + stay, 1, enter) for enter, stay in visits]
    meter = QueueMeter()
    for time, leaves, entered in sorted(events):
        if leaves:
            meter.leave(time, entered)
        else:
            meter.enter(time)
    brute = sum(enter <= t < enter + stay for t in range(101) for enter, stay in visits)
    assert meter.area_fs == meter.waits_fs == brute
    assert meter.balanced()
    assert meter.items == len(visits)


def test_a_wrong_stamp_is_noticed():
    meter = QueueMeter()
    meter.enter(3)
    meter.leave(10, 4)
    assert not meter.balanced()


def test_snapshots_hold_what_was_counted_before_the_edge():
    log = IntervalLog(100)
    counts = [[0, 0], [0, 0]]
    for now in (0, 40, 100, 350, 400):
        log.advance(now, counts)
        counts[1][0] += 1
    assert [(edge, kernels[1][0]) for edge, kernels in log.snapshots] == [
        (100, 2),
        (200, 3),
        (300, 3),
        (400, 4),
    ]


def test_no_period_means_no_snapshots():
    log = IntervalLog(0)
    log.advance(10**18, [[1]])
    assert log.snapshots == []
