"""The page on traffic: its tables are those of the recorded data, and the data are what is computed."""

from __future__ import annotations

import json

import pytest
import traces
import traffic_fidelity

ROWS = json.loads(traffic_fidelity.DATA.read_text(encoding="utf-8"))


def test_the_page_s_tables_are_made_from_the_record() -> None:
    text = traffic_fidelity.PAGE.read_text(encoding="utf-8")
    assert traffic_fidelity.page(text, ROWS) == text


def close(value: object, expected: object) -> bool:
    """Equal, numbers to eight digits."""
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() == expected.keys() and all(close(value[key], expected[key]) for key in expected)
    if isinstance(expected, list) and isinstance(value, (list, tuple)):
        return len(value) == len(expected) and all(map(close, value, expected))
    if isinstance(expected, float) and isinstance(value, (int, float)):
        return value == pytest.approx(expected, rel=1e-8, abs=1e-12)
    return value == expected


@pytest.mark.skipif(not traces.TRACES.is_dir(), reason=traces.MISSING)
@pytest.mark.parametrize(
    "key", [("bellcore_pAug89_first100k", "1 s"), ("cmu link5", "bin"), ("ics_cip_only.pcap", "1 s")]
)
def test_the_record_is_what_is_computed(key: tuple[str, str]) -> None:
    (expected,) = (row for row in ROWS if (row["trace"], row["bin"]) == key)
    found = traffic_fidelity.clean(traffic_fidelity.study(*key, traces.SERIES[key]()))
    assert close(found, expected)


@pytest.mark.skipif(not traces.TRACES.is_dir(), reason=traces.MISSING)
def test_the_record_has_every_series() -> None:
    assert [(row["trace"], row["bin"]) for row in ROWS] == list(traces.SERIES)
