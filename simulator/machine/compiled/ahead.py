"""What a component will touch when its turn comes, asked for while another one works.

All components together touch far more in a window than a processor's caches hold, so each would wait for
memory at every step. What a message is about is known one component earlier. Nothing is changed here, and no
result depends on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.machine.compiled import layout, layout_sm
from simulator.machine.compiled.inbox import WAYS
from simulator.machine.compiled.jit import ahead, compiled
from simulator.machine.compiled.l1_port import MISS, TOKEN_BITS
from simulator.machine.compiled.l2_misses import chain_of
from simulator.machine.compiled.l2_tags import set_index
from simulator.machine.compiled.layout import node, ordered
from simulator.machine.compiled.layout_sm import mshr, waiter_at
from simulator.machine.messages import ACK, LINK_REQUEST, REPLY, REQUEST

MOST = 12
"""Messages of a queue that are looked at: about what arrives in a window."""
LINE = np.dtype((np.void, layout.LINE_BYTES))
ask_line = ahead(LINE)
ask_packet = ahead(layout.PACKET)
ask_mshr = ahead(layout_sm.MSHR)
ask_waiter = ahead(layout_sm.WAITER)
ask_warp_head = ahead(np.dtype((np.void, 2 * layout.LINE_BYTES)))
REQUEST_LINES = 5
REQUEST_STRIDE = layout_sm.REQUEST.itemsize // layout.LINE_BYTES


@compiled
def to_partition(m: Any, ident: int) -> None:
    """Ask for what the requests in an inbox will be looked up in."""
    first = m.q_inbox + WAYS * ident
    for which in range(first, first + WAYS):
        entry = ordered(m.ordered, which).head
        left = MOST
        while entry >= 0 and left:
            one = node(m.nodes, entry)
            if one.kind in (REQUEST, LINK_REQUEST):
                ask_packet(m.packets, one.what)
                row = set_index(m, one.slice, one.line) * m.l2_ways
                for line in range(0, m.l2_ways, 8):
                    ask_line(m.l2_tags + 8 * (row + line), 0)
                    ask_line(m.l2_stamps + 8 * (row + line), 0)
                ask_line(m.miss_heads + 8 * chain_of(m, one.slice, one.line), 0)
            entry = one.next
            left -= 1


@compiled
def to_sm(m: Any, ident: int) -> None:
    """Ask for the packets of the answers in an inbox, and for who waits for them."""
    first = m.q_inbox + WAYS * ident
    for which in range(first, first + WAYS):
        entry = ordered(m.ordered, which).head
        left = MOST
        while entry >= 0 and left:
            one = node(m.nodes, entry)
            if one.kind in (REPLY, ACK):
                ask_packet(m.packets, one.what)
                who = one.extra >> TOKEN_BITS
                if one.extra & ((1 << TOKEN_BITS) - 1) == MISS:
                    ask_mshr(m.mshrs, who)
                else:
                    ask_waiter(m.waiters, who)
            entry = one.next
            left -= 1


@compiled
def to_requests(m: Any, ident: int) -> None:
    """Ask for the requests that those who wait belong to."""
    first = m.q_inbox + WAYS * ident
    for which in range(first, first + WAYS):
        entry = ordered(m.ordered, which).head
        left = MOST
        while entry >= 0 and left:
            one = node(m.nodes, entry)
            if one.kind in (REPLY, ACK):
                who = one.extra >> TOKEN_BITS
                if one.extra & ((1 << TOKEN_BITS) - 1) == MISS:
                    waits = mshr(m.mshrs, who).first
                    who = node(m.nodes, waits).what if waits >= 0 else 0
                asked = waiter_at(m.waiters, who).request
                for line in range(REQUEST_LINES):
                    ask_line(m.requests, asked * REQUEST_STRIDE + line)
            entry = one.next
            left -= 1
