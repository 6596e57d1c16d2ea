"""Kernel traces: the waist between what makes programs and what runs them.

`schema` says what a trace is, `builder` and `recording_builder` write one, `cursor` walks it, `expand`,
`tally` and `info` look into it, `check` judges it, `archive` saves and loads it, `kernels` has named ones,
and `sources.traces_from(text)` takes whatever a person may name on the command line. Nothing is imported
here: each name is loaded from its own module.
"""
