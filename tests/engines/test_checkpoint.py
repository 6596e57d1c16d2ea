"""A replay that is cut at a random moment, written down and resumed ends in exactly the same record.

Random cards and kernels, fifty moments an engine in every test run; the longest chain of checkpoints is one
run that is cut again and again.
"""

import importlib
import random
import re

import pytest

from hwmodels.errors import InputError
from simulator.machine.checkpoint.file import MAGIC, OTHER, check_fit, pack, read, unpack
from simulator.machine.checkpoint.keeper import Keeper, header_of
from simulator.machine.options import Options
from simulator.machine.replay import ENGINES
from simulator.machine.wish import Wish
from tests.engines.readings import same_numbers
from tests.engines.test_identities import random_options
from tests.machines.random_card import seeded_card
from tests.machines.random_trace import seeded_traces

MOMENTS = 50
GROUP = 10
SLOW_MOMENTS = 1000


def simulate(engine, case, **more):
    kernels, gpu, options = case
    return importlib.import_module(ENGINES[engine]).simulate(kernels, gpu, Options(**options, **more))


def case_of(seed):
    gpu = seeded_card(seed)
    options = {key: value for key, value in random_options(seed).items() if key != "max_cycles"}
    return seeded_traces(seed, gpu), gpu, options


def last_cycle(record, gpu):
    return max(2, record.end_fs // gpu.sm_period_fs)


def resumed(engine, case, path, **more):
    kernels, gpu, options = case
    checkpoint = read(path)
    check_fit(checkpoint, header_of(engine, kernels, gpu, Options(**options)), str(path))
    return simulate(engine, case, resume=checkpoint, **more)


def check_moment(engine, seed, path):
    case = case_of(seed)
    whole = simulate(engine, case)
    moment = random.Random(seed).randrange(1, last_cycle(whole, case[1]))
    simulate(engine, case, max_cycles=moment, keeper=Keeper(path, also_at_end=True))
    assert same_numbers(resumed(engine, case, path)) == same_numbers(whole), f"seed {seed}, cycle {moment}"


@pytest.mark.parametrize("first", range(0, MOMENTS, GROUP))
def test_resumed_equals_undisturbed(engine, first, tmp_path):
    for seed in range(first, first + GROUP):
        check_moment(engine, seed, tmp_path / "one.checkpoint")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(MOMENTS, SLOW_MOMENTS, GROUP))
def test_resumed_equals_undisturbed_at_many_more_moments(engine, first, tmp_path):
    for seed in range(first, first + GROUP):
        check_moment(engine, seed, tmp_path / "one.checkpoint")


def test_cut_again_and_again(engine, tmp_path):
    case, path = case_of(7), tmp_path / "one.checkpoint"
    whole = simulate(engine, case)
    step = max(1, last_cycle(whole, case[1]) // 6)
    record = simulate(engine, case, max_cycles=step, keeper=Keeper(path, also_at_end=True))
    for cut in range(2 * step, 6 * step, step):
        record = resumed(engine, case, path, max_cycles=cut, keeper=Keeper(path, also_at_end=True))
    assert record.partial
    assert same_numbers(resumed(engine, case, path)) == same_numbers(whole)


def test_a_wish_to_write_changes_nothing_and_one_to_stop_stops(engine, tmp_path):
    case, path = case_of(11), tmp_path / "one.checkpoint"
    whole = simulate(engine, case)
    kept = simulate(engine, case, keeper=Keeper(path, wish=lambda: Wish.WRITE))
    assert same_numbers(kept) == same_numbers(whole)
    keeper = Keeper(path, wish=lambda: Wish.WRITE_AND_STOP)
    stopped = simulate(engine, case, keeper=keeper)
    assert keeper.stopped or not stopped.partial
    if stopped.partial:
        assert same_numbers(resumed(engine, case, path)) == same_numbers(whole)


def written(engine, tmp_path):
    case, path = case_of(3), tmp_path / "one.checkpoint"
    simulate(engine, case, max_cycles=50, keeper=Keeper(path, also_at_end=True))
    return case, path


def test_a_checkpoint_of_something_else_is_refused_by_name(engine, tmp_path):
    (kernels, gpu, options), path = written(engine, tmp_path)
    checkpoint = read(path)
    other = "compiled" if engine == "reference" else "reference"
    changes = {
        "engine": header_of(other, kernels, gpu, Options(**options)),
        "card": header_of(engine, kernels, seeded_card(4), Options(**options)),
        "traces": header_of(engine, seeded_traces(5, gpu), gpu, Options(**options)),
        "options": header_of(engine, kernels, gpu, Options(**options | {"interval_cycles": 12_345})),
    }
    for name, header in changes.items():
        with pytest.raises(InputError, match=re.escape(OTHER[name])):
            check_fit(checkpoint, header, str(path))


def test_no_byte_can_be_changed_or_missing(engine, tmp_path):
    data = written(engine, tmp_path)[1].read_bytes()
    dice = random.Random(1)
    for _ in range(200):
        place = dice.randrange(len(data))
        with pytest.raises(InputError):
            unpack(data[:place], "cut")
        changed = data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]
        with pytest.raises(InputError):
            unpack(changed, "changed")


def test_another_users_checkpoint_is_refused(engine, tmp_path, monkeypatch):
    path = written(engine, tmp_path)[1]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "somebody"))
    with pytest.raises(InputError, match="another user"):
        read(path)


def test_packing_is_the_inverse_of_unpacking(engine, tmp_path):
    checkpoint = read(written(engine, tmp_path)[1])
    again = unpack(pack(checkpoint), "again")
    assert again.header == checkpoint.header
    assert again.state == checkpoint.state
    assert {name: table.tolist() for name, table in again.tables.items()} == {
        name: table.tolist() for name, table in checkpoint.tables.items()
    }
    assert MAGIC.startswith(b"stallscope")
