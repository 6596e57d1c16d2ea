"""Every reader of files that come from strangers: sound files to damage, and how a damaged one is packed and
read.

What is compressed or carries checksums is damaged inside and packed again, or a reader would see nothing but
a wrong checksum.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.simulator.trace.accelsim.writer import copy_kernel

ROOT = Path(__file__).resolve().parents[2]
Pack = Callable[[bytes, bytes], bytes]


def as_it_is(damaged: bytes, _sound: bytes) -> bytes:
    return damaged


def nothing(_folder: Path) -> None:
    """No other file is needed."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader and what it is tried with."""

    name: str
    file_name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    packed: tuple[Pack, ...] = (as_it_is,)
    """Ways from a damaged content to a file; one of them for each case."""
    beside: Callable[[Path], object] = nothing
    """Puts the files there that the damaged one names."""


# --- zip archives: a member is damaged, the archive is sound


def member_damaged(damaged: bytes, sound: bytes) -> bytes:
    """The sound archive with one member replaced by the damaged bytes (the choice follows from them)."""
    with zipfile.ZipFile(io.BytesIO(sound)) as archive:
        names = archive.namelist()
        contents = {name: archive.read(name) for name in names}
    dice = random.Random(len(damaged) * 7919 + sum(damaged[:64]))
    chosen = names[dice.randrange(len(names))]
    from tests.fuzz.damage import damaged as damage

    contents[chosen] = damage(contents[chosen], dice)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return content.getvalue()


@cache
def traces() -> list[bytes]:
    from simulator.trace import archive
    from simulator.trace.kernels import from_spec

    found = []
    for spec in ("kernel:copy,megabytes=0.01", "kernel:chase,kilobytes=8,stride=128,loads=16"):
        content = io.BytesIO()
        archive.write(from_spec(spec), content)
        found.append(content.getvalue())
    return found


# --- others


def configs() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "experiments/configs").glob("*.yaml"))]


def cards() -> list[bytes]:
    own = b"extends: v100-sxm2-16gb\nname: mine\nscale: 1/4\n"
    own += b"register_file: {size_kib: {value: 128, unit: KiB}}\n"
    shipped = sorted((ROOT / "hwmodels/cards").glob("a*.yaml"))
    return [own, *(path.read_bytes() for path in shipped)]


@cache
def models() -> list[bytes]:
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    relu = helper.make_node("Relu", ["y"], ["z"])
    graph = helper.make_graph(
        [node, relu],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4, 8, 8])],
        [helper.make_tensor("w", TensorProto.FLOAT, [4, 4, 3, 3], [0.0] * 144)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    data: bytes = model.SerializeToString()
    onnx.checker.check_model(model)
    return [data]


def kineto() -> list[bytes]:
    launch = {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "pid": 1,
        "tid": 1,
        "ts": 1,
        "dur": 2,
    }
    figures = {
        "External id": 5,
        "queued": 0,
        "device": 0,
        "context": 1,
        "stream": 7,
        "correlation": 11,
        "registers per thread": 32,
        "shared memory": 0,
        "blocks per SM": 2.0,
        "warps per SM": 16.0,
        "grid": [216, 1, 1],
        "block": [256, 1, 1],
        "est. achieved occupancy %": 25,
    }
    kernel = {
        "ph": "X",
        "cat": "kernel",
        "name": "relu",
        "pid": 0,
        "tid": 7,
        "ts": 5,
        "dur": 3,
        "args": figures,
    }
    operator = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::relu",
        "pid": 1,
        "tid": 1,
        "ts": 0,
        "dur": 9,
        "args": {"External id": 5, "Input Dims": [[16, 64, 8, 8]], "Input type": ["float"]},
    }
    device = {
        "id": 0,
        "name": "NVIDIA A100-SXM4-40GB",
        "totalGlobalMem": 42_505_273_344,
        "computeMajor": 8,
        "computeMinor": 0,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536,
        "regsPerMultiprocessor": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": 49152,
        "sharedMemPerMultiprocessor": 167_936,
        "numSms": 108,
        "sharedMemPerBlockOptin": 166_912,
    }
    events = [operator, launch | {"args": {"correlation": 11, "External id": 5}}, kernel]
    return [json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}).encode()]


def nsight() -> list[bytes]:
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",'
    head += '"Block Size","Grid Size",'
    head += '"Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"\n'
    row = '"0","12","app","host","copy(float *)","1","7","(256, 1, 1)","(1024, 1, 1)","0","8.0",'
    metrics = (("Launch Statistics", "Registers Per Thread", "register/thread", "32"),)
    metrics += (("GPU Speed Of Light Throughput", "Duration", "us", "1,234.5"),)
    body = "".join(row + ",".join(f'"{word}"' for word in words) + "\n" for words in metrics)
    return [("==PROF== Connected to process 12\nhello\n" + head + body).encode()]


def measurements() -> list[bytes]:
    text = (ROOT / "experiments/data/published_measurements.csv").read_bytes()
    return [b"\n".join(text.splitlines()[:12]) + b"\n"]


@cache
def store() -> list[bytes]:
    import tempfile

    from experiments.sweep.store import Store

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        with Store(path) as made:
            made.claim("key", "about")
            made.put("key", {"cycles": 5}, "", 0.5)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return [path.read_bytes()]


@cache
def checkpoints() -> list[bytes]:
    from simulator.machine.checkpoint.file import Checkpoint, pack

    return [pack(Checkpoint({"engine": "reference", "cycle": 5}, {"units": [], "objects": []}))]


# --- how they are read


def read_trace(path: Path) -> object:
    from simulator.trace import archive

    return archive.load(path)


def read_accelsim(path: Path) -> object:
    from simulator.trace.accelsim import load
    from simulator.trace.check import check

    return [check(kernel) for kernel in load(path).kernels]


def read_config(path: Path) -> object:
    from experiments.config import load_config

    return load_config(str(path))


def read_card(path: Path) -> object:
    from hwmodels import Gpu

    return Gpu.from_card(str(path))


def read_onnx(path: Path) -> object:
    from simulator.workload.onnx_import import import_onnx

    return import_onnx(path)


def read_kineto(path: Path) -> object:
    from experiments.profiles.opened import read_profile
    from experiments.profiles.profile import Profile
    from experiments.profiles.tables import kernel_rows, summary

    profile = read_profile(path)
    if isinstance(profile, Profile):
        return summary(profile, kernel_rows(profile))
    return profile


def read_nsight(path: Path) -> object:
    from experiments.profiles.nsight import read_nsight as read

    return read(path)


def read_store(path: Path) -> object:
    from experiments.sweep.store import Store

    with Store(path, 0.01) as found:
        return found.claim("key", "about"), found.get(["key", "other"]), found.attempts()


def read_checkpoint(path: Path) -> object:
    from simulator.machine.checkpoint.file import read

    return read(path)


def read_measurements(path: Path) -> Any:
    from experiments.validation.measurements import read_file as read

    return read(path)


def sound_kernel(folder: Path) -> object:
    return (folder / "kernel-1.traceg").write_text(copy_kernel(1, 32).text())


def traceg() -> list[bytes]:
    return [copy_kernel(2, 40).text().encode()]


def gzipped(damaged: bytes, _sound: bytes) -> bytes:
    return gzip.compress(damaged, 1)


def xz(damaged: bytes, _sound: bytes) -> bytes:
    return lzma.compress(damaged, preset=0)


LIST = b"MemcpyHtoD,0x7f0000000000,64\nkernel-1.traceg\n"

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader(
            "trace-archive", "one.trace.npz", traces, read_trace, (as_it_is, member_damaged, member_damaged)
        ),
        Reader("traceg", "kernel-1.traceg", traceg, read_accelsim),
        Reader("traceg-xz", "kernel-1.traceg.xz", traceg, read_accelsim, (xz, xz, as_it_is)),
        Reader("kernelslist", "kernelslist.g", lambda: [LIST], read_accelsim, beside=sound_kernel),
        Reader("config", "one.yaml", configs, read_config),
        Reader("card", "card.yaml", cards, read_card),
        Reader("onnx", "one.onnx", models, read_onnx),
        Reader("kineto", "one.json", kineto, read_kineto),
        Reader("kineto-gzip", "one.json.gz", kineto, read_kineto, (gzipped, gzipped, as_it_is)),
        Reader("nsight", "one.csv", nsight, read_nsight),
        Reader("store", "store.sqlite", store, read_store),
        Reader("checkpoint", "one.checkpoint", checkpoints, read_checkpoint),
        Reader("measurements", "rows.csv", measurements, read_measurements),
    )
}
