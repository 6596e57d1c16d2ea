"""The grid launcher: starts the kernels of each stream in order, and gives blocks to SMs that have room for
them.

The machine of the reference engine's file of this name. The kernels with blocks left to place stand in a list
in the order in which they started; a block's record travels with its messages.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.inbox import LAUNCHER, LAUNCHES, arrived_at_launcher, send, settle_launcher
from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import P_NODES, component, node
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.compiled.layout_sm import MOST_BARRIERS, block_at, book_at, kept_block_at, kernel_at
from simulator.machine.compiled.pools import give
from simulator.machine.messages import LAUNCH
from simulator.machine.order import NEVER
from simulator.statistics.record import BARRIERS, BLOCKS, LIMITERS, REGISTERS, SHARED, WARPS

LIMITER_COUNT = len(LIMITERS)


@compiled
def schedule(m: Any, index: int, now_fs: int, ended_fs: int, issued_fs: int) -> None:
    """Set a kernel's start: behind the gap and the host's pace, on a clock edge."""
    kernel = kernel_at(m.kernel_states, index)
    start = max(ended_fs + m.launch_gap_fs, issued_fs + m.host_fs, now_fs)
    kernel.start_fs = -(-start // m.sm_period_fs) * m.sm_period_fs
    kernel.gap_fs = kernel.start_fs - ended_fs
    store(m.stream_current, kernel.stream, index)
    own = component(m.components, LAUNCHER)
    own.next_fs = min(own.next_fs, kernel.start_fs)


# --- placing ------------------------------------------------------------------------------------------------


@inlined
def _shared_left(kernel: Any, book: Any) -> int:
    """An empty SM takes the kernel's carve-out; another keeps its own while blocks live on it."""
    return book.shared if book.resident else kernel.carveout


@compiled
def _lacks(m: Any, kernel: Any, book: Any) -> int:
    """Every limiter that keeps a block off this SM, as a bit mask."""
    lacking = 0
    warps = 0
    hold = 0
    for sub in range(m.sub_cores):
        warps += book.warps[sub]
        if kernel.registers:
            hold += book.registers[sub] // kernel.registers
    if kernel.registers and hold < kernel.warps:
        lacking |= 1 << REGISTERS
    if kernel.shared > _shared_left(kernel, book):
        lacking |= 1 << SHARED
    if warps < kernel.warps:
        lacking |= 1 << WARPS
    if book.blocks < 1:
        lacking |= 1 << BLOCKS
    if book.barriers < kernel.barriers:
        lacking |= 1 << BARRIERS
    return lacking


@compiled
def _spread(m: Any, kernel: Any, book: Any) -> int:
    """Give each warp to the sub-core with the most free slots (lowest number on ties) that has its registers,
    into `chosen`; whether all have a place.
    """
    for sub in range(m.sub_cores):
        m.spread_warps[sub] = book.warps[sub]
        m.spread_registers[sub] = book.registers[sub]
    for index in range(kernel.warps):
        best = -1
        for sub in range(m.sub_cores):
            free = m.spread_warps[sub]
            fits = free > 0 and m.spread_registers[sub] >= kernel.registers
            if fits and (best < 0 or free > m.spread_warps[best]):
                best = sub
        if best < 0:
            return 0
        m.spread_warps[best] -= 1
        m.spread_registers[best] -= kernel.registers
        m.chosen[index] = best
    return 1


@inlined
def _has_room(m: Any, index: int, kernel: Any, book: Any) -> int:
    """Whether an SM has room for a block of a kernel, then with its sub-cores in `chosen`. What it refuses it
    refuses until something in its book changes.
    """
    if book.refused == index + 1:
        return 0
    if not _lacks(m, kernel, book) and _spread(m, kernel, book):
        return 1
    book.refused = index + 1
    return 0


@compiled
def _find_sm(m: Any, index: int, kernel: Any) -> int:
    """The SM with the fewest blocks, then the lowest number, that has room; −1 for none."""
    best = -1
    for sm in range(m.sms):
        book = book_at(m.books, sm)
        if best >= 0 and book.resident >= book_at(m.books, best).resident:
            continue
        if _has_room(m, index, kernel, book):
            best = sm
    if best >= 0:
        _spread(m, kernel, book_at(m.books, best))
    return best


@compiled
def _book(kernel: Any, book: Any, block: Any, sign: int) -> None:
    for index in range(block.warps):
        sub = block.sub_core[index]
        book.warps[sub] -= sign
        book.registers[sub] -= sign * kernel.registers
    book.shared -= sign * kernel.shared
    book.blocks -= sign
    book.barriers -= sign * kernel.barriers
    book.resident += sign
    book.refused = 0


@compiled
def _launch(m: Any, index: int, sm: int, now_fs: int) -> None:
    """Send the next block of a kernel to an SM, to the sub-cores in `chosen`."""
    kernel = kernel_at(m.kernel_states, index)
    book = book_at(m.books, sm)
    number = m.block_free
    block = block_at(m.blocks, number)
    m.block_free = block.next
    block.kernel = index
    block.index = kernel.next_block
    block.warps = kernel.warps
    block.live = kernel.warps
    block.running = kernel.warps
    block.sm = sm
    for warp in range(kernel.warps):
        block.sub_core[warp] = m.chosen[warp]
    for barrier in range(MOST_BARRIERS):
        block.arrived[barrier] = 0
    if not book.resident:
        book.carveout = kernel.carveout
        book.shared = kernel.carveout
    _book(kernel, book, block, 1)
    block.carveout = book.carveout
    kernel.next_block += 1
    period = m.sm_period_fs
    arrival_fs = (now_fs + m.block_launch_fs + period - 1) // period * period
    send(m, 1 + sm, LAUNCHES, arrival_fs, LAUNCH, number, 0)


@compiled
def _mark_blocked(m: Any, kernel: Any, cycle: int) -> None:
    """Say which resources of the emptiest SM hold the next block back from now on."""
    best = 0
    for sm in range(1, m.sms):
        if book_at(m.books, sm).resident < book_at(m.books, best).resident:
            best = sm
    book = book_at(m.books, best)
    lacking = _lacks(m, kernel, book)
    fits = book.carveout - book.shared + kernel.shared <= m.largest_carveout
    if fits and lacking >> SHARED & 1 and lacking != 1 << SHARED:
        # A larger carve-out would hold the block; this one was chosen because something else does not.
        lacking &= ~(1 << SHARED)
    kernel.blocked = lacking if lacking else 1 << WARPS
    kernel.blocked_since = cycle


@compiled
def _stop_running(m: Any, place: int) -> None:
    """Take a kernel off the list of those with blocks to place."""
    kernel_at(m.kernel_states, load(m.running, place)).running = 0
    m.running_count -= 1
    for other in range(place, m.running_count):
        store(m.running, other, load(m.running, other + 1))


@compiled
def _place_one(m: Any, now_fs: int, cycle: int) -> int:
    """Place the next block of the first running kernel that fits anywhere; whether one did."""
    for place in range(m.running_count):
        index = load(m.running, place)
        kernel = kernel_at(m.kernel_states, index)
        sm = _find_sm(m, index, kernel)
        if sm < 0:
            _mark_blocked(m, kernel, cycle)
            continue
        _launch(m, index, sm, now_fs)
        m.free_millicycle = max(m.free_millicycle, 1000 * cycle) + m.step_millicycles
        if kernel.next_block == kernel.blocks:
            _stop_running(m, place)
        return 1
    return 0


# --- time ---------------------------------------------------------------------------------------------------


@compiled
def _take_back(m: Any, number: int, now_fs: int) -> None:
    """A block has ended: its resources are free, and the next kernel of the stream may be due."""
    block = block_at(m.blocks, number)
    index = block.kernel
    kernel = kernel_at(m.kernel_states, index)
    _book(kernel, book_at(m.books, block.sm), block, -1)
    kernel.done += 1
    if block.index < m.keep_blocks:
        # The log has room for that many blocks of every kernel.
        one = kept_block_at(m.kept_blocks, m.kept_block_count)
        m.kept_block_count += 1
        one.kernel = index
        one.index = block.index
        one.sm = block.sm
        one.start_fs = block.start_fs
        one.end_fs = block.end_fs
    kernel.end_fs = max(kernel.end_fs, block.end_fs)
    block.next = m.block_free
    m.block_free = number
    if kernel.done == kernel.blocks and kernel.following >= 0:
        schedule(m, kernel.following, now_fs, kernel.end_fs, kernel.start_fs)


@compiled
def _account_blocked(m: Any, cycle: int) -> None:
    for place in range(m.running_count):
        kernel = kernel_at(m.kernel_states, load(m.running, place))
        for limiter in range(LIMITER_COUNT):
            if kernel.blocked >> limiter & 1:
                kernel.blocked_cycles[limiter] += cycle - kernel.blocked_since
        kernel.blocked = 0


@compiled
def _start_kernels(m: Any, now_fs: int) -> None:
    """Put kernels whose time has come into the list, by start and number."""
    for stream in range(m.streams):
        index = load(m.stream_current, stream)
        kernel = kernel_at(m.kernel_states, index)
        if kernel.start_fs < 0 or kernel.start_fs > now_fs or kernel.next_block or kernel.running:
            continue
        kernel.running = 1
        place = m.running_count
        while place > 0:
            other = load(m.running, place - 1)
            before = kernel_at(m.kernel_states, other).start_fs
            if before < kernel.start_fs or (before == kernel.start_fs and other < index):
                break
            store(m.running, place, other)
            place -= 1
        store(m.running, place, index)
        m.running_count += 1


@compiled
def tick(m: Any, _ident: int, now_fs: int) -> None:
    """Take finished blocks back, start kernels whose time has come, place blocks, find the next time."""
    cycle = now_fs // m.sm_period_fs
    _account_blocked(m, cycle)
    while True:
        entry = arrived_at_launcher(m, now_fs)
        if entry < 0:
            break
        number = node(m.nodes, entry).what
        give(m, P_NODES, entry)
        _take_back(m, number, now_fs)
    _start_kernels(m, now_fs)
    placed = 1
    while placed and m.running_count and m.free_millicycle < 1000 * (cycle + 1):
        placed = _place_one(m, now_fs, cycle)
    following = NEVER
    if m.running_count and placed:
        following = max(now_fs + m.sm_period_fs, m.free_millicycle // 1000 * m.sm_period_fs)
    for stream in range(m.streams):
        start_fs = kernel_at(m.kernel_states, load(m.stream_current, stream)).start_fs
        if now_fs < start_fs:
            following = min(following, start_fs)
    settle_launcher(m, following)


def turn(here: int, ident: int, end_fs: int) -> int:
    """All ticks of a component up to the end of its turn."""
    m = machine_at(here, 0)
    own = component(m.components, ident)
    while own.next_fs < end_fs:
        own.ticked_fs = own.next_fs
        tick(m, ident, own.next_fs)
    return 0
