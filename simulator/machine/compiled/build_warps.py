"""Where the bits of an SM's warp slots stand: those of a sub-core together in one integer, those of several
sub-cores in the same one as far as it has room.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hwmodels import Gpu
from simulator.machine.compiled import layout_sm
from simulator.machine.compiled.lsu import QUEUES
from simulator.machine.compiled.sm_events import WAKE_CYCLES
from simulator.machine.compiled.store import Store


def slot_words(gpu: Gpu) -> int:
    """Integers that have a bit for each warp slot of an SM, those of a sub-core in the same one."""
    together = layout_sm.WORD_BITS // (gpu.sm.warp_slots // gpu.sm.sub_cores)
    return -(-gpu.sm.sub_cores // together)


def warp_bits(store: Store, gpu: Gpu, subs: Any, warps: Any) -> None:
    """Where the bits of each sub-core's warps stand, and the tables that have one for each warp."""
    warps["slot"] = np.arange(gpu.sm.warp_slots)
    sms, sub_cores, words = gpu.sm_count, gpu.sm.sub_cores, slot_words(gpu)
    slots = gpu.sm.warp_slots // sub_cores
    together = layout_sm.WORD_BITS // slots
    places = np.zeros((words, layout_sm.WORD_BITS), np.int64)
    for place in range(sub_cores):
        first = place % together * slots
        end = first + slots
        own = subs[place::sub_cores]
        own["word"] = np.arange(sms) * words + place // together
        own["first_warp"] = np.arange(sms) * gpu.sm.warp_slots + place - first * sub_cores
        own["mask"] = _signed((1 << end) - (1 << first))
        own["above"] = _signed((1 << layout_sm.WORD_BITS) - (1 << end))
        places[place // together, first:end] = place
        warps["sub"][:, place::sub_cores] = np.arange(place, len(subs), sub_cores)[:, None]
        warps["bit"][:, place::sub_cores] = np.arange(first, end)
    store.put("places", places)
    free = store.integers("free_slots", sms * words)
    np.bitwise_or.at(free, subs["word"], subs["mask"])
    store.integers("looked", sms * words)
    store.integers("throttled", sms * words * QUEUES)
    store.integers("wakes", sms * words * WAKE_CYCLES)


def _signed(bits: int) -> int:
    """The integer that has these 64 bits."""
    return bits - (bits >> 63 << 64)
