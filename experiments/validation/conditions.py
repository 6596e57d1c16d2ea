"""What the conditions of a row say in a form that a program can use: sizes, clocks, threads, shapes, types.

Conditions are prose with numbers in it. Each function looks for one thing and gives None where it is not
said.
"""

from __future__ import annotations

import re

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
UNITS = {"b": 1, "kb": KIB, "kib": KIB, "mb": MIB, "mib": MIB, "gb": GIB, "gib": GIB}
NUMBER = r"(\d+(?:\.\d+)?)"
SIZE = re.compile(NUMBER + r"(?:\s*[-–]\s*" + NUMBER + r")?\s*([kKMG]i?B)\b")
FOOTPRINT = re.compile(r"(?:footprint|working set|buffer of|buffer)\s*(?:of\s*)?(<?)\s*" + SIZE.pattern)
CLOCK = re.compile(r"(\d{3,4})\s*MHz")
TYPES = {
    "fp64": "float64", "float64": "float64", "fp32": "float32", "float32": "float32", "fp16": "float16",
    "float16": "float16", "half": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16", "fp8": "float8",
}  # fmt: skip


def size_bytes(text: str, unit: str) -> int:
    """A number with its unit; kB, KB and KiB all mean 1,024 here, as in the published tables."""
    return int(float(text) * UNITS[unit.casefold()])


def footprint_bytes(conditions: str) -> int | None:
    """The working set: the middle of a range, half of what is only bounded (`<20 MB`)."""
    found = FOOTPRINT.search(conditions)
    if not found:
        return None
    low = size_bytes(found[2], found[4])
    if found[3]:
        return (low + size_bytes(found[3], found[4])) // 2
    return low // 2 if found[1] else low


def clock_mhz(conditions: str) -> int | None:
    """The SM clock, if exactly one is named."""
    clocks = {int(one) for one in CLOCK.findall(conditions)}
    return clocks.pop() if len(clocks) == 1 else None


def count_of(conditions: str, pattern: str) -> int | None:
    """The whole number that a pattern with one group finds."""
    found = re.search(pattern, conditions)
    return int(found[1].replace(",", "")) if found else None


def setting(conditions: str, name: str) -> str | None:
    """The value of `name: value` in a list of settings."""
    found = re.search(rf"\b{re.escape(name)}:\s*([^,;]+)", conditions)
    return found[1].strip() if found else None


def whole(conditions: str, name: str) -> int | None:
    """A setting that is a whole number."""
    text = setting(conditions, name)
    return int(text) if text is not None and text.isdigit() else None


def type_of(conditions: str) -> str | None:
    """The data type that is named, if there is exactly one."""
    words = re.findall(r"[a-z0-9]+", conditions.casefold())
    found = {TYPES[word] for word in words if word in TYPES}
    return found.pop() if len(found) == 1 else None


def bracketed_shape(conditions: str) -> tuple[int, ...] | None:
    """The first list of sizes in brackets, such as [64,128,2048]."""
    found = re.search(r"\[(\d+(?:\s*,\s*\d+)+)\]", conditions)
    return tuple(int(one) for one in found[1].split(",")) if found else None
