"""The reference engine: one SimPy process and one class a component, written to be read."""
