"""Data-flow analysis of a graph as it is executed operator by operator: who produces what for whom, how long
each intermediate lives, how many bytes are moved.

Counts are of the unfused execution with unpadded tensors: each operator reads each distinct input once and
writes each output once. What kernels really move, with tiles and caches, is the trace's business.
"""

from dataclasses import dataclass
from itertools import accumulate

from simulator.workload.graph import Graph, Operator


@dataclass(frozen=True, slots=True)
class Edge:
    """One producer–consumer pair."""

    producer: str
    consumer: str
    tensor: str
    bytes: int
    single_consumer: bool


@dataclass(frozen=True, slots=True)
class Life:
    """One tensor: first write and last read as operator numbers (-1: before the first, the number of
    operators: after the last), and how often it is moved whole.
    """

    tensor: str
    kind: str
    bytes: int
    producer: str
    consumers: tuple[str, ...]
    first_write: int
    last_read: int
    writes: int
    reads: int


@dataclass(frozen=True, slots=True)
class DataFlow:
    """The analysis of one graph; `live_bytes[i]` is what intermediates hold while operator i runs."""

    edges: tuple[Edge, ...]
    lives: tuple[Life, ...]
    live_bytes: tuple[int, ...]

    @property
    def peak_live_bytes(self) -> int:
        """The most that intermediates hold at once."""
        return max(self.live_bytes, default=0)

    @property
    def bytes_read(self) -> int:
        """Bytes that all operators read."""
        return sum(life.bytes * life.reads for life in self.lives)

    @property
    def bytes_written(self) -> int:
        """Bytes that all operators write."""
        return sum(life.bytes * life.writes for life in self.lives)


def analyse(graph: Graph) -> DataFlow:
    """The data flow of a graph."""
    producers, consumers = graph.producers(), graph.consumers()
    number = {operator.name: index for index, operator in enumerate(graph.operators)}
    edges, lives = [], []
    for name, tensor in graph.tensors.items():
        readers = consumers.get(name, [])
        writer = producers.get(name)
        if writer is not None:
            edges += [
                Edge(
                    writer.name,
                    reader.name,
                    name,
                    tensor.bytes,
                    len(readers) == 1 and tensor.kind != "output",
                )
                for reader in readers
            ]
        lives.append(
            Life(
                name,
                tensor.kind,
                tensor.bytes,
                "" if writer is None else writer.name,
                tuple(reader.name for reader in readers),
                -1 if writer is None else number[writer.name],
                last_read(tensor.kind, readers, number, len(graph.operators)),
                0 if writer is None else 1,
                len(readers),
            )
        )
    edges.sort(key=lambda edge: (number[edge.producer], number[edge.consumer]))
    changes = [0] * (len(graph.operators) + 2)
    for life in lives:
        if life.kind == "intermediate" and life.last_read >= life.first_write:
            changes[life.first_write] += life.bytes
            changes[life.last_read + 1] -= life.bytes
    live = list(accumulate(changes))[: len(graph.operators)]
    return DataFlow(tuple(edges), tuple(lives), tuple(live))


def last_read(kind: str, readers: list[Operator], number: dict[str, int], end: int) -> int:
    """The last operator that reads; an output outlives them all."""
    if kind == "output":
        return end
    return max((number[reader.name] for reader in readers), default=-1)
