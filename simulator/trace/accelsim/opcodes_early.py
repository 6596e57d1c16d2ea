"""Mnemonics of Kepler (sm_3x), Maxwell (sm_5x) and Pascal (sm_6x), beside the common ones.

Reconvergence instructions (SSY, PBK, PRET and the like) occupy the branch unit and do nothing else, since a
trace already says who ran. The 16-bit multiply-adds of Maxwell and Pascal (XMAD) count as IMAD.
"""

from hwmodels.operations import Operation
from simulator.trace.accelsim.opcode import ALWAYS, MAYBE, NEVER, Opcode, row, table
from simulator.trace.accelsim.opcodes_common import COMMON, TEXTURE_CYCLES, TEXTURE_NOTE

_O = Operation

_EARLY = table(
    COMMON.values(),
    row(_O.ALU, ALWAYS, (0, 3), "FCMP ICMP BFE BFI ISET DMNMX DSET"),
    row(_O.ALU, ALWAYS, (0, 2), "RRO CSET PSET"),
    row(_O.IMAD, ALWAYS, (1, 3), "IMADSP"),
    row(_O.PREDICATE, NEVER, (0, 2), "CSETP"),
    row(_O.BRANCH, NEVER, (0, 1), "CAL JCAL BRK CONT PRET"),
    row(_O.NOP, NEVER, (0, 1), "SSY PBK PCNT"),
)

KEPLER: dict[str, Opcode] = table(
    _EARLY.values(),
    row(_O.FADD, ALWAYS, (1, 2), "FSWZ"),
    row(_O.ALU, ALWAYS, (1, 3), "ISUB ISAD"),
    row(_O.LDS, ALWAYS, (0, 1), "LDSLK"),
    row(_O.STS, NEVER, (1, 2), "STSCUL"),
    row(_O.STG, NEVER, (1, 3), "STG"),
    row(_O.ALU, MAYBE, (0, 3), "SUCLAMP SUBFM SUEAU"),
    row(_O.OPAQUE, MAYBE, (0, 5), "SULDGA SUSTGA", latency_cycles=TEXTURE_CYCLES, note=TEXTURE_NOTE),
)

MAXWELL: dict[str, Opcode] = table(
    _EARLY.values(),
    row(_O.IMAD, ALWAYS, (1, 3), "XMAD"),
    row(_O.ALU, ALWAYS, (0, 3), "IADD3 LEA LOP3 VADD VMNMX VABSDIFF VABSDIFF4 ISAD VSHL VSHR VSET"),
    row(_O.IMAD, ALWAYS, (1, 3), "VMAD IDP"),
    row(_O.PREDICATE, NEVER, (0, 2), "VSETP LEPC PLOP3"),
    row(_O.HADD2, ALWAYS, (1, 2), "HADD2 HADD2_32I HSET2"),
    row(_O.HMUL2, ALWAYS, (1, 2), "HMUL2 HMUL2_32I"),
    row(_O.HFMA2, ALWAYS, (1, 3), "HFMA2 HFMA2_32I"),
    row(_O.PREDICATE, NEVER, (0, 2), "HSETP2"),
    row(_O.S2R, ALWAYS, (0, 0), "CS2R"),
    row(_O.MOVE, NEVER, (0, 1), "R2B"),
    row(_O.STG, NEVER, (1, 3), "STG"),
    row(_O.ATOMS, ALWAYS, (0, 4), "ATOMS"),
    row(_O.NOP, NEVER, (0, 2), "CCTLT PMTRIG", ignores_addresses=True),
    row(_O.BRANCH, NEVER, (0, 1), "SYNC KILL RTT LONGJMP PEXIT PLONGJMP RAM SAM"),
    row(
        _O.OPAQUE,
        MAYBE,
        (0, 5),
        "TEXS TLDS TLD4S TXD TMML TXA SUATOM SULD SURED SUST",
        latency_cycles=TEXTURE_CYCLES,
        note=TEXTURE_NOTE,
    ),
)
