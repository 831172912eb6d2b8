"""Drawings: well-formed, to scale, complete, and the same words for those who cannot see them."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from metal.data.records import Criterion, Level, Scale
from metal.show import svg
from metal.show.charts.agreement import Agreement, Point, dots, radar
from metal.show.charts.chance import Dot, f1_against_kappa
from metal.show.charts.classes import Bar, class_bars
from metal.show.charts.forest import Difference, forest
from metal.show.charts.lengths import length_histograms
from metal.show.view import Chart
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan


def drawn(chart: Chart | None) -> ElementTree.Element:
    assert chart is not None
    return ElementTree.fromstring(chart.svg)


def shown(**changes: object) -> Agreement:
    points = {
        "a <b>": {"en": Point(0.5, 0.25, 0.75), "hi": Point(1.0), "sw": Point(NAN)},
        "j2": {"en": Point(0.0, 0.0, 0.1), "hi": Point(0.2, 0.1, 0.3), "sw": Point(0.4, 0.3, 0.5)},
    }
    given = {
        "key": "tq",
        "label": "Task quality",
        "languages": ["en", "hi", "sw"],
        "judges": points,
        "ceiling": {"en": 0.9, "hi": 0.8, "sw": NAN},
        "floor": {"en": 0.3, "hi": 0.3, "sw": 0.3},
        "ceiling_name": "against the others",
    }
    return Agreement(**{**given, **changes})  # type: ignore[arg-type]


def test_dots_stand_to_scale() -> None:
    chart = dots(shown())
    tree = drawn(chart)
    # The axis runs from 96 to 388: 0.25 to 0.75 is 169 to 315.
    intervals = [line for line in tree.iter(f"{SVG}line") if line.get("class") == "ci s0"]
    assert [(line.get("x1"), line.get("x2")) for line in intervals] == [("169", "315")]  # hi has none, sw no value
    assert len([path for path in tree.iter(f"{SVG}path") if path.get("class") == "dot m0"]) == 1 + 2  # legend, en, hi
    ceilings = [line for line in tree.iter(f"{SVG}line") if line.get("class") == "ceiling"]
    assert [line.get("x1") for line in ceilings] == ["12", "358.8", "329.6"]  # legend, en 0.9, hi 0.8; sw undefined
    assert "a <b> from 0.50 (English) to 1.00 (Hindi)" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[1]] == ["a <b>", "0.50", "1.00", "–"]


def test_a_radar_is_open_where_a_value_is_missing() -> None:
    tree = drawn(radar(shown()))
    lines = [path.get("d") for path in tree.iter(f"{SVG}path") if (path.get("class") or "").startswith("way")]
    assert [line.count("M") for line in lines if line] == [2, 1]  # a <b> breaks off at sw, j2 is closed
    assert [line.count("L") for line in lines if line] == [1, 3]
    dashed = [path for path in tree.iter(f"{SVG}path") if path.get("class") == "ceiling"]
    assert len(dashed) == 1
    assert {text.text for text in tree.iter(f"{SVG}text")} >= {"0.25", "0.5", "0.75", "a <b>"}


def test_a_radar_needs_three_languages() -> None:
    assert radar(shown(languages=["en", "hi"])) is None


def test_hollow_dots_are_at_chance() -> None:
    found = [
        Dot("j", "en", 0.9, 0.02, -0.05, 0.1),
        Dot("j", "hi", 0.5, 0.4, 0.3, 0.5),
        Dot("j", "sw", 0.9, NAN, NAN, NAN),
    ]
    chart = f1_against_kappa("tq", "Task quality", found, ["j"])
    classes = [path.get("class") for path in drawn(chart).iter(f"{SVG}path")]
    assert classes == ["dot m0", "dot h7", "dot h0", "dot m0"]  # two in the legend
    assert "For 1 of them agreement beyond chance is not shown, the highest F1 among these being 0.90" in chart.alt
    assert len(chart.numbers.rows) == 3  # the undefined one is in the numbers


def test_bars_are_shares_with_counts() -> None:
    bars = [Bar("all agree", "people", {"0 Bad": 1, "2 Good": 3}), Bar("all agree", "j", {"(no answer)": 4})]
    chart = class_bars("k", "TQ", TASK_QUALITY, bars)
    tree = drawn(chart)
    widths = [float(rect.get("width") or 0) for rect in tree.iter(f"{SVG}rect") if rect.get("height") == "16"]
    assert widths == [57.0, 171.0, 228.0]  # a quarter, three quarters, and all of the bar
    assert "people mostly 2 Good (75%)" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[0]] == ["all agree", "people", "1", "0", "3", "0", "4"]


def test_too_many_classes_for_shades() -> None:
    labels = Criterion("c", Scale("nominal", tuple(Level(n, f"l{n}") for n in range(10))))
    chart = class_bars("k", "c", labels, [Bar("", "people", {"0 l0": 3, "9 l9": 1})])
    assert chart.svg == ""
    assert chart.notes == ("10 classes cannot be told apart by shade: the numbers alone.",)
    assert [cell.text for cell in chart.numbers.rows[0]] == ["people", "3", *"00000000", "1", "4"]


@pytest.mark.parametrize("lower", [False, True])
def test_shades_run_from_bad_to_good(lower: bool) -> None:
    ends = [svg.class_fill(place, 2, lower_is_better=lower) for place in (0, 1)]
    assert ends == (["#70a8e4", "#f0a05c"] if lower else ["#f0a05c", "#70a8e4"])
    assert HALLUCINATIONS.direction == "lower"


def test_a_forest_tells_significant_from_not() -> None:
    found = [Difference("a − b", "en", 0.2, 0.1, 0.3, 0.01), Difference("a − b", "hi", -0.1, -0.3, 0.1, 0.6)]
    chart = forest("k", "TQ", found, "second is better", "first is better")
    classes = [path.get("class") for path in drawn(chart).iter(f"{SVG}path")]
    assert classes == ["dot m0", "dot h0", "dot m0", "dot h0"]
    assert "1 significantly above 0 (first is better), 0 significantly below" in chart.alt


def lengths(counts: list[int], chosen: int, duplicates: int = 0) -> dict[str, object]:
    edges = [10.0 + 100 * place for place in range(len(counts) + 1)]
    passages = sum(counts) + duplicates
    return {
        "counts": counts,
        "edges": edges,
        "chosen_bin": chosen,
        "passages": passages,
        "duplicates": duplicates,
        "near_empty": 0,
    }


def test_lengths_have_a_panel_a_language_and_one_full_bar() -> None:
    found = {"ar": lengths([1, 4, 2], 1, 3), "zh-Hant": lengths([1200, 0], 0), "sw": lengths([5], 0)}
    chart = length_histograms(found, {"ar": 4, "zh-Hant": 100})
    tree = drawn(chart)
    bars = [rect for rect in tree.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert [bar.get("height") for bar in bars] == ["18.5", "74", "37", "74", "0", "74"]  # to scale in each panel
    assert [bar.get("class") for bar in bars] == ["h0", "m0", "h0", "m0", "h0", "m0"]
    assert [bar.findtext(f"{SVG}title") for bar in bars][:2] == [
        "10 to 110 tokens: 1 passage",
        "110 to 210 tokens: 4 passages",
    ]
    said = [text.text for text in tree.iter(f"{SVG}text")]
    assert "Arabic: 7 passages" in said
    assert "4 drawn from 110 to 210 tokens" in said
    assert "0 drawn from 10 to 110 tokens" in said  # Swahili
    assert "Arabic, 57% in the fullest bin from 110 to 210" in chart.alt
    assert chart.numbers is not None
    assert [cell.text for cell in chart.numbers.rows[0]] == ["Arabic", "10", "3", "0", "110–210", "4", "4"]
    height = float((tree.get("viewBox") or "").split()[3])
    lowest = max(float(one.get("y") or 0) for one in tree.iter(f"{SVG}text"))
    assert lowest < height  # nothing below the paper


def test_a_file_of_its_own_needs_no_page() -> None:
    chart = dots(shown())
    alone = svg.standalone(chart.svg, chart.alt)
    tree = ElementTree.fromstring(alone)
    assert "var(" not in alone
    assert tree.find(f"{SVG}desc").text == chart.alt  # type: ignore[union-attr]
    assert tree.get("width") == str(svg.WIDTH + 2 * svg.MARGIN)
    assert "aria-hidden" not in alone
