"""What a person runs: configs, sweeps, comparison with silicon, pictures, reports and the command line.

The top floor: it may use `simulator` and `hwmodels`, and nothing below uses it.
"""
