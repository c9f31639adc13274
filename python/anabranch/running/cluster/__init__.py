"""Sweeps on several processes or machines, over Dask (``docs/how-to/run-on-a-cluster.md``).

The client (`dispatch`) submits runs; workers (`work`) make single runs with the same core as everywhere, and store them
at the `destination`. Nothing here affects the content of a result: a sweep has the same bytes on one thread and on a
thousand machines. Dask comes with ``anabranch[cluster]`` and is imported when a sweep begins.
"""
