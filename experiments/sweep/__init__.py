"""Sweeps: every point of a config's `sweep:`, by worker processes or a Dask cluster, kept in a store that
survives.
"""
