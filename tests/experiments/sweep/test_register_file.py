"""The shipped sweep of register files shows what silicon shows: spills, occupancy, then nothing more to gain;
and the best window of fusion grows with the registers.
"""

from pathlib import Path

import pytest

from experiments.plots.sweep_choice import FREE, LIMITED, SPILLS, panels_of, roles_of
from experiments.sweep.points import sweep_of
from experiments.sweep.run import run_sweep
from experiments.sweep.store import Store
from experiments.sweep.table import csv_of, read_sweep, rows_of
from experiments.sweep.work import perform
from experiments.workload import make_variant

CONFIG = "register-file"
HEAVY = {"workload.window": 7, "registers.cap": None}


def jobs(**settings):
    """The replays of the heavy chain, by what varies."""
    own = {f"{key.replace('__', '.')}": value for key, value in settings.items()}
    sweep = sweep_of(CONFIG, own)
    return [entry for entry in sweep.entries if entry.values["workload.first"] == "heavy1"]


def test_it_covers_what_was_asked_for() -> None:
    sweep = sweep_of(CONFIG, {})
    sizes = {entry.values["gpu.register_file.size_kib"] for entry in sweep.entries}
    assert (min(sizes), max(sizes)) == (32, 1024)
    assert len({entry.values["registers.cap"] for entry in sweep.entries}) >= 3
    assert {1, 7} <= {entry.values["workload.window"] for entry in sweep.entries}
    assert {entry.values["workload.first"] for entry in sweep.entries} == {"light1", "heavy1"}


def test_registers_grow_with_the_window_of_the_heavy_chain_only() -> None:
    sweep = sweep_of(CONFIG, {"registers.cap": None, "gpu.register_file.size_kib": 256})
    most: dict[str, list[int]] = {}
    for entry in sweep.entries:
        kernels = make_variant(entry.job.config, entry.variant, entry.job.gpu).kernels
        assert all(kernel.local_bytes_per_thread == 0 for kernel in kernels)
        most.setdefault(entry.values["workload.first"], []).append(
            max(kernel.registers_per_thread for kernel in kernels)
        )
    assert most["heavy1"] == sorted(most["heavy1"])
    assert most["heavy1"][-1] > 3 * most["heavy1"][0]
    assert max(most["light1"]) <= 32


def test_a_window_that_does_not_fit_is_a_hole_and_launches_under_a_cap() -> None:
    (entry,) = jobs(workload__window=7, registers__cap=None, gpu__register_file__size_kib=32)
    assert "can't launch" in perform(entry.job).error


def test_the_best_window_grows_with_the_register_file() -> None:
    """Seven against four operators a kernel, each under its best cap, at 64 KiB and at 1 MiB."""
    cycles: dict[tuple[int, int], int] = {}
    for entry in jobs(workload__window=[4, 7], gpu__register_file__size_kib=[64, 1024]):
        place = entry.values["workload.window"], entry.values["gpu.register_file.size_kib"]
        row = perform(entry.job).row
        if row is not None:
            cycles[place] = min(row["cycles"], cycles.get(place, row["cycles"]))
    assert cycles[4, 64] < cycles[7, 64]
    assert cycles[7, 1024] < cycles[4, 1024]
    assert cycles[7, 1024] < 0.7 * cycles[7, 64]


@pytest.mark.slow
def test_the_whole_sweep_shows_three_regimes_and_a_sweet_spot(tmp_path: Path) -> None:
    from experiments.sweep.local import LocalCrew

    sweep = sweep_of(CONFIG, {})
    with Store(tmp_path / "store.sqlite") as store:
        run_sweep(sweep, store, lambda: LocalCrew(2))
        (tmp_path / "sweep.csv").write_text(csv_of(rows_of(sweep, store.get(sweep.jobs))))
    table = read_sweep(tmp_path)
    light, heavy = panels_of(table, roles_of(table))
    whole = [heavy.places[7, size] for size in heavy.along]
    assert whole[0].regime == SPILLS
    assert {LIMITED, FREE} <= {place.regime for place in whole}
    assert whole[-1].regime == FREE
    # Where registers limit nothing the curve is flat. Four heavy operators do best with a cap that spills.
    flat = 0
    for panel in (light, heavy):
        for line in panel.lines:
            free = [
                place.cycles
                for place in (panel.places[line, size] for size in panel.along)
                if place.regime == FREE
            ]
            if free:
                flat += 1
                assert max(free) <= 1.03 * min(free)
    assert flat >= len(light.lines) + len(heavy.lines) - 1
    best = [heavy.best(size).line for size in heavy.along]
    assert best == sorted(best)
    assert best[0] < 7 == best[-1]
    assert {light.best(size).line for size in light.along} == {7}
