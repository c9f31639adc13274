"""The experiments: one file for each section of a paper, one line for each experiment in `registry`."""
