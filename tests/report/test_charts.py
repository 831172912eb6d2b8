"""Drawings: well-formed, to scale, complete, and the same words for those who cannot see them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from metal.auditing.verdict import LIKE_A_PERSON, UNDECIDED, VERDICTS
from metal.data.languages import language_name
from metal.data.records import Criterion, Level, Scale
from metal.errors import UsageError
from metal.questions.audit.matrix import verdicts_matrix
from metal.questions.audit.run import AuditRun
from metal.show import svg
from metal.show.charts.agreement import CriterionF1, dots, f1_against_kappa, radar
from metal.show.charts.bars import Bar, class_bars, length_histograms
from metal.show.charts.dots import forest
from metal.show.charts.lines import references_chart
from metal.show.charts.scatter import SIDE, RaterPanel, ScorePair, disagreement
from metal.show.files import chart_svg
from metal.show.view import Chart
from tests.conftest import TASK_QUALITY
from tests.saying import tells

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan


def drawn(chart: Chart | None) -> ElementTree.Element:
    assert chart is not None
    ElementTree.fromstring(svg.standalone(chart.svg, chart.alt))
    return ElementTree.fromstring(chart.svg)


def lines(tree: ElementTree.Element, class_: str) -> list[tuple[float, float]]:
    """The ends (x) of the lines of a class, without those of the legend."""
    ends = [line.attrib for line in tree.iter(f"{SVG}line") if line.get("class") == class_]
    return [(float(line["x1"]), float(line["x2"])) for line in ends if float(line["x2"]) > 24]


def marks(tree: ElementTree.Element) -> list[str | None]:
    return [path.get("class") for path in tree.iter(f"{SVG}path")]


def place(tree: ElementTree.Element, words: str) -> float:
    """Where (x) the first text with these words stands."""
    return next(float(text.attrib["x"]) for text in tree.iter(f"{SVG}text") if text.text == words)


def shown(**changes: object) -> CriterionF1:
    judges = {
        "a <b>": {"en": (0.5, 0.25, 0.75), "hi": (1.0, NAN, NAN), "sw": (NAN, NAN, NAN)},
        "j2": {"en": (0.0, 0.0, 0.1), "hi": (0.2, 0.1, 0.3), "sw": (0.4, 0.3, 0.5)},
    }
    given = {
        "key": "tq",
        "label": "Task quality",
        "languages": ["en", "hi", "sw"],
        "judges": judges,
        "ceiling": {"en": 0.75, "hi": 0.5, "sw": NAN},
        "floor": {"en": 0.3, "hi": 0.3, "sw": 0.3},
        "ceiling_name": "against the others",
    }
    return CriterionF1(**{**given, **changes})  # type: ignore[arg-type]


def test_dots_stand_to_scale() -> None:
    chart = dots(shown())
    tree = drawn(chart)
    quarter, half, most = (place(tree, words) for words in ("0.25", "0.50", "0.75"))
    assert lines(tree, "ci s0") == [(quarter, most)]  # hi has no interval, sw no value
    assert marks(tree).count("dot m0") == 1 + 2  # legend, en, hi
    assert lines(tree, "ceiling") == [(most, most), (half, half)]  # sw is undefined
    assert "a <b> from 0.50 (English) to 1.00 (Hindi)" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[1]] == ["a <b>", "0.50", "1.00", "–"]


def test_a_radar_is_open_where_a_value_is_missing() -> None:
    tree = drawn(radar(shown()))
    ways = [
        path.get("d")
        for path in tree.iter(f"{SVG}path")
        if (path.get("class") or "").startswith("way")
    ]
    assert [way.count("M") for way in ways if way] == [2, 1]  # a <b> breaks off at sw, j2 is closed
    assert [way.count("L") for way in ways if way] == [1, 3]
    assert marks(tree).count("ceiling") == 1
    assert {text.text for text in tree.iter(f"{SVG}text")} >= {"0.25", "0.50", "0.75", "a <b>"}
    assert radar(shown(languages=["en", "hi"])) is None  # two languages are no radar


def test_hollow_dots_are_at_chance() -> None:
    columns = ("judge", "language", "weighted_f1", "kappa", "kappa_low", "kappa_high")
    figures = [
        ("j", "en", 0.9, 0.02, -0.05, 0.1),
        ("j", "hi", 0.5, 0.4, 0.3, 0.5),
        ("j", "sw", 0.9, NAN, NAN, NAN),
    ]
    rows = [dict(zip(columns, row, strict=True)) for row in figures]
    chart = f1_against_kappa("f1_kappa_tq", "Task quality (1 of 2)", "Task quality", rows, ["j"])
    assert marks(drawn(chart)) == ["dot m0", "dot h7", "dot h0", "dot m0"]  # two in the legend
    assert tells(chart.finding, "1 of 2 cases", "not shown")
    assert "not shown is 0.90." in chart.alt
    assert len(chart.numbers.rows) == 3  # the undefined one is in the numbers


def test_a_kappa_without_an_interval_is_not_called_chance() -> None:
    columns = ("judge", "language", "weighted_f1", "kappa", "kappa_low", "kappa_high")
    known, rare = ("j", "en", 0.9, 0.4, 0.3, 0.5), ("j", "hi", 0.9, 0.4, NAN, NAN)
    for figures, finding in (
        (
            [known, rare],
            ("0 of 1 case", "in 1 more"),
        ),
        (
            [rare, rare],
            ("none of 2 cases", "unknown"),
        ),
    ):
        rows = [dict(zip(columns, row, strict=True)) for row in figures]
        chart = f1_against_kappa("f1_kappa_tq", "Task quality", "Task quality", rows, ["j"])
        assert tells(chart.finding, *finding)
        assert chart.finding in chart.alt


def test_bars_are_shares_with_counts() -> None:
    bars = [
        Bar("all agree", "people", {"0 Bad": 1, "2 Good": 3}),
        Bar("all agree", "j", {"(no answer)": 4}),
    ]
    chart = class_bars("k", TASK_QUALITY, bars)
    parts = [
        rect for rect in drawn(chart).iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None
    ]
    quarter, rest, full = (float(rect.attrib["width"]) for rect in parts)
    assert (rest, full) == (3 * quarter, 4 * quarter)
    assert "people mostly 2 Good (75%)" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[0]] == [
        "all agree",
        "people",
        "1",
        "0",
        "3",
        "0",
        "4",
    ]


def test_too_many_classes_for_shades() -> None:
    labels = Criterion("c", Scale("nominal", tuple(Level(n, f"l{n}") for n in range(10))))
    chart = class_bars("k", labels, [Bar("", "people", {"0 l0": 3, "9 l9": 1})])
    assert chart.svg == ""
    assert tells(chart.notes, "10 classes", "only the numbers")
    assert [cell.text for cell in chart.numbers.rows[0]] == ["people", "3", *"00000000", "1", "4"]
    with pytest.raises(UsageError, match="'k' has no drawing: 10 classes"):
        chart_svg(chart)


def test_shades_run_from_bad_to_good() -> None:
    assert [svg.class_fill(place, 2) for place in (0, 1)] == ["#f0a05c", "#70a8e4"]
    assert [svg.class_fill(place, 2, lower_is_better=True) for place in (0, 1)] == [
        "#70a8e4",
        "#f0a05c",
    ]


def test_a_forest_tells_significant_from_not() -> None:
    columns = ("language", "difference", "difference_low", "difference_high", "p_adjusted")
    figures = [("en", 0.2, 0.1, 0.3, 0.01), ("hi", -0.1, -0.3, 0.1, 0.6)]
    rows = [("a − b", dict(zip(columns, row, strict=True))) for row in figures]
    chart = forest("k", "TQ", rows, "second is better", "first is better")
    assert marks(drawn(chart)) == ["dot m0", "dot h0", "dot m0", "dot h0"]
    assert "1 significantly above 0 (first is better), 0 significantly below" in chart.alt


def histogram(counts: list[int], chosen: int, duplicates: int = 0) -> dict[str, object]:
    edges = [10.0 + 100 * place for place in range(len(counts) + 1)]
    facts = {"passages": sum(counts) + duplicates, "duplicates": duplicates, "near_empty": 0}
    return {"counts": counts, "edges": edges, "chosen_bin": chosen, **facts}


def test_lengths_have_a_panel_a_language_and_one_full_bar() -> None:
    histograms = {
        "ar": histogram([1, 4, 2], 1, 3),
        "zh-Hant": histogram([1200, 0], 0),
        "sw": histogram([5], 0),
    }
    chart = length_histograms(histograms, {"ar": 4, "zh-Hant": 100})
    tree = drawn(chart)
    bars = [rect for rect in tree.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    tallest = float(bars[1].attrib["height"])
    # to scale in each panel
    assert [float(bar.attrib["height"]) / tallest for bar in bars] == [0.25, 1, 0.5, 1, 0, 1]
    assert [bar.get("class") for bar in bars] == ["h0", "m0", "h0", "m0", "h0", "m0"]
    assert [bar.findtext(f"{SVG}title") for bar in bars][:2] == [
        "10 to 110 tokens: 1 passage",
        "110 to 210 tokens: 4 passages",
    ]
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert texts[3:6] == ["7 passages", "4 drawn from", "110 to 210 tokens"]
    assert "0 drawn from" in texts  # Swahili
    assert "Arabic, 57% in the fullest bin from 110 to 210" in chart.alt
    assert [cell.text for cell in chart.numbers.rows[0]] == [
        "Arabic",
        "10",
        "3",
        "0",
        "110–210",
        "4",
        "4",
    ]
    height = float((tree.get("viewBox") or "").split()[3])
    # nothing below the paper
    assert max(float(text.attrib["y"]) for text in tree.iter(f"{SVG}text")) < height


def with_verdicts(run: AuditRun, verdicts: list[tuple[str, str, str]]) -> AuditRun:
    """The run with these verdicts (judge, language, verdict) on Task quality, and no others."""
    table = pd.DataFrame(verdicts, columns=["judge", "language", "verdict"])
    table = table.assign(
        criterion="task_quality", reason="kappa -0.1", signature="", items=60, sources=60
    )
    unknown = ("share_kept", "share_kept_low", "share_kept_high", "above_constant", "items_needed")
    table = table.assign(
        **dict.fromkeys((*unknown, "confirmed", "confirmed_bad"), math.nan), p_like=1.0, panel=""
    )
    people = (
        run.rows("people", criterion="task_quality")
        .iloc[[0] * len(table)]
        .assign(language=list(table["language"]))
    )
    return replace(run, tables={**run.tables, "verdicts": table, "people": people})


def cells(tree: ElementTree.Element) -> list[ElementTree.Element]:
    """The cells of a matrix, which have words under the mouse."""
    return [group for group in tree.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


def test_verdicts_are_told_apart_by_shape_word_and_colour(demo_run: Path) -> None:
    four = zip(("en", "hi", "sw", "zu"), VERDICTS, strict=False)
    others = [("j2", "en", UNDECIDED), ("j2", "hi", LIKE_A_PERSON)]
    run = with_verdicts(AuditRun.read(demo_run), [("a <b>", *pair) for pair in four] + others)
    chart = verdicts_matrix(run)
    tree = drawn(chart)
    boxes = cells(tree)
    shapes = [
        tuple((part.tag, part.get("fill"), part.get("r")) for part in box if "rect" not in part.tag)
        for box in boxes
    ]
    assert all(shapes.count(shape) == 1 for shape in shapes[1:5])
    assert shapes[5] == shapes[0]
    words = ["good", "some", "none", "split", "open", "good"]
    assert [box.findtext(f"{SVG}text") for box in boxes] == words
    assert "a <b>, Task quality, Hindi: informative. Kappa −0.1." in [
        box.findtext(f"{SVG}title") for box in boxes
    ]
    row = ["Task quality", "j2", "Undecided", "Like a person", "–", "–"]
    assert [cell.text for cell in chart.numbers.rows[1]] == row
    assert "2 like a person, 1 informative" in chart.alt
    assert "Like a person or informative: a <b> in 2 of 4, j2 in 1 of 2." in chart.alt


def test_many_verdicts_continue_below(demo_run: Path) -> None:
    languages = [f"{first}{second}" for first in "abcdefghij" for second in "knorst"]
    verdicts = [
        (f"model-{n}/a-long-prompt-name", code, LIKE_A_PERSON)
        for n in range(30)
        for code in languages
    ]
    chart = verdicts_matrix(with_verdicts(AuditRun.read(demo_run), verdicts))
    tree = drawn(chart)
    boxes = cells(tree)
    places = {(box[1].get("x"), box[1].get("y")) for box in boxes}
    assert len(boxes) == len(places) == 60 * 30  # none on top of another
    edges = [float(box[1].attrib["x"]) + float(box[1].attrib["width"]) for box in boxes]
    assert max(edges) <= svg.WIDTH
    heads = Counter(title.text for title in tree.iter(f"{SVG}title"))
    assert all(heads[language_name(code)] == 1 for code in languages)
    assert chart.alt.endswith("and 24 more judges.")


def test_verdicts_without_judges_are_a_note(demo_run: Path) -> None:
    chart = verdicts_matrix(with_verdicts(AuditRun.read(demo_run), []))
    assert (chart.svg, chart.notes) == ("", ("No judges took part.",))


def panel(
    dots: list[ScorePair], rater: str = "crowd <b>", under: float = 4, over: float = 0
) -> RaterPanel:
    return RaterPanel(rater, dots, 0.07, 0.01, 0.12, under, over)


def circles(tree: ElementTree.Element) -> list[dict[str, float | str]]:
    """Those of the panels, which have words; the legend's have none."""
    attributes = [
        circle.attrib
        for circle in tree.iter(f"{SVG}circle")
        if circle.find(f"{SVG}title") is not None
    ]
    return [
        {"x": float(c["cx"]), "y": float(c["cy"]), "r": float(c["r"]), "class": c["class"]}
        for c in attributes
    ]


def test_dots_stand_where_both_scores_are_and_corners_are_marked() -> None:
    dots = [(1.0, 1.0, 9), (1.0, 3.0, 4), (3.0, 2.0, 1)]
    chart = disagreement(
        "k", "quality", [panel(dots)], people="the people", ends=(1, 3), area=1 / 3
    )
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
    assert tells(
        chart.alt, "crowd <b>: Pearson 0.07, 4 outputs", "people put high", "0 the reverse"
    )
    assert [cell.text for cell in chart.numbers.rows[0]] == ["crowd <b>", "14", "0.07", "4", "0"]


def test_a_metric_has_an_axis_of_its_own_and_no_corners() -> None:
    metric = panel([(-3.5, 1, 2), (7, 3, 2)], "m", NAN, NAN)
    tree = drawn(disagreement("k", "quality", [metric], people="people", ends=(1, 3), area=1 / 3))
    assert not [rect for rect in tree.iter(f"{SVG}rect") if rect.get("class") == "band"]
    assert not [text for text in tree.iter(f"{SVG}text") if "corner" in (text.text or "")]
    assert {text.text for text in tree.iter(f"{SVG}text")} >= {"−3.5", "7.0", "1", "3"}
    assert {circle["class"] for circle in circles(tree)} == {"m0"}


def test_raters_that_say_one_thing_and_raters_that_say_nothing() -> None:
    same = panel([(2, 2, 5)], "same")
    chart = disagreement(
        "k", "q", [same, panel([], "silent")], people="people", ends=None, area=0.2
    )
    assert len(circles(drawn(chart))) == 1
    assert chart is not None
    assert len(chart.numbers.rows) == 2
    assert disagreement("k", "q", [panel([])], people="people", ends=None, area=0.2) is None
    named = disagreement(
        "k", "q", [panel([(2, 2, 5)], "constructed:lenient")], people="us", ends=None, area=0.2
    )
    titles = [part.text for part in drawn(named).iter(f"{SVG}tspan")]
    assert titles == ["constructed:lenient:", "r\N{NO-BREAK SPACE}0.07"]


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
    # legend, value
    assert len([path for path in tree.iter(f"{SVG}path") if path.get("class") == "dot m0"]) == 2


def test_a_file_of_its_own_needs_no_page() -> None:
    chart = dots(shown())
    alone = chart_svg(chart)
    tree = ElementTree.fromstring(alone)
    assert "var(" not in alone
    assert "aria-hidden" not in alone
    assert tree.find(f"{SVG}desc").text == chart.alt  # type: ignore[union-attr]
    assert tree.get("width") == str(svg.WIDTH + 2 * svg.MARGIN)
