"""Samples of twenty kernels against replays of their whole grids: at least nineteen are within the bound."""

import pytest

from simulator.machine.compiled.engine import simulate
from simulator.machine.options import Options
from simulator.machine.sampled import sampled_replay
from simulator.statistics import identities
from tests.golden.sampled import CASES, TOLERANCE


def test_twenty_kernels_are_named() -> None:
    assert len(CASES) == 20


@pytest.mark.slow
def test_true_errors_are_within_the_stated_bounds() -> None:
    inside, extrapolated, lines = 0, 0, []
    for name, case in CASES.items():
        gpu = case.gpu
        traces = case.kernels(gpu)
        whole = simulate(traces, gpu, Options())
        part, sampling = sampled_replay(traces, gpu, Options(), simulate, TOLERANCE)
        assert all(not identities.check(one.record, one.blocks) for one in sampling.parts), name
        good = True
        for true, found, sample in zip(whole.kernels, part.kernels, sampling.kernels, strict=True):
            true_fs, found_fs = true.end_fs - true.start_fs, found.end_fs - found.start_fs
            error_ppm = 1_000_000 * abs(found_fs - true_fs) // true_fs
            assert not sample.sampled or sample.error_ppm <= 1_000_000 * TOLERANCE, name
            good &= error_ppm <= sample.error_ppm
            lines.append(f"{name}: off by {error_ppm} ppm, said {sample.error_ppm}: {sample}")
        inside += good
        extrapolated += any(sample.sampled for sample in sampling.kernels)
    said = "\n".join(lines)
    assert inside >= 19, said
    assert extrapolated >= 15, said
