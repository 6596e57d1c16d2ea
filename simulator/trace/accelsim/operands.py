"""From the suffixes of a mnemonic to bytes a lane, tensor shape and cache operator, and from the first
register of each operand to all of them.

A trace names only the first register of a vector, so a consumer of the third word of a 128-bit load would
not wait for it. Widths follow the instruction set; what an operand's place can't tell (which source of
IMAD.WIDE was a constant) stays as it is.
"""

import re

from hwmodels.operations import Operation, is_atomic, is_load, is_store, is_tensor
from simulator.trace.schema import RZ

WIDTH = re.compile(r"[USF]?(8|16|32|64|128|256)(?:x(2|4))?")
TYPED = re.compile(r"[BTF]*[USF](?:8|16|32|64)")
ROW_BYTES = 16
_O = Operation
# Registers of A, B, and of C and D: halves are two to a register.
TENSOR_REGISTERS = {
    _O.HMMA_884_F16: (2, 2, 2),
    _O.HMMA_884_F32: (2, 2, 2),
    _O.HMMA_1688_F16: (2, 1, 2),
    _O.HMMA_1688_F32: (2, 1, 4),
    _O.HMMA_16816_F16: (4, 2, 2),
    _O.HMMA_16816_F32: (4, 2, 4),
    _O.TF32_1684: (2, 1, 4),
    _O.TF32_1688: (4, 2, 4),
    _O.IMMA_8816: (1, 1, 2),
    _O.IMMA_16816: (2, 1, 4),
    _O.IMMA_16832: (4, 2, 4),
    _O.BMMA_88128: (1, 1, 2),
    _O.BMMA_168256: (4, 2, 4),
    _O.DMMA_884: (2, 2, 4),
}
# A sparse shape takes the time of the dense one of half the depth, a 4-bit one that of the 8-bit one.
HALF_SHAPES = {
    "HMMA": {"884": "884", "1688": "1688", "16816": "16816"},
    "SPHMMA": {"16816": "1688", "16832": "16816"},
    "TF32": {"1684": "1684", "1688": "1688"},
    "SPTF32": {"1688": "1684", "16816": "1688"},
    "IMMA": {"8816": "8816", "16816": "16816", "16832": "16832", "8832": "8816", "16864": "16832"},
    "SPIMMA": {"16832": "16816", "16864": "16832", "168128": "16832"},
    "BMMA": {"88128": "88128", "168128": "88128", "168256": "168256"},
    "DMMA": {"884": "884", "1684": "884", "1688": "884", "16816": "884"},
}


def bytes_per_lane(name: str, suffixes: list[str]) -> int:
    """Bytes that a lane accesses; matrix loads and stores move rows of 16 bytes."""
    if name in {"LDSM", "STSM"}:
        return ROW_BYTES
    for suffix in suffixes:
        match = WIDTH.fullmatch(suffix)
        if match:
            return int(match[1]) * int(match[2] or 1) // 8
    return 4


def matrices(suffixes: list[str]) -> int:
    """How many 8×8 matrices LDSM or STSM moves; each takes the addresses of 8 lanes."""
    return int(suffixes[-1]) if suffixes and suffixes[-1] in {"2", "4"} else 1


def tensor(name: str, suffixes: list[str]) -> Operation | None:
    """The class of a tensor instruction, None for a shape that is not known."""
    family = "TF32" if name == "HMMA" and "TF32" in suffixes else name
    shape = next((suffix for suffix in suffixes if suffix.isdigit()), "")
    shape = HALF_SHAPES.get(("SP" if "SP" in suffixes else "") + family, {}).get(shape, "")
    if not shape:
        return None
    if family == "HMMA":
        result = next((suffix for suffix in suffixes if suffix in {"F16", "F32"}), "F32")
        return Operation[f"HMMA_{shape}_{result}"]
    return Operation[f"{family}_{shape}"]


def cache_operator(operation: Operation, suffixes: list[str]) -> str:
    """The cache operator of the schema; volatile and strong accesses go to L2."""
    if operation in {Operation.LDG, Operation.LD, Operation.LDGSTS}:
        for suffix, operator in (
            ("CG", "cg"),
            ("BYPASS", "cg"),
            ("STRONG", "cg"),
            ("CS", "cs"),
            ("EF", "cs"),
        ):
            if suffix in suffixes:
                return operator
        return "cv" if "CV" in suffixes else "lu" if "LU" in suffixes else "ca"
    return "ca"


def span(first: int, count: int, registers: int) -> tuple[int, ...]:
    """`count` registers from `first` as far as the thread has them; RZ stays alone."""
    if first == RZ:
        return (RZ,)
    return tuple(range(first, max(first + 1, min(first + count, registers))))


def pair(first: int, registers: int) -> tuple[int, ...]:
    """A 64-bit address: pairs begin at even registers."""
    return span(first, 1 if first % 2 else 2, registers)


def widen(
    name: str,
    operation: Operation,
    suffixes: list[str],
    dst: list[int],
    src: list[int],
    registers: int,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All registers of destinations and sources."""
    into, sources = _counts(name, operation, suffixes, len(src))
    spans = [span(one, count, registers) for one, count in zip(src, sources, strict=True)]
    if "E" in suffixes and src and (is_load(operation) or is_store(operation) or is_atomic(operation)):
        at = len(src) - 1 if operation is Operation.LDGSTS else 0
        if len(src) > 1 or not is_store(operation):
            spans[at] = pair(src[at], registers)
    return (
        tuple(register for one in dst for register in span(one, into, registers)),
        tuple(register for one in spans for register in one),
    )


def _counts(name: str, operation: Operation, suffixes: list[str], sources: int) -> tuple[int, list[int]]:
    """Registers of the destination and of each source."""
    single = [1] * sources
    if is_tensor(operation):
        a, b, c = TENSOR_REGISTERS[operation]
        return c, [a, b, c, *single][:sources]
    if operation is Operation.LDGSTS:
        return 1, single
    if name in {"LDSM", "STSM"}:
        count = matrices(suffixes)
        return count, ([1] + [count] * sources)[:sources]
    if is_load(operation) or is_store(operation) or is_atomic(operation):
        words = max(1, bytes_per_lane(name, suffixes) // 4)
        if "CAS" in suffixes and sources == 2:
            words *= 2  # before Volta one operand holds what to compare with and what to write
            return words // 2, [1, words]
        if is_store(operation) and sources == 1:
            return 1, [words]
        return words, ([1] + [1 if is_load(operation) else words] * sources)[:sources]
    if operation in {Operation.DADD, Operation.DMUL, Operation.DFMA} or name == "DSETP":
        return 2, [2] * sources
    if name in {"DMNMX", "DSET"}:
        return 2 if name == "DMNMX" else 1, [2] * sources
    if operation is Operation.CONVERT:
        into, out_of = _converted(name, suffixes)
        return into, [out_of] * sources
    if name == "IMAD" and "WIDE" in suffixes:
        return 2, ([1, 1, 2] if sources == 3 else single)
    return (2 if name == "CS2R" and "32" not in suffixes else 1), single


def _converted(name: str, suffixes: list[str]) -> tuple[int, int]:
    """Registers of the result and of the source of a conversion."""
    sizes = [2 if suffix.endswith("64") else 1 for suffix in suffixes if TYPED.fullmatch(suffix)]
    if len(sizes) > 1:
        return sizes[0], sizes[1]
    wide = sizes[0] if sizes else 1
    from_source = name == "F2I" or (name == "I2F" and "F64" not in suffixes)
    return (1, wide) if from_source else (wide, 1)
