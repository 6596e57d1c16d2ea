"""Which command of a pseudo-channel of DRAM may go now: the oldest candidate whose time has come.

Both searches also note when to look again, so that a channel is not searched on clocks on which nothing can
be legal. That clock is a lower bound: looking earlier, or again, finds the same.
"""

# ruff: noqa: PLR1730 - comparisons instead of min() and max(): the hottest code of the memory side.
from simulator.machine.reference.dram_queue import KEY_MASK, NONE
from simulator.machine.state_dram import FAR, READ, WRITE, PseudoChannel


def column_candidate(pc: PseudoChannel, ck: int) -> int:
    """Key of the oldest request whose column command is legal now, else NONE and when to look again."""
    mode = pc.mode
    keys = pc.column_keys[mode]
    wake = pc.next_column[mode]
    if not keys or pc.refresh_all:
        pc.column_wake = FAR
        return NONE
    if wake > ck:
        pc.column_wake = wake
        return NONE
    wake = FAR
    banks = pc.banks
    groups = pc.group_column[mode]
    for key in keys:
        bank = banks[key & KEY_MASK]
        legal = bank.next_column[mode]
        group = groups[bank.group]
        if group > legal:
            legal = group
        if legal <= ck:
            return key
        if legal < wake:
            wake = legal
    pc.column_wake = wake
    return NONE


def row_candidate(pc: PseudoChannel, ck: int) -> int:
    """Key of the oldest request whose bank can be precharged or activated for it now; else NONE."""
    pc.row_wake = FAR
    if pc.refresh_all:
        return NONE
    mode = pc.mode
    wake = FAR
    banks = pc.banks
    earliest = pc.next_act
    groups = pc.group_act
    for key in pc.row_keys[mode]:
        bank = banks[key & KEY_MASK]
        if bank.open_row >= 0:
            legal = bank.next_pre
        else:
            legal = bank.next_act
            if earliest > legal:
                legal = earliest
            group = groups[bank.group]
            if group > legal:
                legal = group
        if legal <= ck:
            pc.row_wake = ck
            return key
        if legal < wake:
            wake = legal
    if mode == WRITE:
        for key in pc.row_keys[READ]:
            bank = banks[key & KEY_MASK]
            if bank.waiting[WRITE]:
                continue
            legal = bank.next_pre
            if bank.open_row < 0:
                legal = max(bank.next_act, earliest, groups[bank.group])
            if legal <= ck:
                pc.row_wake = ck
                return key
            if legal < wake:
                wake = legal
    pc.row_wake = wake
    return NONE
