"""The order of work of a sweep, with workers that are made up: lost, foreign, failing, stopped."""

import threading
from collections import deque
from pathlib import Path

import pytest

from experiments.sweep.points import sweep_of
from experiments.sweep.run import Tally, run_sweep
from experiments.sweep.store import Store
from experiments.sweep.work import Finished
from hwmodels.errors import ResultError

CONFIG = """
gpu: [v100-sxm2-16gb]
set: {gpu.scale: 1/16}
workload: {kernels: [{name: copy, megabytes: 1}]}
sweep: {gpu.clock_mhz: [1000, 1001, 1002, 1003, 1004, 1005]}
"""


class Crew:
    """Workers that answer by a rule, the last job given first."""

    def __init__(self, answer, room: int = 2) -> None:
        self.answer, self.most = answer, room
        self.given: list[str] = []
        self.flying: deque = deque()
        self.left = False

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.left = True

    @property
    def room(self) -> int:
        return self.most - len(self.flying)

    def give(self, job) -> None:
        assert self.room > 0
        self.given.append(job.key)
        self.flying.append(job)

    def finished(self, timeout_s: float):  # noqa: ARG002
        return [self.answer(self.flying.pop())] if self.flying else []


def done(job) -> Finished:
    return Finished(job.key, {"clock": job.gpu.clock_mhz}, "", 0.1)


@pytest.fixture
def sweep(tmp_path: Path):
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG)
    return sweep_of(str(path), {})


def test_everything_is_done_once_and_then_free(sweep, tmp_path: Path) -> None:
    crew, told = Crew(done), []
    with Store(tmp_path / "s.sqlite") as store:
        tally = run_sweep(sweep, store, lambda: crew, lambda now: told.append(now.done))
        assert (tally.ran, tally.reused, tally.failed) == (6, 0, 0)
        assert crew.given == list(sweep.jobs)
        assert crew.left
        assert told == sorted(told)
        assert told[-1] == 6
        clocks = [stored.row["clock"] for stored in store.get(sweep.jobs).values()]
        assert clocks == list(range(1000, 1006))
        again = run_sweep(sweep, store, lambda: pytest.fail("no workers are needed"))
        assert (again.ran, again.reused) == (0, 6)
        assert set(store.attempts().values()) == {1}


def test_a_failed_replay_is_kept_and_its_neighbours_go_on(sweep, tmp_path: Path) -> None:
    def answer(job):
        return Finished(job.key, None, "broke", 0.1) if job.gpu.clock_mhz == 1002 else done(job)

    with Store(tmp_path / "s.sqlite") as store:
        tally = run_sweep(sweep, store, lambda: Crew(answer))
        assert (tally.ran, tally.failed) == (6, 1)
        assert [stored.error for stored in store.get(sweep.jobs).values()] == ["", "", "broke", "", "", ""]
        again = run_sweep(sweep, store, lambda: pytest.fail("what failed is kept"))
        assert (again.reused, again.failed) == (6, 1)
        crew = Crew(done)
        retried = run_sweep(sweep, store, lambda: crew, retry_failed=True)
        assert len(crew.given) == 1
        assert (retried.ran, retried.failed, retried.reused) == (1, 0, 5)


def test_a_lost_worker_is_tried_again_once(sweep, tmp_path: Path) -> None:
    lost: dict[int, int] = {}

    def answer(job):
        clock = job.gpu.clock_mhz
        lost[clock] = lost.get(clock, 0) + 1
        if clock == 1001 or (clock == 1003 and lost[clock] == 1):
            return Finished(job.key, lost="its worker died")
        return done(job)

    with Store(tmp_path / "s.sqlite") as store:
        tally = run_sweep(sweep, store, lambda: Crew(answer))
        assert (tally.ran, tally.failed) == (6, 1)
        assert lost == {1000: 1, 1001: 2, 1002: 1, 1003: 2, 1004: 1, 1005: 1}
        (dead,) = (stored for stored in store.get(sweep.jobs).values() if stored.row is None)
        assert (dead.error, dead.fault) == ("its worker died, 2 times", True)
        assert sorted(store.attempts().values()) == [1, 1, 1, 1, 2, 2]


def test_a_foreign_worker_ends_the_sweep_and_what_was_done_stays(sweep, tmp_path: Path) -> None:
    def answer(job):
        return Finished(job.key, foreign=True) if job.gpu.clock_mhz == 1003 else done(job)

    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(ResultError, match="another version"):
            run_sweep(sweep, store, lambda: Crew(answer))
        before = len(store.get(sweep.jobs))
    with Store(tmp_path / "s.sqlite") as store:
        tally = run_sweep(sweep, store, lambda: Crew(done))
        assert (tally.reused, tally.ran) == (before, 6 - before)


def test_an_interruption_leaves_no_claim_behind(sweep, tmp_path: Path) -> None:
    count = 0

    def answer(job):
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return done(job)

    with pytest.raises(KeyboardInterrupt), Store(tmp_path / "s.sqlite") as store:
        run_sweep(sweep, store, lambda: Crew(answer))
    with Store(tmp_path / "s.sqlite") as store:
        tally = run_sweep(sweep, store, lambda: Crew(done))
        assert (tally.reused, tally.ran) == (3, 3)


def test_two_sweeps_at_once_share_the_work(sweep, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    crews = [Crew(done, room=1), Crew(done, room=1)]

    def work(crew: Crew) -> None:
        with Store(path) as store:
            tally = run_sweep(sweep, store, lambda: crew)
            assert tally.done == 6

    threads = [threading.Thread(target=work, args=(crew,)) for crew in crews]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(crews[0].given + crews[1].given) == sorted(sweep.jobs)
    with Store(path) as store:
        assert len(store.get(sweep.jobs)) == 6


def test_the_words_of_progress_have_rate_and_time_left(monkeypatch) -> None:
    tally = Tally(100, reused=10, ran=30, failed=2, elsewhere=1, started_s=0.0)
    monkeypatch.setattr("experiments.sweep.run.time.monotonic", lambda: 90.0)
    assert tally.words == (
        "40 of 100 replays, 2 failed, 20.0 a minute, 0:03:00 left; waiting for 1 of another sweep"
    )
