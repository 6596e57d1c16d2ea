"""Two records differ exactly when a number in them does: every number of a real record, changed by one."""

import copy
import dataclasses

import pytest

from simulator.machine.options import Options
from simulator.machine.record_difference import HOST, differences, first_request, only_in
from simulator.machine.reference.engine import simulate
from simulator.trace.kernels import from_spec
from tests.engines.readings import tiny_card


@pytest.fixture(scope="module")
def record():
    """A run cut short: everything that a record can hold is there, unfinished work too."""
    traces = from_spec("kernel:copy,megabytes=0.03125,threads=32")
    return simulate(traces, tiny_card(), Options(max_cycles=800, interval_cycles=300, keep_requests=True))


def numbers(value, path=()):
    """The place of every number and word."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from numbers(item, (*path, place))
    else:
        yield path


def changed(record, path):
    """A copy in which one number is one more, or one word is longer."""
    other = copy.deepcopy(record)
    holder = other
    for step in path[:-1]:
        holder = holder[step] if isinstance(step, int) else getattr(holder, step)
    last = path[-1]
    before = holder[last] if isinstance(last, int) else getattr(holder, last)
    after = before + ("x" if isinstance(before, str) else 1)
    if isinstance(last, int):
        holder[last] = after
    else:
        setattr(holder, last, after)
    return other


def test_equal_records_have_no_difference(record):
    assert differences(record, copy.deepcopy(record)) == []
    assert first_request(record, copy.deepcopy(record)) is None


def test_every_number_counts_but_those_of_the_host(record):
    paths = list(numbers(record))
    assert {path[0] for path in paths} >= {"kernels", "requests", "intervals", "meters", "in_flight", "dram"}
    for path in paths:
        found = differences(record, changed(record, path))
        assert bool(found) == (path[0] not in HOST), path


def test_a_missing_row_is_a_difference(record):
    for name in ("kernels", "requests", "intervals", "meters", "in_flight", "dram"):
        other = copy.deepcopy(record)
        getattr(other, name).pop()
        assert differences(record, other), name
        assert differences(other, record), name


def test_the_order_of_unfinished_work_and_of_requests_does_not_count(record):
    other = copy.deepcopy(record)
    other.in_flight.reverse()
    other.requests.reverse()
    assert len(record.requests) > 1
    assert differences(record, other) == []


def test_the_first_request_is_the_first_to_finish(record):
    other = copy.deepcopy(record)
    ordered = sorted(other.requests, key=lambda one: one.finish_fs)
    for one in ordered[3:]:
        one.finish_fs += 7
    ours, theirs = first_request(record, other)
    assert ours.finish_fs == ordered[3].finish_fs - 7
    assert theirs is None or theirs.finish_fs >= ours.finish_fs


def test_lines_that_only_one_side_has():
    assert only_in(["a", "b", "b"], ["b", "c"]) == ["a", "b"]
