"""Worker processes: they give what a call in this process gives, and one that dies takes only its own job
along.
"""

import os
import signal
from pathlib import Path

from experiments.sweep.local import LocalCrew
from experiments.sweep.points import sweep_of
from experiments.sweep.work import perform


def drained(crew: LocalCrew, count: int):
    found = []
    while len(found) < count:
        found += crew.finished(60)
    return found


def test_workers_give_what_this_process_gives(tiny) -> None:
    jobs = list(sweep_of(tiny(3), {}).jobs.values())
    with LocalCrew(2) as crew:
        assert (crew.room, crew.finished(0)) == (2, [])
        crew.give(jobs[0])
        crew.give(jobs[1])
        assert crew.room == 0
        found = drained(crew, 2)
        assert crew.room == 2
        crew.give(jobs[2])
        found += drained(crew, 1)
    rows = {one.key: one.row for one in found}
    assert rows == {job.key: perform(job).row for job in jobs}
    assert all(one.seconds > 0 for one in found)


def test_a_dead_worker_is_replaced_and_only_its_job_is_lost(tiny) -> None:
    jobs = list(sweep_of(tiny(3), {}).jobs.values())
    with LocalCrew(2) as crew:
        crew.give(jobs[0])
        crew.give(jobs[1])
        os.kill(crew._workers[0].process.pid, signal.SIGKILL)
        found = {one.key: one for one in drained(crew, 2)}
        assert "ended by signal 9" in found[jobs[0].key].lost
        assert found[jobs[1].key].row is not None
        crew.give(jobs[0])
        crew.give(jobs[2])
        assert all(one.row is not None for one in drained(crew, 2))


def test_an_error_of_a_replay_is_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "gpu: [v100-sxm2-16gb]\nset: {gpu.scale: 1/16}\n"
        "sweep: {gpu.register_file.size_kib: [16], workload.kernels: [[{name: copy, threads: 1024}]]}\n"
    )
    (job,) = sweep_of(str(path), {}).jobs.values()
    answer = perform(job)
    assert answer.row is None
    assert "can't launch" in answer.error


def test_a_job_whose_file_has_changed_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace.npz"
    trace.write_bytes(b"one")
    path = tmp_path / "c.yaml"
    path.write_text(f"sweep: {{workload.traces: [['{trace}']]}}\n")
    (job,) = sweep_of(str(path), {}).jobs.values()
    trace.write_bytes(b"other")
    assert perform(job).foreign
