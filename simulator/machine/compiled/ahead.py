"""What a component will touch when its turn comes, asked for while another one works.

All components together touch far more in a turn than a processor's caches hold, so each would wait for
memory at every step. What a message is about is known one component earlier. Nothing is changed here, and no
result depends on it.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import layout, layout_sm
from simulator.machine.compiled.inbox import WAYS
from simulator.machine.compiled.jit import ahead, compiled, inlined, load, load_bits, lowest_bit
from simulator.machine.compiled.l1_port import MISS, TOKEN_BITS
from simulator.machine.compiled.l1_tags import ask_l1_line
from simulator.machine.compiled.l2_misses import ask_packet
from simulator.machine.compiled.l2_tags import ask_set, set_index
from simulator.machine.compiled.layout import message, node, tape
from simulator.machine.compiled.layout_sm import mshr, sub_core, waiter_at
from simulator.machine.compiled.sm_events import EVENT_CYCLES, WAKE_CYCLES, warp_of
from simulator.machine.compiled.tapes import after
from simulator.machine.messages import ACK, LINK_REQUEST, REPLY, REQUEST
from simulator.machine.order import NEVER

MOST = 28
"""Messages of a tape that are looked at: about what arrives in a turn."""
ask_line = ahead(layout.CACHE_LINE)
ask_mshr = ahead(layout_sm.MSHR)
ask_waiter = ahead(layout_sm.WAITER)
REQUEST_LINES = 2
"""Lines of a request that its end reads and writes."""
EVENT_LINES = EVENT_CYCLES * layout_sm.EVENTS.itemsize // layout.LINE_BYTES
WARP_LINES = 2
"""Lines of a warp that the end of a request reads and writes."""
WARP_STRIDE = layout_sm.WARP.itemsize // layout.LINE_BYTES
REQUEST_STRIDE = layout_sm.REQUEST.itemsize // layout.LINE_BYTES
INTEGERS = layout.LINE_BYTES // layout.INTEGER_BYTES
TOKEN_MASK = (1 << TOKEN_BITS) - 1
MESSAGE_BYTES = layout.MESSAGE.itemsize
LINES_OF_MESSAGES = 6
MESSAGES, LOOK_UPS, WAITERS, REQUESTS = range(4)
"""What is asked for: the messages themselves; where a slice looks a request up; the packet of an answer and
who waits for it; the request that this one belongs to, and when the registers of warps that may issue can be
read.
"""


@inlined
def _look_up(m: Any, one: Any) -> None:
    ask_packet(m.packets, one.what)
    ask_set(m, set_index(m, one.slice, one.line))


@inlined
def _waiter(m: Any, one: Any) -> None:
    ask_packet(m.packets, one.what)
    who = one.extra >> TOKEN_BITS
    if one.extra & TOKEN_MASK == MISS:
        ask_mshr(m.mshrs, who)
    else:
        ask_waiter(m.waiters, who)


@inlined
def _request(m: Any, one: Any) -> None:
    who = one.extra >> TOKEN_BITS
    if one.extra & TOKEN_MASK == MISS:
        slot = mshr(m.mshrs, who).slot
        if slot >= 0:
            ask_l1_line(m.l1_lines, slot)
            ask_line(m.l1_stamps + layout.INTEGER_BYTES * slot, 0)
        entry = mshr(m.mshrs, who).first
        who = node(m.nodes, entry).what if entry >= 0 else 0
    part = waiter_at(m.waiters, who)
    for line in range(REQUEST_LINES):
        ask_line(m.requests, part.request * REQUEST_STRIDE + line)
    for line in range(WARP_LINES):
        ask_line(m.warps, part.warp * WARP_STRIDE + line)


@inlined
def _events(m: Any, sm: int) -> None:
    """Ask for the events of the cycles ahead."""
    for line in range(EVENT_LINES * sm, EVENT_LINES * (sm + 1)):
        ask_line(m.events, line)


@inlined
def _candidates(m: Any, sm: int) -> None:
    """Ask for the warps that are looked at now or are booked for a cycle ahead, and for their registers."""
    for word in range(m.slot_words):
        at = m.slot_words * sm + word
        left = load_bits(m.looked, at)
        for wake in range(WAKE_CYCLES * at, WAKE_CYCLES * (at + 1)):
            left |= load_bits(m.wakes, wake)
        while left:
            bit = lowest_bit(left)
            left &= left - 1
            place = load(m.places, layout_sm.WORD_BITS * word + bit)
            index = warp_of(m, sub_core(m.sub_core_states, m.sub_cores * sm + place), bit)
            ask_line(m.warps, index * WARP_STRIDE)
            row = m.ready + layout.INTEGER_BYTES * m.registers * index
            for line in range(-(-m.registers // INTEGERS)):
                ask_line(row, line)


@inlined
def _messages(m: Any, ident: int) -> None:
    """Ask for the messages themselves."""
    first = m.q_inbox + WAYS * ident
    for which in range(first, first + WAYS):
        one = tape(m.tapes, which)
        if one.first < NEVER:
            for line in range(min(LINES_OF_MESSAGES, one.tail + 1 - one.head)):
                ask_line(m.messages + MESSAGE_BYTES * one.head, line)


@compiled
def look_ahead(m: Any, ident: int, what: int) -> None:
    """Ask for what the messages in a component's inbox are about, and what else it will look at."""
    if what == MESSAGES:
        _messages(m, ident)
        return
    if what == REQUESTS:
        _events(m, ident - 1)
        _candidates(m, ident - 1)
    first = m.q_inbox + WAYS * ident
    for which in range(first, first + WAYS):
        at = tape(m.tapes, which).head
        left = MOST if tape(m.tapes, which).first < NEVER else 0
        while left:
            one = message(m.messages, at)
            if what == LOOK_UPS:
                if one.kind in (REQUEST, LINK_REQUEST):
                    _look_up(m, one)
            elif one.kind in (REPLY, ACK):
                if what == WAITERS:
                    _waiter(m, one)
                else:
                    _request(m, one)
            if at == tape(m.tapes, which).tail:
                break
            at = after(m, at)
            left -= 1
