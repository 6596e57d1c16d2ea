"""Writes traces in the tracer's text format from addresses and masks: the tests' own idea of the format."""

import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

LANES = 32
FULL = 0xFFFFFFFF


def addresses_text(addresses: Sequence[int], mask: int, mode: int) -> str:
    """The addresses of the active lanes in one of the three modes (the caller picks one that can say it)."""
    active = [addresses[lane] for lane in range(LANES) if mask >> lane & 1]
    if mode == 0:
        return " ".join(["0", *(f"0x{address:016x}" for address in active)])
    if not active:
        return "1 0x0 0"
    if mode == 1:
        stride = active[1] - active[0] if len(active) > 1 else 0
        return f"1 0x{active[0]:x} {stride}"
    steps = [str(after - before) for before, after in pairwise(active)]
    return " ".join(["2", f"0x{active[0]:x}", *steps])


def line(
    pc: int,
    mask: int,
    opcode: str,
    dst: Sequence[int] = (),
    src: Sequence[int] = (),
    addresses: Sequence[int] | None = None,
    mode: int = 1,
    immediate: int = 0,
) -> tuple[str, int]:
    """One instruction line less its immediate, and the immediate."""
    parts = [f"{pc:04x}", f"{mask:08x}", str(len(dst)), *(f"R{one}" for one in dst), opcode]
    parts += [str(len(src)), *(f"R{one}" for one in src)]
    parts.append("0" if addresses is None else f"4 {addresses_text(addresses, mask, mode)}")
    return " ".join(parts), immediate


@dataclass
class Writer:
    """A kernel's file. `warps[(block, warp)]` are lines of `line`; blocks are (x, y, z)."""

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    registers: int = 32
    shared: int = 0
    binary: int = 70
    stream: int = 0
    version: int = 5
    line_info: bool = False
    shared_base: int = 0
    local_base: int = 0
    name: str = "kernel"
    warps: dict[tuple[tuple[int, int, int], int], list[tuple[str, int]]] = field(default_factory=dict)

    def header(self) -> str:
        """All header lines and the comment."""
        return "\n".join(
            (
                f"-kernel name = {self.name}",
                "-kernel id = 1",
                f"-grid dim = ({','.join(map(str, self.grid))})",
                f"-block dim = ({','.join(map(str, self.block))})",
                f"-shmem = {self.shared}",
                f"-nregs = {self.registers}",
                f"-binary version = {self.binary}",
                f"-cuda stream id = {self.stream}",
                f"-shmem base_addr = 0x{self.shared_base:016x}",
                f"-local mem base_addr = 0x{self.local_base:016x}",
                "-nvbit version = 1.7.1",
                f"-accelsim tracer version = {self.version}",
                f"-enable lineinfo = {int(self.line_info)}",
                "",
                "#traces format = any",
                "",
            )
        )

    def text(self) -> str:
        """The whole file."""
        parts = [self.header()]
        x, y, z = self.grid
        threads = self.block[0] * self.block[1] * self.block[2]
        for number in range(x * y * z):
            place = (number % x, number // x % y, number // (x * y))
            parts += ["", "#BEGIN_TB", "", f"thread block = {','.join(map(str, place))}"]
            for warp in range(-(-threads // LANES)):
                lines = self.warps[place, warp]
                parts += ["", f"warp = {warp}", f"insts = {len(lines)}"]
                for text, immediate in lines:
                    words = text + (f" {immediate}" if self.version >= 5 else "") + " "
                    if self.line_info:
                        words = f"12 {words}"
                    if self.version < 3:
                        words = f"{' '.join(map(str, place))} {warp} {words}"
                    parts.append(words)
            parts += ["", "#END_TB"]
        return "\n".join(parts) + "\n"

    def write(self, path: Path) -> Path:
        """The file under a name; `.xz` packs it."""
        data = self.text().encode()
        path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)
        return path


def copy_kernel(
    blocks: int = 4, threads: int = 256, registers: int = 16, turns: int = 1, **fields: object
) -> Writer:
    """y = x, four bytes a thread and turn."""
    writer = Writer((blocks, 1, 1), (threads, 1, 1), registers, **fields)  # type: ignore[arg-type]
    for block in range(blocks):
        for warp in range(-(-threads // LANES)):
            mask = (1 << min(LANES, threads - LANES * warp)) - 1
            lines = [line(0, mask, "S2R", [0]), line(16, mask, "IMAD.WIDE", [2], [0, 1])]
            for turn in range(turns):
                thread = (turn * blocks + block) * threads + warp * LANES
                x = [0x7F0000000000 + 4 * (thread + lane) for lane in range(LANES)]
                y = [0x7F0100000000 + 4 * (thread + lane) for lane in range(LANES)]
                lines.append(line(32, mask, "LDG.E.SYS", [4], [2], x))
                lines.append(line(48, mask, "STG.E.SYS", [], [6, 4], y))
                lines.append(line(64, mask, "BRA", [], []))
            lines.append(line(80, mask, "EXIT"))
            writer.warps[(block, 0, 0), warp] = lines
    return writer
