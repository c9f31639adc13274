"""Files of experiments: what they may say, what is refused and how, and what references in prose become."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import comparison, fairness, prose, record, registry
from anabranch.reproduce.claims import Claim, Measured
from anabranch.reproduce.drawing import draw
from anabranch.reproduce.looks import series_of
from anabranch.reproduce.model import Experiment, Explanation, FigureOf, PanelOf, Paper, Ranking, Rows, SeriesOf
from anabranch.reproduce.record import Record
from anabranch.reproduce.rows import Source
from anabranch.running import plan as planning

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.results.tables import Tables

SCENARIO = '[fabric]\nk = 4\nrate = "10Gbps"\nlossless = true\n\n[[workload]]\nname = "a"\nsessions = 7\n'
SCENARIO += 'placement = { pattern = "stride", by = 4, pairs = [1] }\n'
SCENARIO += '\n[[workload]]\nname = "b"\nplacement = { pattern = "stride", by = 4 }\n'
SCENARIO += '\n[sweep]\n"workload.b.placement" = [{ pattern = "stride", by = 4 }, { pattern = "random" }]\n'
SCENARIO += '"workload.0.share" = [1, 2]\n"fabric.delay, host.share" = [["1us", 0.5], ["10us", 0.8]]\n'
SCENARIO += '"switch.buffer" = ["20 packets"]\n'
WHOLE = """\
title = "Title"
question = "Question?"
section = "§1"
order = 1
quick = ["fabric.k=4"]

[rows.short]
from = "flows"
condition = "size_bytes <= 100000"

[series]
both = [{ transport = "scdp" }, { transport = "ndp" }]

[[figure]]
number = "1"
caption = "Caption"
kind = "means"
rows = "short"
series = "both"
over = "load"
filter = { load = 0.5 }
panel = [
    { key = "a", value = "AVG(fct_ns)" },
    { key = "b", value = "MAX(fct_ns)", filter = { transport = "ndp" } },
]

[[claim]]
key = "fct-{load}"
statement = "mean FCT at load {load}"
where = "§1"
rows = "short"
filter = { transport = "scdp", load = "{load}" }
value = "AVG(fct_ns)"
each = [
    { load = 0.5, paper = 10 },
    { load = 0.8, paper = 20, filter = { transport = "ndp" }, explanation = "why" },
]

[explanation.why]
kind = "arithmetic"
text = "TEXT"
"""
WITHIN = ("flows-of-workload",)
"""Rows that functions of the reductions name."""
WHY = (
    'It is {claim:fct-0.8}, {= claim(\\"fct-0.5\\") / paper(\\"fct-0.5\\")|.2f} of {setting:10 µs} (Figure 8a, `k=4`).'
)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Experiment]:
    """Reads an experiment whose file says this."""
    folder = tmp_path / "scenarios/scdp/one"
    folder.mkdir(parents=True)
    (folder.parent / "paper.toml").write_text(
        'order = 1\nshort = "A"\nreference = "B"\n[rows.shared]\nfrom = "flows"\n'
        '[[panels.two]]\nkey = "a"\nvalue = "SUM(seed)"\n'
        '[[panels.two]]\nkey = "b"\nrows = "shared"\nvalue = "SUM(seed)"\n'
    )
    (folder / "one.toml").write_text(SCENARIO)

    def experiment(text: str) -> Experiment:
        (folder / "experiment.toml").write_text(text)
        shared = registry.paper(folder.parent / "paper.toml")
        return registry.experiment(folder / "experiment.toml", shared)

    return experiment


def test_panels_share_what_their_figure_says_and_cases_fill_a_claim(read: Callable[[str], Experiment]) -> None:
    experiment = read(WHOLE.replace("TEXT", WHY))
    first, second = experiment.figure[0].panel
    assert (first.kind, first.filter, second.filter) == ("means", {"load": 0.5}, {"load": 0.5, "transport": "ndp"})
    named = read(re.sub(r"panel = \[.*?\n\]", 'panel = "two"', WHOLE, flags=re.DOTALL)).figure[0].panel
    assert [(panel.key, panel.rows, panel.kind) for panel in named] == [
        ("a", "short", "means"),
        ("b", "shared", "means"),
    ]
    one, other = experiment.claim
    assert (one.key, one.statement, one.paper) == ("fct-0.5", "mean FCT at load 0.5", 10.0)
    assert one.filter == {"transport": "scdp", "load": 0.5}
    assert (other.filter, other.explanation) == ({"transport": "ndp", "load": 0.8}, "why")
    assert {"short", "shared"} == set(experiment.rows)
    assert (experiment.name, experiment.file) == ("scdp/one", "scenarios/scdp/one/one.toml")


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("title", "titel", "unknown key 'titel'", "did you mean 'title'?"),
        ('section = "§1"\n', "", "the key 'section' is missing: expected text", ""),
        ("order = 1", 'order = "first"', "order: expected a number, not 'first'", ""),
        ('quick = ["fabric.k=4"]', 'quick = ["a", 2]', "quick: expected a list|quick[1]: expected text, not 2", ""),
        ('kind = "means"', 'kind = "mean"', "expected one of 'means', 'bars'", "did you mean 'means'?"),
        ('rows = "short"\nseries', 'rows = "shorts"\nseries', "'shorts' is not among", "did you mean 'short'?"),
        ('series = "both"', 'series = "bothe"', "'bothe' is not among the series", "did you mean 'both'?"),
        ('over = "load"', "", "means needs 'over'", ""),
        (
            "panel = [\n",
            'panel = "tow"\nx = [\n',
            "figure (1): panel: the paper has no panels 'tow'",
            "did you mean 'two'?",
        ),
        ('{ key = "a", ', '{ each = ["load"], ', "each: the key 'key' is missing: expected a letter", ""),
        (
            '{ transport = "ndp" }]',
            '{ transport = "npd" }]',
            "series.both[1].transport: 'npd' is not among the transports",
            "did you mean 'ndp'?",
        ),
        (
            '{ transport = "ndp" }]',
            '{ look = "npd" }]',
            "series.both[1].look: 'npd' is not among the looks",
            "did you mean 'ndp'?",
        ),
        ('{ transport = "ndp" }]', "{ look = 8 }]", "series.both[1].look: expected 0 to 7, not 8", ""),
        ('{ transport = "ndp" }]', "{ look = -1 }]", "series.both[1].look: expected 0 to 7, not -1", ""),
        (
            '{ transport = "ndp" }]',
            '{ look = 1, transport = "ndp" }]',
            "series.both[1].look: it changes nothing",
            "",
        ),
        ('{ transport = "ndp" }]', '{ label = "x" }]', "series.both[1]: expected 'transport', 'column' or 'look'", ""),
        (
            '{ transport = "ndp" }]',
            '{ transport = "ndp", turn = 4 }]',
            "series.both[1].turn: expected 0 to 3, not 4",
            "",
        ),
        ('{ transport = "ndp" }]', '{ column = "load", turn = 1 }]', "series.both[1].turn: expected 0 to 0, not 1", ""),
        ('{ transport = "ndp" }]', '{ column = "load", look = 8 }]', "series.both[1].look: expected 0 to 7, not 8", ""),
        ('{ transport = "ndp" }]', '{ column = "load", look = "ndp" }]', "series.both[1].look: it changes nothing", ""),
        (
            '{ transport = "ndp" }]',
            '{ transport = "ndp", ramp = true }]',
            "series.both[1].ramp: it changes nothing",
            "",
        ),
        (
            '{ transport = "ndp" }]',
            '{ column = "load", label = "load" }]',
            "series.both[1].label: expected a pattern with {}",
            "",
        ),
        (
            '{ transport = "ndp" }]',
            '{ column = "load", transport = "ndp", label = "{}", values = [1, 2, 3, 4, 5] }]',
            "series.both[1].values: expected at most 4",
            "",
        ),
        ('from = "flows"', 'from = "short"', "rows.short.from: they come from themselves: short from short", ""),
        ('from = "flows"', 'from = "flows"\nwith = { a = 1 }', "rows.short.with: 'flows' is no function", ""),
        (
            'from = "flows"',
            'from = "flows"\nnames = { kind = "shared" }',
            "rows.short.names.kind: 'shared' is not among the rows that name 'kind'",
            "",
        ),
        (
            'from = "flows"',
            'from = "flows"\nnames = { kind = "short" }',
            "rows.short.names.kind: they come from themselves",
            "",
        ),
        (
            '{ key = "a", ',
            '{ key = "a", caption = "{load:99999999f}", ',
            "caption: {load:99999999f}: '99999999f' is no format",
            "",
        ),
        ('{ key = "a", ', '{ key = "a", caption = "{load", ', "caption: {load: expected {COLUMN}", ""),
        ("paper = 10", "paper = nan", "paper: expected a number, not nan", ""),
        ("paper = 10", "paper = 10, tolerance = -0.1", "tolerance: expected a number of 0 or more, not -0.1", ""),
        ("paper = 10", "paper = 10, tolerance = inf", "tolerance: expected a number of 0 or more, not inf", ""),
        (
            'rows = "short"\nfilter = { transport = "scdp", load = "{load}" }\nvalue = "AVG(fct_ns)"\n',
            'function = "requests.requests"\nfilter = { load = "{load}" }\n',
            "filter: requests.requests takes no such thing",
            "",
        ),
        ('where = "§1"\n', 'where = "§1"\nwith = { a = 1 }\n', "with: there is no 'function' that takes it", ""),
        (
            "each = [\n    { load = 0.5, paper = 10 },",
            "each = [\n    1,",
            "claim (fct-{load}): each: expected a list of tables",
            "",
        ),
        ("AVG(fct_ns)", "AVG(fct_ns", "not an SQL expression: AVG(fct_ns", ""),
        ('from = "flows"', 'from = "requests.request"', "has no such function", "did you mean 'requests'?"),
        ('from = "flows"', 'from = "os.system"', "has no such function", ""),
        ('from = "flows"', 'from = "requests.beside"', "missing a required argument: 'rows'", "it takes"),
        ('explanation = "why"', 'explanation = "wy"', "'wy' is not among the explanations", "did you mean 'why'?"),
        ("load = 0.8, paper", "lod = 0.8, paper", "a case lacks 'load'", ""),
        ("load = 0.8, paper", "load = 0.8, wrd = 1, paper", "'wrd' is neither a key nor in its texts", ""),
        ("load = 0.8", "load = 0.5", "there is another claim of this key", ""),
        ('rows = "short"\nfilter', "filter", "expected either 'rows' and 'value' or 'function'", ""),
        ('value = "AVG(fct_ns)"\neach', 'value = "AVG(fct_ns)"\ncompare = "ratio"\neach', "go together", ""),
        ('kind = "arithmetic"', 'kind = "measured"', "measured by which 'experiments'", ""),
        ("TEXT", "It is 12 packets.", "the number 12 is typed, expected a reference", "{claim:KEY}"),
        ("order = 1", 'order = 1\nnotes = "At load 0.8 {note:n}."', "notes: the number 0.8 is typed", "{scenario:KEY}"),
        ("[rows.short]", '[note]\nn = "It is 8 ms."\n[rows.short]', "note.n: the number 8 is typed", ""),
        ('quick = ["fabric.k=4"]', "", "quick: the key is missing", ""),
        ("[rows.short]", "[rows.short]\nvalues = { x = 'SUM(seed)' }", "rows.short.values: there is no 'by'", ""),
        ("TEXT", "It is less (`anabranch run a.toml 'x`).", "explanation.why: anabranch run: No closing quotation", ""),
        ("TEXT", "{once:2} (`anabranch run `)", "2 was measured once: by which command?", ""),
        ("[rows.short]", "[rows.shared]", "rows.shared is in scdp/paper.toml already", "choose another name"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_key_and_nearest_name(
    read: Callable[[str], Experiment], old: str, new: str, message: str, hint: str
) -> None:
    assert old in WHOLE
    with pytest.raises(AnabranchError) as caught:
        read(WHOLE.replace(old, new))
    assert re.search(r"experiment\.toml", caught.value.message)
    assert any(part in caught.value.message for part in message.split("|"))
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            'value = "SUM(seed)"',
            'valeu = "SUM(seed)"',
            "panels.two[0] (a): unknown key 'valeu'",
            "did you mean 'value'?",
        ),
        ('value = "SUM(seed)"', "value = 1", "panels.two[0] (a): value: expected text, not 1", ""),
        ('value = "SUM(seed)"', 'kind = "men"', "panels.two[0] (a): kind: expected one of 'means'", "'means'"),
        ('from = "flows"', 'from = "flow"', "rows.shared: 'flow' is not among the rows", "'flows'"),
        ("SUM(seed)", "SUM(seed", "panels.two[0]: not an SQL expression", ""),
        ('from = "flows"', 'from = "flows"\ncondition = "a("', "rows.shared: not an SQL expression", ""),
        ("[rows", '[series]\na = [{ label = "x" }]\n[rows', "series.a[0]: expected 'transport'", ""),
        ("[rows", '[note]\na = "It is 8 ms."\n[rows', "note.a: the number 8 is typed", ""),
        ("[rows", '[explanation.a]\nkind = "measured"\ntext = "A"\n[rows', "explanation.a: measured by which", ""),
    ],
)
def test_what_does_not_fit_in_a_paper_is_told_of_its_file(
    read: Callable[[str], Experiment], tmp_path: Path, old: str, new: str, message: str, hint: str
) -> None:
    file = tmp_path / "scenarios/scdp/paper.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(AnabranchError) as caught:
        read(WHOLE)
    assert caught.value.message.startswith(f"{file}: {message}")
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("{note:theirs}", "note.theirs: scdp/one: {claim:lost}: no claim is called 'lost'"),
        ("{note:theirs} {explanation:theirs}", "note.theirs: scdp/one: {claim:lost}: no claim is called 'lost'"),
        ("{explanation:theirs}", "explanation.theirs: scdp/one: {claim:lost}: no claim is called 'lost'"),
    ],
)
def test_a_text_of_a_paper_refers_to_what_is_there(
    read: Callable[[str], Experiment], tmp_path: Path, use: str, message: str
) -> None:
    read(WHOLE.replace("TEXT", f"Why. {use}"))
    file = tmp_path / "scenarios/scdp/paper.toml"
    text = "A." if use.startswith("{note") else "{note:theirs}"
    text = f'[note]\ntheirs = "{{claim:lost}}"\n[explanation.theirs]\nkind = "arithmetic"\ntext = "{text}"\n'
    file.write_text(file.read_text() + text)
    with pytest.raises(AnabranchError) as caught:
        registry.load(tmp_path / "scenarios")
    assert caught.value.message.startswith(f"{file}: {message}")


@pytest.mark.parametrize("text", ['[note]\nmine = "A."', '[explanation.mine]\nkind = "arithmetic"\ntext = "A."'])
def test_a_text_of_an_experiment_is_shown(read: Callable[[str], Experiment], tmp_path: Path, text: str) -> None:
    read(f"{WHOLE}{text}\n")
    at = "note.mine" if "note" in text else "explanation.mine"
    with pytest.raises(AnabranchError, match=rf"one/experiment.toml: {at}: no notes and no claim lead to it"):
        registry.load(tmp_path / "scenarios")


def test_an_explanation_names_the_experiments_whose_records_it_shows(
    read: Callable[[str], Experiment], tmp_path: Path
) -> None:
    read(WHOLE)
    folder = tmp_path / "scenarios/scdp/two"
    folder.mkdir()
    (folder / "two.toml").write_text(SCENARIO)
    whole = WHOLE.replace('"1a", "1b"', '"2"').replace('number = "1"', 'number = "2"')
    shows = ("{claim:scdp/one#fct-0.5}", '{= 2 * claim(\\"scdp/one#fct-0.5\\")}', "{record:scdp/one#1/a:SCDP@1}")
    for text in (*shows, "{interval:scdp/one#1/a:SCDP@1}"):
        (folder / "experiment.toml").write_text(whole.replace("TEXT", text))
        with pytest.raises(AnabranchError, match=r"two/experiment.toml: explanation.why: experiments: .* 'scdp/one'"):
            registry.load(tmp_path / "scenarios")
    listed = whole.replace('kind = "arithmetic"', 'kind = "arithmetic"\nexperiments = ["scdp/one"]')
    for text in (listed.replace("TEXT", shows[0]), whole.replace("TEXT", "{paper:scdp/one#fct-0.5} {claim:fct-0.5}")):
        (folder / "experiment.toml").write_text(text)
        registry.load(tmp_path / "scenarios")
        registry.load.cache_clear()


def test_what_a_command_showed_is_remarked_wherever_it_is_told(
    read: Callable[[str], Experiment], tmp_path: Path
) -> None:
    command = "(`anabranch run scenarios/scdp/one/one.toml`)"
    notes = f'order = 1\nnotes = "{{once:1}} {command} {{note:n}}"\n'
    experiment = read(
        WHOLE.replace("TEXT", "{explanation:in}").replace("order = 1\n", notes)
        + f'[explanation.in]\nkind = "arithmetic"\ntext = "It is {command}."\n[note]\nn = "{{once:2}} {command}"\n'
    )
    registry.load(tmp_path / "scenarios")
    made = Record("scdp/one", False, (1,), "", "1.0", 0, {})
    found = [one for one in fairness.remarks([experiment], {"scdp/one": made}) if "once" in one]
    told = [("notes", "1, "), ("explanation.in", ""), ("note.n", "2, ")]
    assert found == [f"scdp/one: {at}: measured once, not recorded: {of}what a command shows" for at, of in told]


def test_what_does_not_fit_the_results_is_named(read: Callable[[str], Experiment]) -> None:
    results = cast("Tables", SimpleNamespace(flows=pl.DataFrame({"seed": [1], "size_bytes": [5], "fct_ns": [2.0]})))
    source = Source(read(WHOLE), results)
    with pytest.raises(AnabranchError, match=r'scdp/one: claim fct-0.5: unable to find column "(load|transport)"'):
        source.measure(source.experiment.claim[0])
    unknown = read(WHOLE.replace('from = "flows"', 'from = "flows"\nby = ["sead"]'))
    with pytest.raises(AnabranchError, match=r'scdp/one: rows.short: unable to find column "sead"'):
        Source(unknown, results).rows("short")


def test_a_group_is_by_what_there_is(read: Callable[[str], Experiment]) -> None:
    def groups(by: str) -> int:
        experiment = read(WHOLE.replace('from = "flows"', f'from = "flows"\nby = ["seed", "{by}"]'))
        return Source(experiment, results).rows("short").height

    rows = {"seed": [1, 1], "size_bytes": [5, 5], "workload.a.sessions": [7, 8]}
    results = cast("Tables", SimpleNamespace(flows=pl.DataFrame(rows)))
    assert [groups(by) for by in ("fabric.rate", "workload.a.sessions")] == [1, 2]
    with pytest.raises(AnabranchError, match=r"scdp/one: rows.short: .*no column 'workload.a.session'") as caught:
        groups("workload.a.session")
    assert caught.value.hint == "did you mean 'workload.a.sessions'?"
    for swept in ("workload.b.placement.by", "workload.1.placement", "workload.b", "workload.a.share"):
        with pytest.raises(AnabranchError, match=rf"no column '{swept}', nor a key that the scenario fixes"):
            groups(swept)
    assert groups("workload.a.placement.by") == 1


@pytest.mark.parametrize(
    "sweep", ["sweep = 3", '[sweep]\n"a, b" = [[1]]', "[sweep]\na = 3", '[sweep]\n"a, b" = {c = 1}']
)
def test_a_sweep_that_is_none_is_said(read: Callable[[str], Experiment], tmp_path: Path, sweep: str) -> None:
    experiment = read(WHOLE)
    (tmp_path / "scenarios/scdp/one/one.toml").write_text(sweep)
    with pytest.raises(AnabranchError, match=r"scenarios/scdp/one/one.toml: sweep: expected keys with lists of values"):
        experiment.swept()


def test_each_panel_needs_a_letter(read: Callable[[str], Experiment]) -> None:
    whole = WHOLE.replace("filter = { load = 0.5 }\n", "").replace('{ key = "a", ', '{ key = "KEY", each = ["load"], ')
    rows = {"seed": [1, 1], "size_bytes": [5, 5], "fct_ns": [2.0, 3.0], "load": [0.5, 0.8]}
    flows = pl.DataFrame({**rows, "transport": ["scdp", "ndp"]})
    results = cast("Tables", SimpleNamespace(flows=flows, manifest=SimpleNamespace(seeds=(1,))))
    (figure,) = draw(Source(read(whole.replace("KEY", "xyz")), results))
    assert [panel.key for panel in figure.panels] == ["x", "y", "b"]
    with pytest.raises(AnabranchError, match=r"scdp/one: panel x: 'each' makes 2 panels, and 'key' has 1 letters"):
        draw(Source(read(whole.replace("KEY", "x")), results))


@pytest.mark.parametrize("each", ["each = []", "each = 3", "each = { load = 1 }"])
def test_no_case_of_a_claim_is_lost(read: Callable[[str], Experiment], each: str) -> None:
    with pytest.raises(AnabranchError, match=r"claim \(fct-\{load\}\): each: expected a list of tables"):
        read(re.sub(r"each = \[\n.*?\n\]", each, WHOLE, flags=re.DOTALL))


def test_words_fill_lists_and_labels_keep_their_braces(read: Callable[[str], Experiment]) -> None:
    text = WHOLE.replace('load = "{load}"', 'load = ["{load}", 0.9]')
    assert read(text).claim[0].filter["load"] == [0.5, 0.9]
    one = SeriesOf(column="load", label="{0.real} of {}", values=(0.5,))
    assert [series.label for series in series_of(one, pl.DataFrame())] == ["{0.real} of 0.5"]
    with pytest.raises(AnabranchError, match="looks for 3 ways of using it, not for 4"):
        series_of(SeriesOf(column="load", transport="ndp", label="{}", values=(1, 2, 3, 4, 5)), pl.DataFrame())


def test_a_panel_of_the_full_size_has_rows_and_its_caption_their_columns(read: Callable[[str], Experiment]) -> None:
    def results(load: float) -> Tables:
        row = {"seed": 1, "size_bytes": 5, "fct_ns": 2.0, "load": load, "transport": "ndp"}
        return cast("Tables", SimpleNamespace(flows=pl.DataFrame([row])))

    experiment = read(WHOLE.replace('{ key = "a", ', '{ key = "a", caption = "{load:.2f} {transport}", '))
    assert draw(Source(experiment, results(0.5)))[0].panels[0].caption == "0.50 ndp"
    assert draw(Source(experiment, results(0.9)), quick=True)[0].panels[0].caption == "– –"
    with pytest.raises(AnabranchError, match=r"scdp/one: panel a: none of rows.short fits"):
        draw(Source(experiment, results(0.9)))
    unknown = read(WHOLE.replace('{ key = "a", ', '{ key = "a", caption = "{laod}", '))
    with pytest.raises(AnabranchError, match="the rows have no column 'laod'") as caught:
        draw(Source(unknown, results(0.5)))
    assert caught.value.hint == "did you mean 'load'?"


@pytest.fixture
def facts(read: Callable[[str], Experiment], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> prose.Facts:
    """An experiment that is recorded, without its second claim."""
    monkeypatch.chdir(tmp_path)
    series = {"SCDP": {"x": [1, 2], "y": [3, 4], "low": [2.5, 3], "high": [3.5, 5]}, "NDP": {"x": [1], "y": [3]}}
    made = Record(
        "scdp/one",
        False,
        (1, 2),
        "",
        "1.0",
        0,
        {"fct-0.5": Measured({1: 8.0, 2: 10.0}), "fct-0.8": Measured({})},
        [{"figure": "1", "panels": [{"panel": "a", "series": series}]}],
    )
    record.write(record.path(tmp_path, "scdp/one"), made)
    endless = '\n[explanation.itself]\nkind = "arithmetic"\ntext = "{explanation:itself}"\n'
    wide = (f"{{explanation:wide{'-' * (n + 1)}}}" * 9 if n < 7 else "a" for n in range(8))
    for n, text in enumerate(wide):
        endless += f'\n[explanation.wide{"-" * n}]\nkind = "arithmetic"\ntext = "{text}"\n'
    return prose.Facts((read(WHOLE + endless),), tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{claim:fct-0.5} of {paper:fct-0.5|.0f}", "9.00 of 10"),
        ('{= 100 * claim("scdp/one#fct-0.5") / paper("fct-0.5")|.0f} %', "90 %"),
        ('{record:1/a:SCDP@2}, {= max(record("1/a:SCDP")) - 1}', "4.00, 3.00"),
        ("{interval:1/a:SCDP@1|.1f}", "2.5 to 3.5"),
        ("{scenario:fabric.rate}, {scenario:workload.a.sessions|d}", "10 Gbps, 7"),
        ("{scenario:fabric.delay=10 µs}, {scenario:scdp/one#host.share=0.8|.2f}", "10 µs, 0.80"),
        ("{scenario:workload.0.placement.by}, {scenario:workload.a.share=2}, {scenario:workload.0.share=1}", "4, 2, 1"),
        ("{scenario:switch.buffer=20 packets}, {scenario:workload.a.sessions=7}", "20 packets, 7"),
        ('{= 100 * scenario("host.share=0.5")|.0f} %', "50 %"),
        ('{= 2 * once("1.5")|.1f}', "3.0"),
        ("{= ceil(1e6 / 1436) * -0.5 + min(1, 2)|.1f}", "-347.5"),
        ("{setting:2 µs}, {once:3.1}", "2 µs, 3.1"),
    ],
)
def test_references_become_numbers(facts: prose.Facts, text: str, told: str) -> None:
    assert facts.text(text, facts.experiments[0]) == told
    assert prose.typed(text) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{claim:fct-0.9}", "no claim is called 'fct-0.9'"),
        ("{claim:fct-0.8}", "scdp/one has not measured fct-0.8"),
        ("{claim:scdp/two#fct-0.5}", "no experiment is called 'scdp/two'"),
        ("{record:1/c:SCDP@2}", "no panel of figure 1 is called 'c'"),
        ("{record:1/b:SCDP@2}", "no such panel"),
        ("{record:1/a:PIAS@2}", "no series is called"),
        ("{interval:1/a:NDP@1}", "no column is called 'low'"),
        ("{interval:1/a:SCDP}", "expected a number, not [2.5, 3]"),
        ('{= interval("1/a:SCDP@1")}', "not arithmetic"),
        ("{record:1/a:SCDP@3}", "no point is called '3'"),
        ("{scenario:fabric.rat}", "has no key 'fabric.rat'"),
        ("{number:7}", "no reference is called 'number'"),
        ("{= 1 / 0}", "not arithmetic"),
        ("{Claim:fct-0.5}", "is no reference"),
        ("{= 2 ** 99999999}", "not arithmetic"),
        ("{= __import__('os')}", "not arithmetic"),
        ("{= [].__class__}", "not arithmetic"),
        ('{= record("1/a:SCDP")}', "not arithmetic"),
        ('{= record("1/a:SCDP") * 999999999}', "not arithmetic"),
        ('{= "a" * 999999999}', "not arithmetic"),
        ("{claim:fct-0.5|x}", "'x' is no format of a number"),
        ("{= 1|.99999999f}", "'.99999999f' is no format of a number"),
        ("{= 1|999999999}", "'999999999' is no format of a number"),
        ("{= 1 + 0|d}", "'d' does not fit 1.0"),
        ("{= 20|.0f}", "a number alone is no arithmetic"),
        ('{= 2 * once("1 ms")}', "once: expected a number without a unit, not '1 ms'"),
        ('{= once("inf") * claim("fct-0.9")}', "once: expected a number without a unit, not 'inf'"),
        ('{= once("1e5") - 1}', "once: expected a number without a unit, not '1e5'"),
        ("{setting:1.2.3}", "expected one number"),
        ("{once:1.}", "expected one number"),
        ("{= 1e308 * 10}", "expected a number, not inf"),
        ("{= 1e308 * 10 - 1e308 * 10}", "expected a number, not nan"),
        ("{= min(True, 2)}", "not arithmetic"),
        ("{scenario:fabric.lossless}", "expected a number or a text, not True"),
        ("{scenario:workload.a.placement}", "expected a number or a text, not {'pattern'"),
        ("{scenario:workload.a.placement.pairs}", "expected a number or a text, not [1]"),
        ("{scenario:workload.a.placement.pairs=[1]}", "expected a number or a text, not [1]"),
        ("{scenario:workload.b.placement.by}", "it is swept: workload.b.placement"),
        ("{scenario:workload.1.placement.by}", "it is swept: workload.b.placement"),
        ("{scenario:workload.b.placement.by=4}", "no values of its own: it is swept with workload.b.placement"),
        ("{scenario:workload.a.share}", "it is swept: workload.0.share"),
        ("{scenario:fabric.rate|.2f}", "expected a number, not 10Gbps"),
        ("{scenario:fabric.delay=10 µs|.2f}", "expected a number, not 10us"),
        ('{= claim("fct-0.8") * scenario("fabric.rate")}', "not arithmetic: fabric.rate is '10Gbps'"),
        ("{setting:3|.2f}", "it is shown as it stands: expected no format"),
        ("{explanation:why|}", "it is shown as it stands: expected no format"),
        (f"{{= {'-' * 990}1}}", "not arithmetic: maximum recursion depth exceeded"),
        (f"{{= {'1 + ' * 300}1}}", "expected at most 1000 characters"),
        ("{record:1/a:SCDP}", "expected a number, not [3, 4]"),
        ("{explanation:wide}", "expected at most 20000 characters"),
        ("{explanation:itself}", "scdp/one: {explanation:itself} includes itself"),
    ],
)
def test_what_refers_to_nothing_is_an_error(facts: prose.Facts, text: str, message: str) -> None:
    with pytest.raises(AnabranchError, match=re.escape(message)):
        facts.text(text, facts.experiments[0])
    if "has not measured" in message or re.match(r"no (such panel|series|point|column)", message):
        assert facts.text(f"It is {text}.", facts.experiments[0], missing="unknown") == "It is unknown."
    else:
        with pytest.raises(AnabranchError, match=re.escape(message)):
            facts.text(f"It is {text}.", facts.experiments[0], missing="unknown")


def test_two_experiments_do_not_draw_the_same_figure(read: Callable[[str], Experiment], tmp_path: Path) -> None:
    read(WHOLE)
    folder = tmp_path / "scenarios/scdp/two"
    folder.mkdir()
    (folder / "two.toml").write_text(SCENARIO)
    other = folder / "experiment.toml"
    panels = re.search(r"panel = \[.*?\n\]", WHOLE, re.DOTALL)
    assert panels
    alone = WHOLE.replace(panels[0], 'value = "AVG(fct_ns)"')
    number = 'number = "1"'
    for text in (
        WHOLE,
        WHOLE.replace(number, f"{number}\nwhole = true"),
        WHOLE.replace('key = "a"', 'key = "c"'),
        alone,
    ):
        other.write_text(text)
        with pytest.raises(AnabranchError, match=r"one/experiment.toml: figure 1: '[ab]' is one of scdp/two already"):
            registry.load(tmp_path / "scenarios")
    other.write_text(WHOLE.replace(number, 'number = "2"'))
    registry.load(tmp_path / "scenarios")
    registry.load.cache_clear()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{claim:fct-0.6}", "no claim is called 'fct-0.6'", "did you mean 'fct-0.8'?"),
        ("{claim:scdp/on#fct-0.5}", "no experiment is called 'scdp/on'", "did you mean 'scdp/one'?"),
        ("{record:2/a:SCDP@2}", "no figure is called '2'", ""),
        ("{scenario:fabric.rat}", "has no key 'fabric.rat'", "did you mean 'rate'?"),
        ('{= claim(\\"fct\\") + 1}', "no claim is called 'fct'", ""),
        ("{= 1 / 0}", "not arithmetic", ""),
        ("{= 1 +}", "not arithmetic", ""),
        ("{= 1 ** 2}", "not arithmetic", "numbers, + - * /"),
        ("{clam:fct-0.5}", "no reference is called 'clam'", "did you mean 'claim'?"),
        ("{claim:fct-0.5|.99f}", "", ""),
        ("{claim:fct-0.5|x}", "'x' is no format", ""),
        ("{Claim:fct}", "'{Claim:fct}' is no reference", "{KIND:KEY}"),
        ("{ claim:fct}", "'{ claim:fct}' is no reference", ""),
        ("a } b", "'a } b' is no reference", ""),
        ("{note:wy}", "no note is called 'wy'", ""),
        ("{explanation:wy}", "no explanation is called 'wy'", "did you mean 'why'?"),
        ("{explanation:why}", "includes itself", ""),
        ("{record:1/c:SCDP@2}", "no panel of figure 1 is called 'c'", "known: a, b"),
        ("{scenario:fabric.delay=20 µs}", "no value of fabric.delay is called '20 µs'", "did you mean '10 µs'?"),
        ("{scenario:fabric.rate=1 Gbps}", "no value of fabric.rate is called '1 Gbps'", "did you mean '10 Gbps'?"),
        ("{scenario:fabric.delay}", "it is swept: fabric.delay", "fabric.delay=1 µs"),
        ("{setting:1 to 2 µs}", "expected one number", ""),
        ("{setting:most}", "expected one number", ""),
        (
            '{= claim(\\"fct-0.5\\") * once(\\"1 ms\\")} (`anabranch run a`)',
            "once: expected a number without a unit",
            "",
        ),
        ("{setting:-3 dB}, {setting:0.5 Gbit/s}", "", ""),
        ("{once:3}", "3 was measured once: by which command?", "`anabranch run scenarios/...`"),
        ('{= 2 * once(\\"3\\")}', "3 was measured once: by which command?", "`anabranch run scenarios/...`"),
        (
            "{once:3} (`anabranch run\\nscenarios/scdp/two/two.toml fabric.k=4`)",
            "'scenarios/scdp/two/two.toml' is not among the scenarios of experiments",
            "did you mean 'scenarios/scdp/one/one.toml'?",
        ),
        ("{once:3} (`anabranch run scenarios/scdp/one/one.toml fabric.k=4`)", "", ""),
    ],
)
def test_references_are_looked_up_when_files_are_read(
    read: Callable[[str], Experiment], tmp_path: Path, text: str, message: str, hint: str
) -> None:
    read(WHOLE.replace("TEXT", WHY))
    registry.load(tmp_path / "scenarios")
    registry.load.cache_clear()
    (tmp_path / "scenarios/scdp/one/experiment.toml").write_text(WHOLE.replace("TEXT", text))
    if not message:
        registry.load(tmp_path / "scenarios")
        return
    with pytest.raises(AnabranchError, match=re.escape(message)) as caught:
        registry.load(tmp_path / "scenarios")
    assert re.search(r"experiment\.toml: explanation\.why: ", caught.value.message)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("section", "kinds"),
    [
        ("Experiment files", [Experiment, Paper]),
        ("Rows", [Rows]),
        ("Series", [SeriesOf]),
        ("Figures", [FigureOf, PanelOf]),
        ("Claims", [Claim]),
        ("Explanations", [Explanation]),
        ("Rankings", [Ranking]),
    ],
)
def test_the_reference_has_the_keys_of_each_table_and_no_others(section: str, kinds: list[type[Any]]) -> None:
    page = (bundle.clone("this test") / "docs/reference/experiments.md").read_text(encoding="utf-8")
    (part,) = re.findall(rf"^##? {section}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    (table,) = re.findall(r"^\| key \|.*?\n((?:\|.*\n)+)", part, re.MULTILINE)
    told = {key for row in table.splitlines() for key in re.findall(r"`(\w+)(?:\.NAME)?`", row.split("|")[1])}
    keys = {one.name.rstrip("_") for kind in kinds for one in fields(kind) if not one.metadata.get("derived")}
    if section == "Experiment files":
        (besides,) = re.findall(r"^`paper.toml` has (.*) besides", part, re.MULTILINE)
        told |= set(re.findall(r"`(\w+)`", besides))
    if section == "Claims":
        keys.add("each")  # a short form: `anabranch.reproduce.registry`
    assert told == keys


def test_commands_of_texts_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundle.clone("this test"))
    # What was measured once has a command beside it; what experiments measure needs none.
    example = "{once:1} (`anabranch run scenarios/scdp/fig13/fig13.toml repeat=1`)"
    texts = {example, *(text for one in registry.experiments() for text in prose.shown(one).values())}
    found = [command for text in texts for command in prose.commands(text)]
    assert ["scenarios/scdp/fig13/fig13.toml", "repeat=1"] in [list(one) for one in found]
    for file, *settings in found:
        assert planning.plan(Path(file), settings).runs


def test_a_text_of_a_paper_is_one_that_an_experiment_shows() -> None:
    for paper in registry.papers():
        shown = {at for one in registry.of_paper(paper.name) for at in prose.shown(one)}
        assert prose.texts(paper).keys() <= shown, paper.name


def test_an_explanation_is_of_a_claim_that_needs_one() -> None:
    known = registry.experiments()
    rows = comparison.rows(known, record.read_all(bundle.clone("this test"), known))
    having = {(row.experiment.paper, row.claim.explanation) for row in rows if row.claim.explanation}
    needed = {(row.experiment.paper, row.claim.explanation) for row in rows if row.verdict not in comparison.GOOD}
    assert having <= needed


def test_rows_of_a_file_are_used() -> None:
    for paper in registry.papers():
        used = set(WITHIN)
        for one in registry.of_paper(paper.name):
            used |= {panel.rows for figure in one.figure for panel in figure.panel}
            used |= {claim.rows for claim in one.claim} | {rows.from_ for rows in one.rows.values()}
            given = [*(claim.with_ for claim in one.claim), *(rows.with_ for rows in one.rows.values())]
            given += [rows.names for rows in one.rows.values()]
            used |= {value for values in given for value in values.values() if isinstance(value, str)}
        for one in registry.of_paper(paper.name):
            assert set(one.rows) <= used, one.name


def test_every_file_of_an_experiment_is_where_it_is_found() -> None:
    for one in registry.experiments():
        assert one.folder is not None
        scenarios = {file.name for file in one.folder.glob("*.toml")} - {"experiment.toml"}
        assert scenarios == (set() if one.calculate else {f"{one.folder.name}.toml"})
