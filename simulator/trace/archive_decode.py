"""Reads the JSON header of a trace file back into traces, believing nothing: every key, type and size is
judged.

What the numbers mean is `check`'s business; here they only have to be whole numbers of bounded size in the
right places. NaN, infinity, fractions, unknown and repeated keys are refused.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hwmodels.errors import InputError, unknown
from hwmodels.operations import operation_from
from simulator.trace import limits
from simulator.trace.archive_encode import DEFAULTS, FORMAT, MEETING, PLAIN_HEADER, VERSION
from simulator.trace.archive_members import PACKED, PACKED_LIMIT_BYTES, PAGES, TABLES, unpacked
from simulator.trace.archive_values import keys, listed, no_number, no_repeats, refuse, text, whole, wholes
from simulator.trace.expression import MAX_LOOP_DEPTH, Expression, Term, Variable
from simulator.trace.recording import Recording, RecordingPage
from simulator.trace.schema import Guard, Instruction, KernelTrace, Loop, Program, TensorInfo

MAX_KERNELS = 100_000
MAX_PAGES = 100_000
KERNEL_KEYS = {*PLAIN_HEADER, "grid", "block", "operators", "tensors", "meta", "instructions", "expressions"}
RECORDING_KEYS = {"statics", "fetch_addresses", "accesses", "pages"}
INTEGER_FIELDS = ("mask", "bytes_per_lane", "operator", "dst_tensor", "latency", "count")

ReadArray = Callable[[str, str], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class KernelHead:
    """A kernel as the header has it; its arrays are still to be read."""

    number: int
    trace: KernelTrace
    recording: dict[str, Any] | None

    def members(self) -> set[str]:
        """The array members that belong to the kernel."""
        if self.recording is None:
            return set()
        if self.recording[PACKED] is not None:
            return {f"kernel{self.number}/{PACKED}.npy"}
        pages = {self.page(index, name) for index in range(self.recording["pages"]) for name in PAGES}
        return pages | {f"kernel{self.number}/{name}.npy" for name in TABLES}

    def page(self, index: int, name: str) -> str:
        """The name of a page's member."""
        return f"kernel{self.number}/page{index}/{name}.npy"

    def finish(self, read: ReadArray) -> KernelTrace:
        """The whole trace, its arrays read by `read(member, kind)`."""
        if self.recording is None:
            return self.trace
        pages: tuple[RecordingPage, ...]
        if self.recording[PACKED] is not None:
            member = f"kernel{self.number}/{PACKED}.npy"
            arrays = unpacked(member, read(member, PACKED), self.recording[PACKED])
            tables = {name: arrays[name] for name in TABLES}
            pages = (RecordingPage(**{name: arrays[name] for name in PAGES}),)
        else:
            tables = {name: read(f"kernel{self.number}/{name}.npy", name) for name in TABLES}
            pages = tuple(
                RecordingPage(**{name: read(self.page(index, name), name) for name in PAGES})
                for index in range(self.recording["pages"])
            )
        recording = Recording(
            instructions=self.recording["statics"],
            fetch_addresses=self.recording["fetch_addresses"],
            accesses=self.recording["accesses"],
            pages=pages,
            **tables,
        )
        header = {
            name: getattr(self.trace, name)
            for name in (*KERNEL_KEYS - {"instructions", "expressions"}, MEETING)
        }
        return KernelTrace(**header, recording=recording)


def header_members(kernels: list[KernelHead]) -> set[str]:
    """All array members that the file must have."""
    return {name for kernel in kernels for name in kernel.members()}


def decode_header(data: bytes) -> list[KernelHead]:
    """The kernels of a header, without their arrays."""
    try:
        document = json.loads(
            data.decode("ascii"),
            parse_constant=no_number,
            parse_float=no_number,
            object_pairs_hook=no_repeats,
        )
    except (ValueError, RecursionError) as error:
        raise InputError("header.json", f"is not valid ({error})", "write the file again") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        refuse("header.json", "is not the header of a trace", f"its format must be {FORMAT!r}")
    if document.get("version") != VERSION:
        refuse(
            "header.json", f"schema version {document.get('version')!r}", f"version {VERSION} is understood"
        )
    keys("header.json", document, {"format", "version", "kernels"})
    kernels = listed("header.json: kernels", document["kernels"], MAX_KERNELS)
    if not kernels:
        refuse("header.json", "has no kernel", "write at least one")
    return [KernelDecoder(number, kernel).decode() for number, kernel in enumerate(kernels)]


class KernelDecoder:
    """Reads one kernel: expressions first, then instructions, then what refers to them."""

    def __init__(self, number: int, document: Any) -> None:
        self.number = number
        self.place = f"header.json: kernel {number}"
        if not isinstance(document, dict):
            refuse(self.place, "is no object", "write the file again")
        self.document: dict[str, Any] = document
        self.expressions: list[Expression] = []
        self.instructions: list[Instruction] = []

    def decode(self) -> KernelHead:
        """The kernel without its arrays."""
        document, place = self.document, self.place
        content = "recording" if "recording" in document else "program"
        keys(place, document, KERNEL_KEYS | {content} | ({MEETING} & document.keys()))
        most = limits.MAX_STATIC_INSTRUCTIONS
        for number, one in enumerate(listed(f"{place}, expressions", document["expressions"], most)):
            self.expressions.append(self.expression(f"{place}, expression {number}", one))
        for number, one in enumerate(listed(f"{place}, instructions", document["instructions"], most)):
            self.instructions.append(self.instruction(f"{place}, instruction {number}", one))
        header: dict[str, Any] = {
            name: whole(f"{place}, {name}", document[name])
            for name in PLAIN_HEADER
            if name not in {"name", "form"}
        }
        header["name"], header["form"] = (
            text(f"{place}, name", document["name"]),
            text(place, document["form"]),
        )
        for name in ("grid", "block"):
            sizes = wholes(f"{place}, {name}", document[name], 3)
            if len(sizes) != 3:
                refuse(f"{place}, {name}", f"{len(sizes)} sizes", "give three")
            header[name] = sizes
        names = listed(f"{place}, operators", document["operators"], limits.MAX_NAMES)
        header["operators"] = tuple(text(f"{place}, operators", one) for one in names)
        tensors = listed(f"{place}, tensors", document["tensors"], limits.MAX_NAMES)
        header["tensors"] = tuple(
            self.tensor(f"{place}, tensor {index}", one) for index, one in enumerate(tensors)
        )
        pairs = listed(f"{place}, meta", document["meta"], limits.MAX_NAMES)
        header["meta"] = tuple(self.pair(f"{place}, meta", one) for one in pairs)
        header[MEETING] = wholes(f"{place}, {MEETING}", document.get(MEETING, []), limits.MAX_BARRIERS)
        if content == "recording":
            return KernelHead(self.number, KernelTrace(**header), self.recording(document["recording"]))
        body = self.body(f"{place}, program", document["program"], 0)
        return KernelHead(self.number, KernelTrace(**header, program=Program(body)), None)

    def tensor(self, place: str, value: Any) -> TensorInfo:
        parts = listed(place, value, 4)
        if len(parts) != 4:
            refuse(place, f"{len(parts)} entries", "give name, bytes, address, kind")
        return TensorInfo(
            text(place, parts[0]), whole(place, parts[1], 0), whole(place, parts[2], 0), text(place, parts[3])
        )

    def pair(self, place: str, value: Any) -> tuple[str, str]:
        parts = listed(place, value, 2)
        if len(parts) != 2:
            refuse(place, "is no pair", "give key and value")
        return text(place, parts[0]), text(place, parts[1])

    def expression(self, place: str, value: Any) -> Expression:
        parts = listed(place, value, limits.MAX_TERMS + 1)
        if not parts:
            refuse(place, "is empty", "give at least the constant")
        terms = []
        for part in parts[1:]:
            coefficient, offset, divisor, modulus, *rest = (*wholes(place, part, 64), 0, 0, 0, 0)[
                : max(4, len(part))
            ]
            if len(part) < 4 or len(rest) % 2:
                refuse(place, "has a term with a piece missing", "write the file again")
            variables = tuple(
                (Variable(whole(place, variable, 0, len(Variable) - 1)), factor)
                for variable, factor in zip(rest[::2], rest[1::2], strict=True)
            )
            terms.append(Term(coefficient, variables, offset, divisor, modulus))
        return Expression(whole(place, parts[0]), tuple(terms))

    def instruction(self, place: str, value: Any) -> Instruction:
        if not isinstance(value, dict) or "operation" not in value:
            refuse(place, "is no instruction", "write the file again")
        fields: dict[str, Any] = {}
        for name, one in value.items():
            where = f"{place}, {name[:40]}"
            if name not in DEFAULTS:
                raise unknown(place, "field", name[:40], DEFAULTS)
            if name == "operation":
                fields[name] = operation_from(text(where, one), where)
            elif name in {"dst", "src", "src_tensors"}:
                fields[name] = wholes(where, one, limits.MAX_OPERANDS)
            elif name in {"address", "shared_address"}:
                fields[name] = self.expressions[self.reference(where, one, self.expressions)]
            elif name == "guards":
                guards = listed(where, one, limits.MAX_GUARDS)
                fields[name] = tuple(self.guard(where, wholes(where, guard, 3)) for guard in guards)
            elif name == "cache":
                fields[name] = text(where, one)
            elif name == "taken":
                fields[name] = one is True
            else:
                fields[name] = whole(where, one)
        return Instruction(**fields)

    def guard(self, place: str, parts: tuple[int, ...]) -> Guard:
        if len(parts) != 3:
            refuse(place, "is no guard", "give expression, low, high")
        return Guard(self.expressions[self.reference(place, parts[0], self.expressions)], parts[1], parts[2])

    def reference(self, place: str, value: Any, table: list[Any]) -> int:
        """A number that refers to an entry of a table."""
        return whole(place, value, 0, len(table) - 1)

    def body(self, place: str, value: Any, depth: int) -> tuple[Instruction | Loop, ...]:
        if depth > MAX_LOOP_DEPTH:
            refuse(
                place, f"loops nest deeper than {MAX_LOOP_DEPTH}", "merge loops by // and % of one counter"
            )
        items: list[Instruction | Loop] = []
        for position, one in enumerate(listed(place, value, limits.MAX_STATIC_INSTRUCTIONS)):
            where = f"{place}[{position}]"
            if not isinstance(one, list):
                items.append(self.instructions[self.reference(where, one, self.instructions)])
                continue
            if len(one) != 2:
                refuse(where, "is no loop", "give trips and body")
            trips = self.expressions[self.reference(where, one[0], self.expressions)]
            items.append(Loop(trips, self.body(where, one[1], depth + 1)))
        return tuple(items)

    def recording(self, value: Any) -> dict[str, Any]:
        place = f"{self.place}, recording"
        if not isinstance(value, dict):
            refuse(place, "is no object", "write the file again")
        keys(place, value, RECORDING_KEYS | ({PACKED} & value.keys()))
        most = limits.MAX_STATIC_INSTRUCTIONS
        statics = [
            self.reference(place, one, self.instructions) for one in listed(place, value["statics"], most)
        ]
        accesses = wholes(f"{place}, accesses", value["accesses"], most)
        return {
            "statics": tuple(self.instructions[one] for one in statics),
            "fetch_addresses": tuple(
                whole(place, one, 0) for one in listed(place, value["fetch_addresses"], most)
            ),
            "accesses": tuple(whole(f"{place}, accesses", one, 0, 2) for one in accesses),
            "pages": whole(f"{place}, pages", value["pages"], 0, MAX_PAGES),
            PACKED: self.packed(place, value) if PACKED in value else None,
        }

    @staticmethod
    def packed(place: str, value: dict[str, Any]) -> list[tuple[str, int]]:
        """Type and rows of each array of a packed recording, which has one page."""
        parts = listed(f"{place}, {PACKED}", value[PACKED], len(TABLES) + len(PAGES))
        if len(parts) != len(TABLES) + len(PAGES) or value["pages"] != 1:
            refuse(place, "is packed, but not of one page with all arrays", "write the file again")
        found = []
        for part in parts:
            pair = listed(f"{place}, {PACKED}", part, 2)
            if len(pair) != 2:
                refuse(place, "has an array without type or size", "write the file again")
            found.append((text(place, pair[0]), whole(place, pair[1], 0, PACKED_LIMIT_BYTES)))
        return found
