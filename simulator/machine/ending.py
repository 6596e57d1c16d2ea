"""Closes the books of kernels that a limit cut short: they end at the stop, and what never began takes no
time.

Both engines call it on the record of a partial run. The part of a launch gap that had passed at the stop
stays charged to the kernel behind it, so that the times of a stream still add up to the stop.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.statistics.record import RunRecord


def end_at_stop(
    record: RunRecord,
    ended: Sequence[bool],
    last_tick_fs: int,
    next_tick_fs: int,
    max_cycles: int | None,
) -> None:
    """Set start, gap and end of the kernels that have not ended, and the end of the run.

    The stop is the limit of cycles if nothing was due before it; a limit of seconds stops at the last tick.
    """
    stop_fs = last_tick_fs
    if max_cycles is not None and next_tick_fs >= max_cycles * record.sm_period_fs:
        stop_fs = max_cycles * record.sm_period_fs
    for kernel, done in zip(record.kernels, ended, strict=True):
        if done:
            continue
        if kernel.start_fs < 0:
            kernel.start_fs, kernel.launch_fs = stop_fs, 0
        elif kernel.start_fs > stop_fs:
            kernel.launch_fs = max(0, kernel.launch_fs - (kernel.start_fs - stop_fs))
            kernel.start_fs = stop_fs
        kernel.end_fs = stop_fs
    record.end_fs = max(kernel.end_fs for kernel in record.kernels)
