"""Pictures of a board: scatter plots with their corners, curves over references."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from metal.show.charts.lines import references_chart
from metal.show.charts.scatter import SIDE, RaterPanel, ScorePair, disagreement
from metal.show.svg import standalone
from metal.show.view import Chart

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan


def drawn(chart: Chart | None) -> ElementTree.Element:
    assert chart is not None
    ElementTree.fromstring(standalone(chart.svg, chart.alt))
    return ElementTree.fromstring(chart.svg)


def panel(dots: list[ScorePair], rater: str = "crowd <b>", under: float = 4, over: float = 0) -> RaterPanel:
    return RaterPanel(rater, dots, 0.07, 0.01, 0.12, under, over)


def circles(tree: ElementTree.Element) -> list[dict[str, float | str]]:
    """Those of the panels, which have words; the legend's have none."""
    attributes = [circle.attrib for circle in tree.iter(f"{SVG}circle") if circle.find(f"{SVG}title") is not None]
    return [{"x": float(c["cx"]), "y": float(c["cy"]), "r": float(c["r"]), "class": c["class"]} for c in attributes]


def test_dots_stand_where_both_scores_are_and_corners_are_marked() -> None:
    dots = [(1.0, 1.0, 9), (1.0, 3.0, 4), (3.0, 2.0, 1)]
    chart = disagreement("k", "quality", [panel(dots)], people="the people", ends=(1, 3), area=1 / 3)
    tree = drawn(chart)
    many, some, single = circles(tree)  # the largest first, so that none is hidden
    assert some["x"] == many["x"]
    assert single["x"] == pytest.approx(float(many["x"]) + SIDE)
    assert some["y"] == pytest.approx(float(many["y"]) - SIDE)
    assert single["y"] == pytest.approx(float(many["y"]) - SIDE / 2)
    assert float(many["r"]) > float(some["r"]) > float(single["r"])
    assert [many["class"], some["class"], single["class"]] == ["m0", "m1", "m0"]
    bands = [rect for rect in tree.iter(f"{SVG}rect") if rect.get("class") == "band"]
    assert [float(rect.attrib["width"]) for rect in bands] == [pytest.approx(SIDE / 3)] * 2
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert "↖ 4 (29%)" in texts
    assert "0 (0%) ↘" in texts
    assert chart is not None
    assert "crowd <b>: Pearson 0.07, 4 outputs high by the people and low by it, 0 the reverse" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[0]] == ["crowd <b>", "14", "0.07", "4", "0"]


def test_a_metric_has_an_axis_of_its_own_and_no_corners() -> None:
    metric = panel([(-3.5, 1, 2), (7, 3, 2)], "m", NAN, NAN)
    tree = drawn(disagreement("k", "quality", [metric], people="people", ends=(1, 3), area=1 / 3))
    assert not [rect for rect in tree.iter(f"{SVG}rect") if rect.get("class") == "band"]
    assert not [text for text in tree.iter(f"{SVG}text") if "corner" in (text.text or "")]
    assert {text.text for text in tree.iter(f"{SVG}text")} >= {"-3.5", "7", "1", "3"}
    assert {circle["class"] for circle in circles(tree)} == {"m0"}


def test_raters_that_say_one_thing_and_raters_that_say_nothing() -> None:
    same = panel([(2, 2, 5)], "same")
    chart = disagreement("k", "q", [same, panel([], "silent")], people="people", ends=None, area=0.2)
    assert len(circles(drawn(chart))) == 1
    assert chart is not None
    assert len(chart.numbers.rows) == 2
    assert disagreement("k", "q", [panel([])], people="people", ends=None, area=0.2) is None


def steps(*rows: tuple[int, float, float]) -> list[dict[str, float]]:
    return [dict(zip(("references", "pearson", "spread"), row, strict=True)) for row in rows]


def test_curves_are_to_scale_with_their_spread() -> None:
    curve = steps((1, 0.1, 0.05), (2, NAN, NAN), (3, 0.2, NAN))
    chart = references_chart("k", "quality", [("chrf", NAN, curve), ("qe", 0.3, [])], "the people")
    tree = drawn(chart)
    labels = {text.text: float(text.get("y") or 0) for text in tree.iter(f"{SVG}text")}
    lines = [line.attrib for line in tree.iter(f"{SVG}line")]
    (spread,) = [line for line in lines if line["class"] == "ci s0"]
    reach = abs(float(spread["y1"]) - float(spread["y2"]))
    assert reach == pytest.approx(0.1 / 0.25 * (labels["0.05"] - labels["0.30"]), abs=0.2)
    (level,) = [line for line in lines if line["class"] == "way s1 d1" and line["x1"] != "1"]
    assert float(level["y1"]) == float(level["y2"]) == pytest.approx(labels["0.30"] - 4)
    ways = [line for line in lines if line["class"] == "way s0" and line["x1"] != "1"]
    assert len(ways) == 1  # over what has no value
    assert chart is not None
    assert "chrf from 0.10 (1) to 0.20 (3); qe is a line at 0.30" in chart.alt
    assert len(chart.numbers.rows) == 4


def test_nothing_to_draw_and_one_reference() -> None:
    assert references_chart("k", "q", [("chrf", NAN, steps((1, NAN, NAN)))], "people") is None
    tree = drawn(references_chart("k", "q", [("chrf", NAN, steps((1, 0.0, NAN)))], "people"))
    assert len([path for path in tree.iter(f"{SVG}path") if path.get("class") == "dot m0"]) == 2  # legend, value
