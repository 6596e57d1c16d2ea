"""Mnemonics of Volta (sm_70, sm_72) and Turing (sm_75), beside the common ones.

Turing adds the uniform data path, whose registers a trace does not list, and matrix loads from shared
memory. Convergence instructions occupy the branch unit and do nothing else. Tensor instructions name one
class here; `tensor` picks the shape from the suffixes.
"""

from hwmodels.operations import Operation
from simulator.trace.accelsim.opcode import ALWAYS, MAYBE, NEVER, Opcode, row, table
from simulator.trace.accelsim.opcodes_common import COMMON, TEXTURE_CYCLES, TEXTURE_NOTE

_O = Operation
_SLEEP = "the time asleep is not in the trace, so it is left out"

VOLTA: dict[str, Opcode] = table(
    COMMON.values(),
    row(_O.HADD2, ALWAYS, (0, 2), "HADD2 HADD2_32I HSET2 HMNMX2"),
    row(_O.HMUL2, ALWAYS, (0, 2), "HMUL2 HMUL2_32I"),
    row(_O.HFMA2, ALWAYS, (0, 3), "HFMA2 HFMA2_32I"),
    row(_O.HMMA_884_F32, ALWAYS, (1, 4), "HMMA"),
    row(_O.PREDICATE, NEVER, (0, 3), "HSETP2 PLOP3 CSMTEST"),
    row(_O.ALU, ALWAYS, (0, 3), "BMSK BREV IABS IADD3 LEA VABSDIFF VABSDIFF4 SGXT"),
    row(_O.ALU, MAYBE, (0, 4), "LOP3"),
    row(_O.IMAD, ALWAYS, (0, 3), "IDP IDP4A"),
    row(_O.CONVERT, ALWAYS, (0, 2), "FRND I2IP F2IP"),
    row(_O.S2R, ALWAYS, (0, 0), "CS2R GETLMEMBASE LEPC"),
    row(_O.MOVE, NEVER, (0, 2), "R2B SETCTAID SETLMEMBASE"),
    row(_O.VOTE, MAYBE, (0, 2), "MATCH VOTE_VTG"),
    row(_O.VOTE, MAYBE, (0, 2), "QSPC", ignores_addresses=True),
    row(_O.IMMA_8816, ALWAYS, (1, 4), "IMMA"),
    row(_O.STG, NEVER, (1, 3), "STG"),
    row(_O.ATOMG, MAYBE, (0, 5), "ATOMG"),
    row(_O.ATOMS, MAYBE, (0, 5), "ATOMS"),
    row(_O.NOP, MAYBE, (0, 2), "CCTLT ERRBAR PMTRIG", ignores_addresses=True),
    row(_O.NOP, MAYBE, (0, 2), "BMOV BSSY YIELD WARPSYNC RPCMOV"),
    row(_O.NOP, NEVER, (0, 1), "NANOSLEEP", note=_SLEEP),
    row(_O.BRANCH, NEVER, (0, 2), "BREAK BSYNC CALL KILL RTT"),
    row(
        _O.OPAQUE,
        MAYBE,
        (0, 5),
        "TXD TMML SUATOM SULD SUQUERY SURED SUST",
        latency_cycles=TEXTURE_CYCLES,
        note=TEXTURE_NOTE,
    ),
)

TURING: dict[str, Opcode] = table(
    VOLTA.values(),
    row(_O.HMMA_1688_F32, ALWAYS, (1, 4), "HMMA"),
    row(_O.BMMA_88128, ALWAYS, (1, 4), "BMMA"),
    row(_O.MOVE, ALWAYS, (0, 1), "MOVM"),
    row(_O.LDSM, ALWAYS, (0, 1), "LDSM"),
    row(_O.BRANCH, NEVER, (0, 2), "BRXU JMXU"),
    row(_O.MOVE, MAYBE, (0, 2), "R2UR S2UR UMOV UP2UR UR2UP"),
    row(_O.LDC, NEVER, (0, 0), "ULDC", ignores_addresses=True),
    row(
        _O.ALU,
        NEVER,
        (0, 2),
        "UBMSK UBREV UCLEA UFLO UIADD3 UIADD3_64 UIMAD UISETP ULEA ULOP ULOP3 ULOP32I UPLOP3 UPOPC UPRMT "
        "UPSETP USEL USGXT USHF USHL USHR",
    ),
    row(_O.VOTE, NEVER, (0, 1), "VOTEU"),
)
