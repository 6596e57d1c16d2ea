"""A kernel that a limit cut short ends at the stop, whatever it was doing; no time is lost or negative."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.machine.ending import end_at_stop
from simulator.statistics.record import KernelRecord, RunRecord

PERIOD_FS = 10


def run_of(*kernels: KernelRecord) -> RunRecord:
    return RunRecord("reference", "paper-gpu", "", 1, PERIOD_FS, list(kernels), partial=True)


def times_of(record: RunRecord) -> list[tuple[int, int, int]]:
    return [(kernel.launch_fs, kernel.start_fs, kernel.end_fs) for kernel in record.kernels]


def test_one_ended_one_running_one_unscheduled() -> None:
    record = run_of(
        KernelRecord(0, "a", 0, start_fs=100, end_fs=300, launch_fs=100),
        KernelRecord(1, "b", 0, start_fs=400, end_fs=0, launch_fs=100),
        KernelRecord(2, "c", 0, start_fs=-1),
    )
    end_at_stop(record, [True, False, False], 470, 500, 50)
    assert times_of(record) == [(100, 100, 300), (100, 400, 500), (0, 500, 500)]
    assert record.end_fs == 500


def test_a_stop_in_a_launch_gap_leaves_the_part_that_had_passed() -> None:
    record = run_of(
        KernelRecord(0, "a", 0, start_fs=100, end_fs=300, launch_fs=100),
        KernelRecord(1, "b", 0, start_fs=400, launch_fs=100),
    )
    end_at_stop(record, [True, False], 310, 400, 33)
    assert times_of(record) == [(100, 100, 300), (30, 330, 330)]


def test_a_limit_of_seconds_stops_at_the_last_tick() -> None:
    record = run_of(KernelRecord(0, "a", 0, start_fs=100, launch_fs=100))
    end_at_stop(record, [False], 250, 260, 10_000)
    assert times_of(record) == [(100, 100, 250)]


@given(
    st.integers(0, 1_000),
    st.integers(1, 10_000),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 500))),
)
def test_times_of_a_stream_add_up_to_the_stop(
    before_fs: int, stop_fs: int, spans: list[tuple[int, int]]
) -> None:
    """Kernels as a launcher leaves them at a stop: ended, running, scheduled, or not scheduled."""
    kernels, ended, at = [], [], 0
    for index, (gap, span) in enumerate([(before_fs, 200), *spans]):
        start, end = at + gap, at + gap + span
        scheduled = at <= stop_fs
        kernels.append(
            KernelRecord(
                index, "k", 0, start_fs=start if scheduled else -1,
                end_fs=end if end <= stop_fs else 0, launch_fs=gap if scheduled else 0,
            )
        )  # fmt: skip
        ended.append(end <= stop_fs)
        at = end
    record = run_of(*kernels)
    end_at_stop(record, ended, stop_fs, stop_fs + 1, None)
    total = sum(one.launch_fs + one.end_fs - one.start_fs for one in record.kernels)
    assert total == record.end_fs == (at if all(ended) else stop_fs)
    assert all(one.start_fs <= one.end_fs <= stop_fs and one.launch_fs >= 0 for one in record.kernels)
