"""Kernel traces: the waist between what makes programs and what runs them (see `schema`)."""
