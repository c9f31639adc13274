"""Sweeps on several processes or machines, over Dask (``docs/how-to/run-on-a-cluster.md``).

The client (`conduct`) decides which run is made when; workers (`work`) make single runs with the same core as ever and
put them where the results belong (`destination`). Nothing here decides what is in a result: a sweep has the same bytes
on one thread and on a thousand machines. Dask is imported when a sweep begins, and comes with ``anabranch[cluster]``.
"""
