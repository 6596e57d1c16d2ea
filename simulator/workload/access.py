"""How often each value is read and written, and at which level of the memory hierarchy, under a plan.

One access is an operator that reads or writes a tensor whole, as in the data-flow analysis; where the value
lives between writer and reader decides the level. Tiles that are read again and sectors that hit in a cache
are the trace's and the replay's business.
"""

from dataclasses import dataclass

from simulator.workload.dataflow import DataFlow, Life
from simulator.workload.graph import Graph
from simulator.workload.residence import CHANCE, GLOBAL, REGISTERS, SHARED, VIEW, Residence

LEVELS = (REGISTERS, SHARED, CHANCE, GLOBAL, VIEW)


@dataclass(frozen=True, slots=True)
class Accesses:
    """One tensor: reads and writes by level, in the order of `LEVELS`."""

    tensor: str
    bytes: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def accesses(graph: Graph, flow: DataFlow, residences: tuple[Residence, ...]) -> tuple[Accesses, ...]:
    """The accesses of every tensor of a graph, given where its edges live."""
    edges: dict[str, list[Residence]] = {}
    for residence in residences:
        edges.setdefault(residence.edge.tensor, []).append(residence)
    return tuple(of_tensor(graph, life, edges.get(life.tensor, [])) for life in flow.lives)


def of_tensor(graph: Graph, life: Life, edges: list[Residence]) -> Accesses:
    """One tensor. What comes from outside is read from global memory; what is made is written to each place
    where a reader finds it, and to global memory where it leaves the graph.
    """
    places = [edge.lives_in for edge in edges] if life.writes else [GLOBAL] * life.reads
    reads = tuple(places.count(level) for level in LEVELS)
    written = set(places) if life.writes else set()
    if CHANCE in written or (life.writes and (not places or graph.tensors[life.tensor].kind == "output")):
        # L2 is written on the way to memory: chance decides only where the reader finds it.
        written = written - {CHANCE} | {GLOBAL}
    return Accesses(life.tensor, life.bytes, reads, tuple(int(level in written) for level in LEVELS))


def bytes_by_level(found: tuple[Accesses, ...]) -> dict[str, dict[str, int]]:
    """Bytes read and written at each level that is used."""
    totals = {
        level: {
            "read": sum(one.bytes * one.reads[at] for one in found),
            "written": sum(one.bytes * one.writes[at] for one in found),
        }
        for at, level in enumerate(LEVELS)
    }
    return {level: both for level, both in totals.items() if any(both.values())}
