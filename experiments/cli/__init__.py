"""The command line `stallscope`: one file a command, this package only hands over to it."""

from experiments.cli.entry import main

__all__ = ["main"]
