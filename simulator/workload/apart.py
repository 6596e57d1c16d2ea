"""Why an operator and the one that feeds it are in different kernels: the first rule of fusion that forbids
them to share one, in words.

The rules are those of the groups (`none`, `vertical`); what a dearer planner could do is not considered. A
halo (a convolution, a pooling) or whole rows (a softmax, a product) would need values that other threads or
blocks make, which an epilogue has no access to.
"""

from simulator.workload.dataflow import Edge
from simulator.workload.element_groups import MOST_OPERANDS, MOST_OPERATORS, result_shape
from simulator.workload.element_operators import refused as element_refused
from simulator.workload.families import family_of
from simulator.workload.graph import Graph, Operator
from simulator.workload.groups import Group
from simulator.workload.image_operators import POOLS
from simulator.workload.image_operators import carries_chain as image_carries
from simulator.workload.legality import convolution_of
from simulator.workload.products import KINDS as PRODUCTS
from simulator.workload.products import layout_rule, product_of
from simulator.workload.row_operators import KINDS as ROWS


class Separations:
    """Answers for the edges of one graph under one strategy; `views` are operators that move nothing."""

    def __init__(self, graph: Graph, strategy: str, groups: list[Group], views: frozenset[str]) -> None:
        self.graph = graph
        self.strategy = strategy
        self.views = views
        self.consumers = graph.consumers()
        self.producers = graph.producers()
        self.layout = layout_rule(graph)
        self.number = {member.name: at for at, group in enumerate(groups) for member in group.operators}
        self.groups = groups
        self.operators = {operator.name: operator for operator in graph.operators}

    def reason(self, edge: Edge) -> str:
        """One sentence for an edge between two kernels."""
        if self.strategy == "none":
            return "no fusion asked for"
        producer, consumer = self.operators[edge.producer], self.operators[edge.consumer]
        for name, which in ((producer.name, producer), (consumer.name, consumer)):
            if name in self.views:
                return f"{name} ({which.kind}) only renames its input and has no kernel"
            missing = self.without_program(which)
            if missing:
                return f"{name} is opaque: {missing}"
        return (
            self.reach(producer, consumer, edge.tensor)
            or self.more_readers(producer, edge.tensor)
            or self.needs_earlier(producer, consumer)
            or self.needs_later(edge, consumer)
            or self.groups[self.number[producer.name]].ends
        )

    def without_program(self, operator: Operator) -> str:
        """Why an operator has no kernel program; empty where it has one."""
        if operator.kind in PRODUCTS:
            return product_of(self.graph, operator, self.layout)[1]
        if operator.kind == "Conv":
            return convolution_of(self.graph, operator)[1]
        return family_of(self.graph, operator)[1]

    def carries(self, operator: Operator) -> str:
        """What sort of chain an operator's kernel takes behind it: `epilogue`, `elements`, `row` or none."""
        if operator.kind in PRODUCTS or operator.kind == "Conv" or image_carries(self.graph, operator):
            return "epilogue"
        if not element_refused(self.graph, operator):
            return "elements"
        return "row" if operator.kind in ROWS else ""

    def reach(self, producer: Operator, consumer: Operator, tensor: str) -> str:
        """What the reader would need of other threads or blocks, or that the writer's kernel takes none."""
        first = self.groups[self.number[producer.name]].operators[0]
        kind = consumer.kind
        if kind == "Conv" and max(self.graph.tensors[consumer.inputs[1]].shape[2:], default=1) == 1:
            return f"{consumer.name} ({kind}) needs all channels of {tensor}, made by several blocks"
        if kind == "Conv" or kind in POOLS:
            return f"{consumer.name} ({kind}) needs a halo of {tensor}, made by other threads"
        if kind in PRODUCTS:
            return f"{consumer.name} ({kind}) needs whole rows or columns of {tensor}, in every block"
        if kind in ROWS and self.carries(producer) != "elements":
            return f"{consumer.name} ({kind}) needs whole rows of {tensor}, made by several blocks"
        if not self.carries(first):
            return f"the kernel of {first.name} ({first.kind}) takes no operators behind it"
        if kind not in ROWS and self.carries(consumer) != "elements":
            return f"{consumer.name} ({kind}) is not element-wise in {tensor}"
        return ""

    def more_readers(self, producer: Operator, tensor: str) -> str:
        """An epilogue writes its last value only, so that value may have no other reader."""
        first = self.groups[self.number[producer.name]].operators[0]
        if self.carries(first) != "epilogue":
            return ""
        if self.graph.tensors[tensor].kind == "output":
            return f"{tensor} leaves this part of the graph"
        readers = len(self.consumers.get(tensor, []))
        return f"{tensor} has {readers} readers" if readers > 1 else ""

    def needs_earlier(self, producer: Operator, consumer: Operator) -> str:
        """A value from before a row's result, which is no longer in registers behind it."""
        members = self.groups[self.number[producer.name]].operators
        rows = [at for at, member in enumerate(members) if member.kind in ROWS]
        before = {name for member in members[: rows[0]] for name in member.outputs} if rows else set()
        for name in consumer.inputs:
            if name and name in before:
                row = members[rows[0]]
                return f"{consumer.name} reads {name}, which {row.name} ({row.kind}) has used up"
        return ""

    def needs_later(self, edge: Edge, consumer: Operator) -> str:
        """Another input of the reader that no earlier kernel has written, or too many of them."""
        mine = self.number[edge.producer]
        inside = {name for member in self.groups[mine].operators for name in member.outputs}
        for name in consumer.inputs:
            writer = self.producers.get(name)
            if writer is not None and name not in inside and self.number[writer.name] > mine:
                return f"{consumer.name} also needs {name}, which is written later"
        shapes = [result_shape(self.graph, self.operators[name]) for name in (edge.producer, edge.consumer)]
        if shapes[0] != shapes[1]:
            return f"{consumer.name} makes {list(shapes[1])} of {list(shapes[0])}"
        members = self.groups[mine].operators
        outside = {name for member in (*members, consumer) for name in member.inputs if name} - inside
        if len(outside) > MOST_OPERANDS:
            return f"more than {MOST_OPERANDS} operands in one kernel"
        if len(members) >= MOST_OPERATORS:
            return f"{MOST_OPERATORS} operators in one kernel are the most"
        return ""
