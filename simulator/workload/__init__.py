"""From a model to kernel traces: graph, data flow, kernel programs, registers by liveness, spills.

Never imports the machine that replays what it makes.
"""
