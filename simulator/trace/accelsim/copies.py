"""Host-to-device copies of a traced run: kept with the kernel that follows, and what of them is in L2.

A copy passes through L2, so its last bytes are there when the kernel starts, as far as later copies leave
room. Replays fill L2 once, before the first kernel: copies between kernels count as if they had come then,
which is right for data that only later kernels read, unless an earlier kernel has pushed them out.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from hwmodels.errors import InputError
from simulator.trace.schema import ADDRESS_LIMIT, KernelTrace

KEY = "copied"
COPY = re.compile(r"0x([0-9a-f]{1,12}):(\d{1,15})")
Copies = tuple[tuple[int, int], ...]


def with_copies(trace: KernelTrace, copies: Iterable[tuple[int, int]]) -> KernelTrace:
    """The trace, remembering (address, bytes) of the copies before it."""
    added = tuple((KEY, f"0x{address:x}:{size}") for address, size in copies)
    return replace(trace, meta=(*trace.meta, *added)) if added else trace


def copies_of(trace: KernelTrace) -> Copies:
    """(address, bytes) of the copies before a kernel, whichever file it came from."""
    found = []
    for key, text in trace.meta:
        if key == KEY:
            match = COPY.fullmatch(text)
            address, size = (int(match[1], 16), int(match[2])) if match else (0, ADDRESS_LIMIT + 1)
            if address + size > ADDRESS_LIMIT:
                raise InputError(
                    f"kernel {trace.name!r}", f"{text[:40]!r} is no copy", "write 0x<address>:<bytes>"
                )
            found.append((address, size))
    return tuple(found)


def resident(traces: Iterable[KernelTrace], l2_bytes: int) -> Copies:
    """The ends of the copies that an L2 of this size still holds, in the order in which they came."""
    left = l2_bytes
    kept: list[tuple[int, int]] = []
    for address, size in reversed([copy for trace in traces for copy in copies_of(trace)]):
        held = min(size, left)
        if held:
            kept.append((address + size - held, held))
            left -= held
    return tuple(reversed(kept))
