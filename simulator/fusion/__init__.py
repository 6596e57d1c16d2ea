"""The fusion planner: which operators of a graph may share a kernel, what each group costs on a card, and
which partition costs least. The one room that may use both the workload and the machine.
"""
