"""The store: one owner a result, nothing lost, one clear error for each way in which a file can be wrong."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.sweep.store import DEAD_SECONDS, DONE, ELSEWHERE, FAILED, MINE, Store
from experiments.sweep.store_file import VERSION
from hwmodels.errors import InputError

ROW = {"cycles": 12, "time_us": 0.1, "bound": "dram", "mean": None}


def changed(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


def test_what_was_stored_comes_back_the_same_and_is_free(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        assert store.claim("a", "first") == MINE
        assert store.claim("b", "second") == MINE
        store.put("a", ROW, "", 1.5)
        store.put("b", None, "it broke", 0.5)
    with Store(tmp_path / "s.sqlite") as store:
        found = store.get(["a", "b", "c"])
        assert found["a"].row == ROW
        assert (found["b"].row, found["b"].error) == (None, "it broke")
        assert set(found) == {"a", "b"}
        assert store.claim("a", "") == DONE
        assert store.claim("b", "") == FAILED
        assert store.claim("b", "", again=True) == MINE
        assert store.claim("a", "", again=True) == DONE
        assert store.attempts() == {"a": 1, "b": 2}


def test_a_living_owner_is_left_alone_and_a_dead_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as one, Store(path) as two:
        assert one.claim("a", "") == MINE
        assert two.claim("a", "") == ELSEWHERE
        # A long silence, such as while the engine compiles, is none of a process that lives on this machine.
        past = time.time() - DEAD_SECONDS - 5
        changed(path, "UPDATE owners SET beat = ? WHERE owner = ?", past, one.owner)
        assert two.claim("a", "") == ELSEWHERE
        changed(path, "UPDATE owners SET host = 'far away' WHERE owner = ?", one.owner)
        assert two.claim("a", "") == MINE
        # Its owner has lost it: what comes late is the same result, and is as good.
        one.put("a", ROW, "", 1.0)
        assert two.claim("a", "") == DONE


def test_the_owner_that_was_killed_is_known_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    killed = subprocess.Popen([sys.executable, "-c", "pass"])
    killed.wait()
    with Store(path) as one, Store(path) as two:
        assert one.claim("a", "") == MINE
        changed(path, "UPDATE owners SET pid = ? WHERE owner = ?", killed.pid, one.owner)
        assert two.claim("a", "") == MINE


def test_leaving_gives_back_what_was_not_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as two:
        with Store(path) as one:
            one.claim("a", "")
        assert two.claim("a", "") == MINE


def test_a_text_that_changed_counts_as_not_there(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.claim("a", "")
        store.put("a", ROW, "", 1.0)
        changed(path, "UPDATE results SET payload = replace(payload, '12', '13')")
        assert store.get(["a"]) == {}
        assert store.claim("a", "") == MINE


def fresh(path: Path) -> None:
    with Store(path) as store:
        for number in range(200):
            store.claim(f"key{number}", "some text about it")
            store.put(f"key{number}", ROW, "", 1.0)


def torn(path: Path) -> None:
    fresh(path)
    data = bytearray(path.read_bytes())
    data[4096:12288] = os.urandom(8192)
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    fresh(path)
    path.write_bytes(path.read_bytes()[:6000])


def foreign(path: Path) -> None:
    changed(path, "CREATE TABLE holidays (day TEXT)")


def newer(path: Path) -> None:
    fresh(path)
    changed(path, f"PRAGMA user_version = {VERSION + 1}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (torn, "is damaged"),
        (cut, "is damaged"),
        (foreign, "another program's database"),
        (newer, f"format {VERSION + 1}, and this version reads up to {VERSION}"),
        (lambda path: path.write_text("no database at all, but some text " * 100), "no store of a sweep"),
        (Path.mkdir, "is a folder"),
    ],
    ids=["torn", "cut", "foreign", "newer", "text", "folder"],
)
def test_a_file_that_is_no_sound_store_is_one_error_and_stays_as_it_is(make, message, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError) as raised:
        Store(path)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")
    assert (path.read_bytes() if path.is_file() else None) == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch()
    fresh(path)
    with Store(path) as store:
        assert len(store.get(f"key{number}" for number in range(200))) == 200


def test_a_lock_that_stays_is_one_error_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path, lock_seconds=0.2) as store:
        store.claim("a", "")
        store.put("a", ROW, "", 1.0)
        store.claim("b", "")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        for attempt in (
            lambda: store.put("b", ROW, "", 1.0),
            lambda: store.get(["a"]),
            lambda: Store(path, lock_seconds=0.2),
        ):
            with pytest.raises(InputError, match=r"locked by another program for 0\.2 s"):
                attempt()
        holder.execute("ROLLBACK")
        holder.close()
        store.put("b", ROW, "", 1.0)
        assert set(store.get(["a", "b"])) == {"a", "b"}


def test_a_full_disk_is_one_error_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        stored = 0

        def fill() -> None:
            nonlocal stored
            for number in range(1000):
                store.claim(f"key{number}", "x" * 200)
                store.put(f"key{number}", {"text": "y" * 400}, "", 1.0)
                stored += 1

        with pytest.raises(InputError, match="the disk is full; make room"):
            fill()
        assert 0 < stored < 100
        assert len(store.get(f"key{number}" for number in range(1000))) == stored
        store.connection.execute("PRAGMA max_page_count = 1000000")
        assert store.claim(f"key{stored}", "") == MINE
        store.put(f"key{stored}", ROW, "", 1.0)
        assert len(store.get(f"key{number}" for number in range(1000))) == stored + 1


WORKER = """
import sys
from pathlib import Path
from experiments.sweep.store import MINE, Store
with Store(Path(sys.argv[1])) as store:
    for number in range(60):
        if store.claim(f"key{number}", "") == MINE:
            store.put(f"key{number}", {"by": sys.argv[2]}, "", 1.0)
"""


def test_many_processes_at_once_share_the_work_and_do_none_of_it_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(path), str(number)]) for number in range(3)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    with Store(path) as store:
        assert store.attempts() == {f"key{number}": 1 for number in range(60)}
        assert len(store.get(f"key{number}" for number in range(60))) == 60
