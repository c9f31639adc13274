"""What an experiment has found: its tables, the statistics and comparisons of them, and what is to be said of them.

`tables` opens a result folder, `stats` reduces it, `comparison` sets series values side by side, `findings` and `notes`
put it into sentences. Nothing here draws.
"""
