"""Lets the tests of this folder use the made-up run of the statistics' tests, under two variants."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.statistics.result import Result

sys.path.append(str(Path(__file__).parents[1] / "simulator" / "statistics"))


@pytest.fixture
def make_result() -> Callable[[str], Result]:
    from synthetic import CARD, HEADERS, synthetic_run

    return lambda variant: Result(synthetic_run(), HEADERS, CARD, variant)


@pytest.fixture
def two_results(make_result: Callable[[str], Result]) -> list[Result]:
    """`none` with two kernels, `vertical` with the first of them only."""
    from synthetic import CARD, HEADERS, synthetic_run

    record = synthetic_run()
    record.kernels, record.intervals = record.kernels[:1], record.intervals[:2]
    record.expected_instructions = record.expected_instructions[:1]
    return [make_result("none"), Result(record, HEADERS[:1], CARD, "vertical")]
