"""A packed file gives back the very same recording, always as the same bytes; damage to it is one line."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hwmodels.errors import InputError
from simulator.trace.accelsim import load as load_run
from simulator.trace.archive import load, save
from simulator.trace.builder import KernelBuilder
from simulator.trace.expand import expand, recorded
from tests.simulator.trace.accelsim.writer import copy_kernel

HEADER, PACKED = "header.json", "kernel0/packed.npy"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    trace = load_run(copy_kernel(3, 64).write(tmp_path / "kernel-1.traceg")).kernels[0]
    return save(trace, tmp_path / "packed.trace.npz", packed=True)


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_same_recording_from_either_file(tmp_path: Path) -> None:
    k = KernelBuilder("plain", grid=2, block=32)
    k.fadd(1, 2, 3)
    traces = [
        load_run(copy_kernel(3, 64).write(tmp_path / "kernel-1.traceg")).kernels[0],
        recorded(k.build()),
        k.build(),
    ]
    packed = save(traces, tmp_path / "packed.trace.npz", packed=True)
    plain = save(traces, tmp_path / "plain.trace.npz")
    assert packed.stat().st_size < plain.stat().st_size / 2
    assert set(members(packed)) == {HEADER, PACKED, "kernel1/packed.npy"}
    for one, other, source in zip(load(packed), load(plain), traces, strict=True):
        assert list(expand(one)) == list(expand(other)) == list(expand(source))
    assert save(load(plain), tmp_path / "again.trace.npz", packed=True).read_bytes() == packed.read_bytes()


def test_a_large_recording_keeps_a_member_for_each_array(tmp_path: Path) -> None:
    trace = load_run(copy_kernel(60, 256, turns=20).write(tmp_path / "kernel-1.traceg")).kernels[0]
    names = members(save(trace, tmp_path / "large.trace.npz", packed=True))
    assert PACKED not in names
    assert "kernel0/strides.npy" in names


def layout(document: Any) -> list[Any]:
    found: list[Any] = document["kernels"][0]["recording"]["packed"]
    return found


DAMAGE = {
    "another type": lambda parts: parts[0].__setitem__(0, "|O"),
    "no type": lambda parts: parts[0].__setitem__(0, 7),
    "too many rows": lambda parts: parts[0].__setitem__(1, parts[0][1] + 1),
    "far too many rows": lambda parts: parts[0].__setitem__(1, 1 << 40),
    "too few rows": lambda parts: parts[-1].__setitem__(1, parts[-1][1] - 1),
    "negative rows": lambda parts: parts[0].__setitem__(1, -1),
    "an array less": lambda parts: parts.pop(),
    "an array more": lambda parts: parts.append(["<i8", 0]),
    "no pair": lambda parts: parts.__setitem__(0, ["<i4"]),
    "no list": lambda parts: parts.__setitem__(0, "<i4"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line(kind: str, file: Path) -> None:
    data = members(file)
    document = json.loads(data[HEADER])
    DAMAGE[kind](layout(document))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(HEADER, json.dumps(document))
        archive.writestr(PACKED, data[PACKED])
    with pytest.raises(InputError) as caught:
        load(file)
    assert "\n" not in str(caught.value)
    assert str(file) in caught.value.place
