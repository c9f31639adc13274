"""From a scenario to a result folder.

`plan` says which runs a scenario makes and how large they are; `run` makes them and waits, `sweep` makes them in the
background, `cluster` on other machines. `options` says how they can be made, `outputs` where the
results go, `objects` how an object store is called.
"""
