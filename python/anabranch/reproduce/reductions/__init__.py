"""What an experiment computes that SQL does not say: named functions, ``module.function`` in ``experiment.toml``.

A function of rows takes `anabranch.reproduce.rows.Source` and the arguments of its ``with`` table, and returns rows;
one of a claim returns seed to value; one that calculates an experiment takes nothing and returns named tables.
"""
