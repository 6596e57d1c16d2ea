"""Which command of a pseudo-channel of DRAM may go now: the oldest candidate whose time has come.

Both searches also note when to look again; that clock is a lower bound.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.dram_queue import KEY_MASK, NONE
from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_memory import MOST_GROUPS, bank_at, pseudo
from simulator.machine.state_dram import FAR, READ, WRITE


@compiled
def column_candidate(m: Any, where: int, ck: int) -> int:
    """Key of the oldest request whose column command is legal now, else NONE and when to look again."""
    pc = pseudo(m.pseudos, where)
    mode = pc.mode
    size = pc.keys[mode]
    if not size or pc.refresh_all:
        pc.column_wake = FAR
        return NONE
    if pc.next_column[mode] > ck:
        pc.column_wake = pc.next_column[mode]
        return NONE
    wake = FAR
    first = (where * 4 + mode) * m.bank_count
    for index in range(size):
        key = load(m.key_table, first + index)
        bank = bank_at(m.banks, where * m.bank_count + (key & KEY_MASK))
        legal = max(bank.next_column[mode], pc.group_column[mode * MOST_GROUPS + bank.group])
        if legal <= ck:
            return key
        wake = min(wake, legal)
    pc.column_wake = wake
    return NONE


@inlined
def row_legal(pc: Any, bank: Any) -> int:
    """First clock at which a bank can be precharged, or activated where it is closed."""
    if bank.open_row >= 0:
        return bank.next_pre
    return max(bank.next_act, pc.next_act, pc.group_act[bank.group])


@compiled
def row_candidate(m: Any, where: int, ck: int) -> int:
    """Key of the oldest request whose bank can be precharged or activated for it now; else NONE."""
    pc = pseudo(m.pseudos, where)
    pc.row_wake = FAR
    if pc.refresh_all:
        return NONE
    mode = pc.mode
    wake = FAR
    first = (where * 4 + 2 + mode) * m.bank_count
    for index in range(pc.keys[2 + mode]):
        key = load(m.key_table, first + index)
        legal = row_legal(pc, bank_at(m.banks, where * m.bank_count + (key & KEY_MASK)))
        if legal <= ck:
            pc.row_wake = ck
            return key
        wake = min(wake, legal)
    if mode == WRITE:
        first = (where * 4 + 2 + READ) * m.bank_count
        for index in range(pc.keys[2 + READ]):
            key = load(m.key_table, first + index)
            bank = bank_at(m.banks, where * m.bank_count + (key & KEY_MASK))
            if bank.waiting[WRITE]:
                continue
            legal = row_legal(pc, bank)
            if legal <= ck:
                pc.row_wake = ck
                return key
            wake = min(wake, legal)
    pc.row_wake = wake
    return NONE
