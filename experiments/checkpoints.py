"""The checkpoint of a whole command: one file that holds the checkpoint of each of its replays.

While the command runs, each replay (one variant on one card) writes its own part into a folder beside the
file; they are bound together when all have stopped, and whenever one has been asked to write. A replay that
came to its end keeps a part too, from which its result is had again at once; one that has not begun has none.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from hwmodels.errors import InputError
from simulator.machine.checkpoint.file import Checkpoint, read, write
from simulator.statistics.files import make_folder

SUFFIX = ".checkpoint"
KIND = "command"


@dataclass(slots=True)
class Signals:
    """What the system has asked of this process since it began to listen."""

    stop: bool = False
    writes: int = 0
    """Requests to write and go on (SIGUSR1)."""


@contextmanager
def listening() -> Iterator[Signals]:
    """Note SIGINT, SIGTERM and SIGUSR1 instead of dying of them."""
    heard = Signals()

    def stop(_number: int, _frame: FrameType | None) -> None:
        heard.stop = True

    def ask(_number: int, _frame: FrameType | None) -> None:
        heard.writes += 1

    wanted = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if hasattr(signal, "SIGUSR1"):
        wanted[signal.SIGUSR1] = ask
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class Session:
    """The checkpoint files of one command."""

    file: Path | None
    """Where to write; None to write nothing."""
    folder: Path
    """Parts that are being written, and those to resume from."""
    resumed: Mapping[str, Path] = field(default_factory=dict)
    """Replay → its part to go on from."""

    source: Path | None = None
    """The file that is resumed from."""
    parts: dict[str, Path] = field(default_factory=dict)
    """Replay → where it writes, for all replays of the command."""

    def paths(self, replay: str) -> tuple[Path | None, Path | None]:
        """(where a replay writes its own checkpoint, where it goes on from)."""
        part = None
        if self.file is not None:
            part = self.parts[replay] = self.folder / f"{_plain(replay)}{SUFFIX}"
        return part, self.resumed.get(replay)

    def fit(self, replays: list[str]) -> list[str]:
        """What to say of replays that the file to resume from lacks; an InputError where it has none."""
        missing = [name for name in replays if name not in self.resumed]
        if self.source is None or not missing:
            return []
        if len(missing) == len(replays):
            raise InputError(
                str(self.source),
                f"holds no replay of this command ({', '.join(self.resumed)})",
                "resume with the same cards and variants",
            )
        return [f"From the start, since {self.source} has no state of it: {', '.join(missing)}."]

    def bind(self) -> bool:
        """Put the parts that exist into the one file; whether there was one."""
        parts = {name: path for name, path in self.parts.items() if path.exists()}
        if self.file is None or not parts:
            return False
        tables: dict[str, np.ndarray[Any, Any]] = {
            str(place): np.frombuffer(path.read_bytes(), np.uint8)
            for place, path in enumerate(parts.values())
        }
        write(self.file, Checkpoint({"kind": KIND, "replays": list(parts)}, {}, tables))
        return True


@contextmanager
def session(file: Path | None, resume: Path | None) -> Iterator[Session]:
    """The parts of a command's checkpoint for as long as it runs; both paths are tried before it begins."""
    parent = (file or resume or Path()).parent
    start = None if resume is None else _opened(resume)
    if file is not None:
        make_folder(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".checkpoint-", dir=parent if file is not None else None))
    except OSError as error:
        raise InputError(
            str(parent), f"cannot be written ({error.strerror})", "choose a writable folder for --checkpoint"
        ) from None
    try:
        resumed = {}
        if start is not None:
            for place, name in enumerate(start.header["replays"]):
                resumed[name] = folder / f"{place}.resume"
                resumed[name].write_bytes(start.tables[str(place)].tobytes())
                own = folder / f"{_plain(name)}{SUFFIX}"
                if file is not None:  # a replay that isn't reached again keeps what it had
                    shutil.copyfile(resumed[name], own)
        yield Session(file, folder, resumed, resume)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _opened(path: Path) -> Checkpoint:
    start = read(path)
    if start.header.get("kind") != KIND:
        raise InputError(str(path), "is the checkpoint of a single replay", "resume it with replay(resume=…)")
    return start


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else f"%{ord(letter):x}" for letter in name)
