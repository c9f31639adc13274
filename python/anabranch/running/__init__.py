"""From a scenario to a result folder: which runs it makes (`plan`), and making them here, behind, or on a cluster.

`run` makes them and waits, `sweep` makes them in the background, `cluster` makes them on other machines. `outputs` says
where results may be written.
"""
