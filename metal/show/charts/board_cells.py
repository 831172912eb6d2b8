"""The pictures of `metal billboard crowd` and `references`, one for each cell of their tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from metal.show.charts.disagreement import Ends, disagreement, panels
from metal.show.charts.references import Curve, Step, references_chart
from metal.show.text import slug
from metal.show.view import Chart

if TYPE_CHECKING:
    import pandas as pd

    from metal.boards.crowd import Crowd
    from metal.boards.references import ReferenceCurve


def crowd_charts(crowd: Crowd, area: float) -> Iterator[Chart]:
    """A picture per cell, with a panel for each rater."""
    dots = crowd.tables["crowd_dots"]
    for (language, criterion), rows in crowd.tables["crowd_raters"].groupby(["language", "criterion"], sort=False):
        in_cell = dots[(dots["language"] == language) & (dots["criterion"] == criterion)]
        drawn = panels(rows[rows["kind"] != "ceiling"], in_cell)
        scale = crowd.scales[str(criterion)]
        ends = None if scale.low is None or scale.high is None else Ends(scale.low, scale.high)
        key, label = _key_and_label("crowd", str(criterion), str(language))
        chart = disagreement(key, label, drawn, people=crowd.reference, ends=ends, area=area)
        if chart:
            yield chart


def reference_charts(curve: ReferenceCurve) -> Iterator[Chart]:
    """A picture per cell, with a curve for each metric."""
    for (language, criterion), rows in curve.table.groupby(["language", "criterion"], sort=False):
        curves = []
        for name, level, steps in metrics_of_cell(rows):
            points = [Step(*(row[key] for key in ("references", "pearson", "spread"))) for row in steps]
            curves.append(Curve(name, points) if points else Curve(name, (), level))
        key, label = _key_and_label("references", str(criterion), str(language))
        chart = references_chart(key, label, curves, curve.reference)
        if chart:
            yield chart


def metrics_of_cell(rows: pd.DataFrame) -> Iterator[tuple[str, float, list[dict[Any, Any]]]]:
    """(name, level, steps) of each metric of a cell; a metric that is a line has a level and no steps."""
    line = rows["references"].isna()
    for name, steps in rows[~line].groupby("metric", sort=False):
        yield str(name), float("nan"), steps.to_dict("records")
    for row in rows[line].to_dict("records"):
        yield row["metric"], row["pearson"], []


def _key_and_label(what: str, criterion: str, language: str) -> tuple[str, str]:
    return (
        f"{what}_{slug(criterion)}_{slug(language) if language else 'all'}",
        f"{criterion} ({language or 'all languages'})",
    )
