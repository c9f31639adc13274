"""What sweep keys and their values are called where people read them: ``load``, not the whole dotted key.

Tables keep the keys as the scenario writes them; only what is shown is shortened, and never to the same name twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONGEST = 48
"""Characters of a value that are shown."""


def keys(names: Sequence[str]) -> dict[str, str]:
    """Name each sweep key by its last part, and by as many parts as tell it from the others.

    Parameters
    ----------
    names
        Keys of one experiment, as its tables have them.

    Examples
    --------
    >>> keys(["workload.web.arrivals.load", "switch.buffer"])
    {'workload.web.arrivals.load': 'load', 'switch.buffer': 'buffer'}
    >>> keys(["transport.ndp.rto", "transport.scdp.rto", "rto"])
    {'transport.ndp.rto': 'ndp.rto', 'transport.scdp.rto': 'scdp.rto', 'rto': 'rto'}
    """
    parts = {name: name.split(".") for name in dict.fromkeys(names)}
    shown = {}
    for name, own in parts.items():
        for count in range(1, len(own) + 1):
            tail = own[-count:]
            if all(other[-count:] != tail for one, other in parts.items() if one != name):
                break
        shown[name] = ".".join(tail)
    return shown


def values(found: Iterable[Any]) -> dict[str, str]:
    """Write the values of a sweep key: of inline tables what tells them apart.

    Parameters
    ----------
    found
        Values of one key, as the tables of results have them: inline tables are JSON.

    Returns
    -------
    dict[str, str]
        ``str`` of a value to what is shown; no two are shown alike.

    Examples
    --------
    >>> list(values([0.4, 0.8]).values())
    ['0.4', '0.8']
    >>> list(values(['{"law": "fixed", "size": "64KB"}', '{"law": "fixed", "size": "1MB"}']).values())
    ['64KB', '1MB']
    >>> list(values(['{"pattern": "permutation"}', '{"pattern": "stride", "by": 1}']).values())
    ['permutation', 'stride, by = 1']
    """
    every = list(dict.fromkeys(map(str, found)))
    tables = [_table(text) for text in every]
    first = tables[0] if tables else None
    if len(every) > 1 and first is not None and all(table is not None for table in tables):
        own = [table for table in tables if table is not None]
        same = {key for key in first if all(key in table and table[key] == first[key] for table in own)}
        left = [{key: value for key, value in table.items() if key not in same} for table in own]
        # What all begin with goes without saying: it is the law, the pattern, or all that differs.
        begins = {next(iter(table), "") for table in left}
        said = next(iter(begins)) if len(begins) == 1 else None
        texts = [_words(table, said) for table in left]
    else:
        texts = [text if table is None else _words(table) for text, table in zip(every, tables, strict=True)]
    clipped = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in texts]
    shown = {}
    for place, (text, name) in enumerate(zip(every, clipped, strict=True), start=1):
        told = name or "–"
        shown[text] = told if clipped.count(name) == 1 else f"{told} ({place})"
    return shown


def _table(text: str) -> dict[str, Any] | None:
    """An inline table that `anabranch.results.tables` wrote as JSON; None for any other value."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _words(table: Mapping[str, Any], said: str | None = None) -> str:
    """Write an inline table as a scenario does, but for the name of the key that goes without saying."""
    parts = []
    for key, value in table.items():
        inner = f"{{{_words(value)}}}" if isinstance(value, dict) else value if isinstance(value, str) else None
        text = json.dumps(value) if inner is None else inner
        parts.append(text if key == said else f"{key} = {text}")
    return ", ".join(parts)
