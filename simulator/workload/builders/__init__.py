"""Kernel builders: from a group of operators to a program over virtual registers."""
