"""The report in a real browser: silent console, no request, charts there in both schemes, the fabric's controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fixtures
import numpy as np
import pytest
from test_over_time import scattered
from test_report import controlled

from anabranch import load
from anabranch.showing import report
from anabranch.traffic import report as traffic_report
from anabranch.traffic.series import Volumes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any, Literal

    from playwright.sync_api import Browser, Page

    from anabranch import Results

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The papers' 250 hosts and 750 links, with a stalled run."""
    fixture = fixtures.Fixture(k=10, sessions=600, background=20, status={"p003-s2": "stalled"})
    return report.write(load(fixtures.write(tmp_path_factory.mktemp("browser") / "r", fixture)))


class Watched:
    """A page whose console, errors and requests are written down."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        self.address = file.as_uri()
        page.goto(self.address)
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)


@pytest.fixture(params=["light", "dark"])
def watched(request: pytest.FixtureRequest, browser: Browser, page_file: Path) -> Iterator[Watched]:
    scheme: Literal["light", "dark"] = request.param
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    yield Watched(page, page_file)
    page.close()


def test_it_draws_in_silence(watched: Watched) -> None:
    page = watched.page
    assert watched.said == []
    assert watched.asked == [watched.address]
    charts = page.locator(".chart > .chart-wrapper svg, .chart > svg")
    assert charts.count() == 15
    for place in range(charts.count()):
        box = charts.nth(place).bounding_box()
        assert box
        assert box["width"] > 200
        assert box["height"] > 200
    # The lines of each series are there, and their text has the page's colour.
    assert page.locator(".chart .mark-line path").count() == 13 * 4
    colour = page.locator(".chart svg text").first.evaluate("text => getComputedStyle(text).fill")
    assert colour == page.evaluate("getComputedStyle(document.body).color")


def test_text_stands_out_from_the_page(watched: Watched) -> None:
    """WCAG 2.2 §1.4.3: 4.5:1 for text, small print included."""
    contrast = """selector => {
      const light = colour => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
          .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const page = light(getComputedStyle(document.body).backgroundColor);
      const text = light(getComputedStyle(document.querySelector(selector)).color);
      return (Math.max(page, text) + 0.05) / (Math.min(page, text) + 0.05);
    }"""
    for selector in ("body", ".key", "td.best", "td.warn", ".notes.grave"):
        assert watched.page.evaluate(contrast, selector) >= 4.5, selector


def test_the_page_does_not_scroll_sideways(watched: Watched) -> None:
    for width in (1280, 700, 390):
        watched.page.set_viewport_size({"width": width, "height": 900})
        # Charts follow the width a moment later.
        watched.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth", timeout=10_000)


def test_the_fabric_answers(watched: Watched) -> None:
    page = watched.page
    assert page.locator("#links path").count() == 750
    classes = "[...document.querySelectorAll('#links path')].map(path => path.getAttribute('class')).join()"
    before = page.evaluate(classes)
    assert len(set(before.split(","))) > 2
    page.get_by_label("DCTCP", exact=True).check()
    page.get_by_label("packets dropped").check()
    assert page.evaluate(classes) != before
    assert "DCTCP: packets dropped" in (page.locator("#fabric-title").text_content() or "")
    page.get_by_label("down", exact=True).check()
    page.locator("#links path").last.dispatch_event("pointerover")
    first = page.locator("#fabric-link").text_content() or ""
    assert "→" in first
    page.locator("#links").focus()
    page.keyboard.press("ArrowRight")
    second = page.locator("#fabric-link").text_content() or ""
    assert "→" in second
    assert second != first
    assert watched.said == []


def test_the_legend_hides_a_series_everywhere(watched: Watched) -> None:
    page = watched.page
    before = page.locator(".chart .mark-line path").count()
    button = page.locator(".legend button", has_text="DCTCP").first
    button.click()
    page.wait_for_function(f"document.querySelectorAll('.chart .mark-line path').length === {before - 13}")
    assert page.locator(".legend button[aria-pressed=false]").count() == page.locator(".legend").count()
    button.click()
    page.wait_for_function(f"document.querySelectorAll('.chart .mark-line path').length === {before}")
    assert watched.said == []


def test_a_phone_sees_the_values(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    watched = Watched(page, page_file)
    for place in range(4):
        box = page.locator(".summary td.number").nth(place).bounding_box()
        assert box
        assert box["x"] + box["width"] <= 390
    assert watched.said == []
    page.close()


def test_rows_over_time_share_cursor_and_zoom(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watched = Watched(page, report.write(controlled(tmp_path / "r")))
    rows = page.locator(".chart.rows")
    rows.scroll_into_view_if_needed()
    texts = rows.locator("svg text").all_text_contents()
    assert {"Longest queue of all links", "marking threshold 20 packets"} <= set(texts)
    box = rows.bounding_box()
    assert box
    shown = """() => [...document.querySelectorAll('.chart.rows .mark-rule.role-mark line')]
        .filter(line => Number(line.getAttribute('opacity')) > 0.5 && !line.getAttribute('stroke-dasharray')).length"""
    assert page.evaluate(shown) == 0
    page.mouse.move(box["x"] + 600, box["y"] + 60)
    count = page.evaluate(
        "JSON.parse(document.getElementById('specs').textContent).find(spec => spec.vconcat).vconcat.length"
    )
    page.wait_for_function(f"({shown})() === {count - 1}")
    before = rows.locator("svg text").all_text_contents()
    bottom = box["y"] + box["height"] - 60
    page.mouse.move(box["x"] + 300, bottom)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, bottom, steps=5)
    page.mouse.up()
    page.wait_for_timeout(500)
    assert rows.locator("svg text").all_text_contents() != before
    assert watched.said == []
    page.close()


def test_paper_is_white(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    watched = Watched(page, page_file)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert len(page.pdf()) > 10_000
    assert watched.said == []
    page.close()


def test_panels_draw_when_they_open(browser: Browser, swept: Results, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report.html(swept), encoding="utf-8")
    page = browser.new_page()
    watched = Watched(page, file)
    closed = page.locator("details.panel").nth(1)
    assert closed.locator(".mark-line").count() == 0
    closed.locator("summary").click()
    closed.locator(".mark-line").first.wait_for(timeout=20_000)
    assert watched.said == []
    page.close()


def test_decisions_are_drawn_with_an_axis_on_either_side(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watched = Watched(page, report.write(controlled(tmp_path / "r")))
    section = page.locator("section", has=page.get_by_role("heading", name="What controllers set")).last
    chart = section.locator(".chart").nth(1)
    words = set(chart.locator("svg text").all_text_contents())
    assert {"queue (packets)", "throughput (% of the link)", "time (ms)", "marking threshold"} <= words
    assert chart.locator(".mark-area path").count() >= 1
    assert chart.locator(".mark-line path").count() >= 2
    assert watched.said == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_traces_draws_in_silence(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    random = np.random.default_rng(1)
    traces = [[Volumes.of(random.lognormal(9, 0.5, 3000).round(), bin_s=0.1, name=f"trace {i}")] for i in range(3)]
    studied, _ = traffic_report.study(traces, widths=(0.1, 1.0))
    file = tmp_path / "traces.html"
    traffic_report.write(traffic_report.make(studied), file)
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    watched = Watched(page, file)
    assert (watched.said, watched.asked) == ([], [watched.address])
    charts = page.locator(".chart > .chart-wrapper svg, .chart > svg")
    # Figures 1 and 2 with two panels each, 3, 4 with four, 5, 6 twice with twelve, 7; those of closed traces wait.
    assert charts.count() == 2 + 2 + 1 + 4 + 1 + 12 + 12 + 1
    page.locator("details.panel summary").first.click()
    page.wait_for_function("count => document.querySelectorAll('.chart svg').length >= count", arg=charts.count() + 3)
    assert watched.said == []
    page.close()


def test_zooming_shows_the_samples_themselves(browser: Browser, tmp_path: Path) -> None:
    """6000 samples as 240 points; a part of them sample by sample; and rows that the reader chooses."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watched = Watched(page, report.write(scattered(tmp_path / "r")))
    rows = page.locator(".chart.rows")
    rows.scroll_into_view_if_needed()
    assert rows.get_attribute("data-point") == str(25e6).removesuffix(".0")
    said = page.locator(".chart.rows + .key")
    assert "25 ms long" in (said.text_content() or "")
    assert "Zoom in" in (said.text_content() or "")
    overview = rows.locator("svg").first.bounding_box()
    assert overview
    bottom = overview["y"] + overview["height"] - 55
    page.mouse.move(overview["x"] + 600, bottom)
    page.mouse.down()
    page.mouse.move(overview["x"] + 620, bottom, steps=4)
    page.mouse.up()
    page.wait_for_function("document.querySelector('.chart.rows').dataset.point === '1000000'")
    assert said.text_content() == "Every sample is drawn: one each 1 ms."
    count = rows.locator("svg text.role-title-text, svg .role-title text").count()
    page.get_by_text("Choose links and sessions").click()
    box = page.locator(".pick input").last
    assert not box.is_checked()
    box.check()
    page.wait_for_function(
        "count => document.querySelectorAll('.chart.rows svg .role-title text').length > count", arg=count
    )
    assert rows.get_attribute("data-point") == "1000000", "the zoom is kept"
    assert watched.said == []
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_sweep_of_two_keys_fits(width: int, browser: Browser, tmp_path: Path) -> None:
    sweep: dict[str, list[Any]] = {
        "buffer": ["64KB", "256KB", "1MB"],
        "load": [0.2, 0.4, 0.6, 0.8],
        "transport.name": ["scdp", "ndp"],
    }
    fixture = fixtures.Fixture(sweep=sweep, seeds=(1, 2), sessions=30, background=0)
    page = browser.new_page(viewport={"width": width, "height": 900})
    watched = Watched(page, report.write(load(fixtures.write(tmp_path / "r", fixture))))
    assert page.locator(".chart svg").count() >= 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = """[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, pre')
        && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(wide) == []
    page.locator("select[name=view]").select_option(index=9)
    assert "NDP" in (page.locator("#fabric-title").text_content() or "")
    for panel in page.locator("details.panel > summary").all()[:3]:
        panel.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.said == []
    page.close()
