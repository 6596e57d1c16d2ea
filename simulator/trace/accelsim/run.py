"""A traced run as this project replays it: kernels in order, each read when first asked for, and the copies
that warm L2.

Streams keep their numbers where those are small; a tracer that wrote handles gets numbers in the order of
appearance. A single trace file is a run of one kernel without copies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from hwmodels.errors import InputError
from hwmodels.operations import Operation, operation_from
from simulator.trace.accelsim.copies import with_copies
from simulator.trace.accelsim.header import KernelHeader, read_header
from simulator.trace.accelsim.kernelslist import Copy, read_list, wanted
from simulator.trace.accelsim.reader import KernelReader
from simulator.trace.accelsim.source import Source
from simulator.trace.accelsim.spill import Spill
from simulator.trace.limits import MAX_STREAM
from simulator.trace.schema import KernelTrace

LIST_NAME = "kernelslist.g"
ENDINGS = (".g", ".traceg", ".traceg.xz")


class Kernels(Sequence[KernelTrace]):
    """The kernels of a run; a file is read, and judged line by line, when its kernel is first asked for."""

    def __init__(
        self,
        paths: Sequence[Path],
        streams: Sequence[int],
        copies: Sequence[Copy],
        fallback: Operation | None,
        notes: dict[str, None],
    ) -> None:
        self.paths = paths
        self.streams = streams
        self.copies = copies
        self.fallback = fallback
        self.notes = notes
        self.read: dict[int, KernelTrace] = {}
        self.spill = Spill()

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> KernelTrace: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[KernelTrace]: ...

    def __getitem__(self, index: int | slice) -> KernelTrace | Sequence[KernelTrace]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if index not in self.read:
            reader = KernelReader(self.paths[index], self.fallback, self.streams[index], self.spill)
            before = [(copy.address, copy.bytes) for copy in self.copies if copy.position == index]
            self.read[index] = with_copies(reader.read(), before)
            self.notes.update(dict.fromkeys(reader.notes))
        return self.read[index]

    def __iter__(self) -> Iterator[KernelTrace]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, slots=True)
class AccelSimRun:
    """Kernels with their headers, and copies as (number of the kernel that follows, address, bytes)."""

    kernels: Sequence[KernelTrace]
    headers: tuple[KernelHeader, ...]
    copies: tuple[tuple[int, int, int], ...]
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What the replay leaves out, as far as kernels have been read."""
        return sorted(self.notes)


def is_accelsim(path: str | Path) -> bool:
    """Whether a name is one of this format's, or of a folder with a list."""
    name = Path(path).name
    if (Path(path) / LIST_NAME).is_file():
        return True
    return name.endswith((*ENDINGS, ".trace", ".trace.xz", ".tracez", ".xz")) or name == "kernelslist"


def load_list(path: str | Path, fallback: str | None = None) -> AccelSimRun:
    """The run of a `kernelslist.g`.

    `fallback` names the operation class of unknown opcodes; left out, they are refused. Headers are read and
    judged at once, bodies when a kernel is first asked for. Raises InputError with file, line and remedy.
    """
    listed = read_list(Path(path))
    return _run(listed.kernels, listed.copies, fallback)


def load(path: str | Path, fallback: str | None = None) -> AccelSimRun:
    """The run of a list, of a folder with one, or of a single trace file."""
    path = Path(path)
    if path.is_dir():
        path /= LIST_NAME
    if path.name.endswith(".g"):
        return load_list(path, fallback)
    if path.name.endswith(ENDINGS):
        return _run((path,), (), fallback)
    remedy = wanted(path.name)
    if path.name == "kernelslist":
        remedy = f"run the tracer's post-processing and give its {LIST_NAME}"
    raise InputError(str(path), "is no trace that can be read", remedy)


def _run(paths: tuple[Path, ...], copies: tuple[Copy, ...], fallback: str | None) -> AccelSimRun:
    operation = None if fallback is None else operation_from(fallback, "class for unknown opcodes")
    headers = []
    for path in paths:
        with Source(path) as source:
            headers.append(read_header(source))
    notes: dict[str, None] = {}
    kernels = Kernels(paths, _streams(headers), copies, operation, notes)
    placed = tuple((copy.position, copy.address, copy.bytes) for copy in copies)
    return AccelSimRun(kernels, tuple(headers), placed, notes)


def _streams(headers: Sequence[KernelHeader]) -> list[int]:
    """Stream numbers within the limit of a trace."""
    given = [header.stream for header in headers]
    if max(given, default=0) <= MAX_STREAM:
        return given
    order = {stream: number for number, stream in enumerate(dict.fromkeys(given))}
    if len(order) > MAX_STREAM + 1:
        raise InputError("kernel list", f"{len(order)} streams", f"at most {MAX_STREAM + 1}")
    return [order[stream] for stream in given]
