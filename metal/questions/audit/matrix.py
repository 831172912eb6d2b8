"""All verdicts of an audit in one picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import wrap

from metal.auditing.verdict import LIKE_A_PERSON, VERDICTS
from metal.data.languages import language_name
from metal.data.text import UNDEFINED, capital, listed, name, plural, within
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import (
    AGREEMENT,
    SIGNS,
    JudgeVerdicts,
    VerdictCell,
    by_judge,
    judged_criteria,
)
from metal.show import svg
from metal.show.view import Chart, TableView

LEFT, STEP, INK = 142.0, 19, "#17181b"
LETTER, WIDEST = 6.6, 66.0  # of the names of languages above the cells; of a cell
WITH_WORD = 55.0  # a cell this wide has room for its word
LABEL = 23  # characters of a judge's name that fit left of the cells
MOST_DESCRIBED = 6  # judges counted one by one in the words for those who cannot see the picture

# Fill, border and dashes of a verdict's cell, as on the page; its shape and word say the same
# without colour.
LOOKS = {
    "good": ("#8fc0ef", "#0060a8", None),
    "some": ("#dcebfa", "#5b93c6", "4 2"),
    "none": ("#f7c79b", "#a84300", None),
    "split": ("#f3e3f5", "#8a4b94", "6 2"),
    "open": ("#e4e5e9", "#7c828e", "1.5 2"),
}


def legend(run: AuditRun) -> list[tuple[str, str, str]]:
    """The sign, word and meaning of each verdict, best first, in the words of this run."""
    called = (run.best_verdict if verdict == LIKE_A_PERSON else verdict for verdict in VERDICTS)
    return [(*SIGNS[verdict], verdict) for verdict in called]


def verdicts_matrix(run: AuditRun) -> Chart:
    """The verdicts as a chart of cells, each with a shape and, if there is room, a word; only a
    note without judges.

    Languages that do not fit side by side continue in a second block below, which repeats the
    judges.
    """
    judges, languages = by_judge(run), run.languages
    criteria = [
        (name(criterion.title), [(name(of.judge), of.cells[column]) for of in judges])
        for column, criterion in enumerate(judged_criteria(run))
    ]
    meanings = {word: meaning for _, word, meaning in legend(run)}
    columns = ("criterion", "judge", *map(language_name, languages))
    rows = [
        (label, judge, *(capital(meanings[cell.word]) if cell else UNDEFINED for cell in cells))
        for label, of_criterion in criteria
        for judge, cells in of_criterion
    ]
    numbers = TableView.of(run, "verdicts", "Verdicts", columns, rows, heads=2)
    if not criteria:
        return Chart(
            "verdicts", "Verdicts", "No judges took part.", "", numbers, ("No judges took part.",)
        )

    used = {cell.word for of in judges for cell in of.verdicts}
    head, y = svg.legend(
        [(_box(12, 0, 22, 12, style), meanings[style]) for style in LOOKS if style in used]
    )
    drawn, y = _rows(criteria, list(map(language_name, languages)), y)
    alt = _in_words(judges, meanings)
    return Chart(
        "verdicts", "Verdicts", alt, svg.drawing(y + 6, head, *drawn), numbers, (AGREEMENT,)
    )


def _rows(
    criteria: Sequence[tuple[str, Sequence[tuple[str, Sequence[VerdictCell | None]]]]],
    names: Sequence[str],
    y: float,
) -> tuple[list[str], float]:
    """The rows of the judges for each criterion, starting at height y, and the height where they
    end.

    As many languages stand side by side as fit with their names broken into lines. The blocks have
    about equally many languages.
    """
    longest = max(len(word) for head in names for word in head.split())
    narrowest = max(23.0, min(LETTER * longest + 4, WIDEST))
    parts = math.ceil(len(names) / max((svg.WIDTH - LEFT) // narrowest, 1))
    size = math.ceil(len(names) / parts)
    width = min((svg.WIDTH - LEFT) / size, WIDEST)
    letters = int(width / LETTER)
    head_room = svg.LINE * (max(len(wrap(head, letters)) for head in names) - 1)

    drawn = []
    for label, of_criterion in criteria:
        y += 20
        drawn.append(svg.text(2, y, svg.short(label, svg.LEGEND_LENGTH)))
        for start in range(0, len(names), size):
            for column, head in enumerate(names[start : start + size]):
                x, middle = LEFT + width * (column + 0.5), y + 14 + head_room / 2
                drawn.append(
                    svg.lines(x, middle, head, letters, class_="soft", text_anchor="middle")
                )
            y += 19 + head_room
            for judge, cells in of_criterion:
                drawn.append(svg.text(8, y + 13, name(judge, LABEL), hover=judge))
                for column, cell in enumerate(cells[start : start + size]):
                    drawn.append(
                        _drawn(cell, LEFT + width * (column + 0.5), y + STEP / 2, width - 2)
                    )
                y += STEP
    return drawn, y


def _drawn(cell: VerdictCell | None, x: float, y: float, width: float) -> str:
    """A cell of the matrix centred on (x, y); a dash if there is no verdict."""
    if cell is None:
        return svg.text(x, y + 4, UNDEFINED, class_="soft", anchor="middle")
    if width < WITH_WORD:
        return svg.element("g", svg.title(cell.reason), _box(x, y, width, 16, cell.word))
    word = svg.text(x - width / 2 + 18, y + 4, cell.word, class_="on")
    return svg.element(
        "g", svg.title(cell.reason), _box(x, y, width, 16, cell.word, 9 - width / 2), word
    )


def _box(x: float, y: float, width: float, height: float, style: str, shift: float = 0.0) -> str:
    """A box in the style of a verdict; its shape is `shift` to the right of the middle."""
    fill, border, dashes = LOOKS[style]
    look = {
        "fill": fill,
        "stroke": border,
        "stroke_width": 1.2,
        "stroke_dasharray": dashes,
        "rx": 3,
    }
    return svg.rect(x - width / 2, y - height / 2, width, height, **look) + _shape(
        style, x + shift, y
    )


def _shape(style: str, x: float, y: float) -> str:
    """The shape of a verdict: a full, half or empty circle, an unequal sign, or three dots."""
    if style == "open":
        return "".join(
            svg.element("circle", cx=x + shift, cy=y, r=1.3, fill=INK) for shift in (-4.0, 0.0, 4.0)
        )
    if style == "split":
        strokes = (
            f"M{x - 4:.1f} {y - 2:.1f}h8M{x - 4:.1f} {y + 2:.1f}h8M{x - 2:.1f} {y + 5:.1f}l4 -10"
        )
        return svg.element("path", d=strokes, fill="none", stroke=INK, stroke_width=1.4)
    fill = INK if style == "good" else "none"
    circle = svg.element("circle", cx=x, cy=y, r=4, fill=fill, stroke=INK, stroke_width=1.4)
    half = (
        svg.element("path", d=f"M{x:.1f} {y - 4:.1f}a4 4 0 0 0 0 8z", fill=INK)
        if style == "some"
        else ""
    )
    return circle + half


def _in_words(judges: list[JudgeVerdicts], meanings: Mapping[str, str]) -> str:
    """The chart in words: how often each verdict occurs, and how often each judge is like a person
    or informative.
    """
    tallies = {of.judge: Counter(cell.word for cell in of.verdicts) for of in judges}
    every = sum(tallies.values(), Counter())
    counts = listed(
        [f"{every[style]:,} {meaning}" for style, meaning in meanings.items() if every[style]]
    )
    informed = [
        f"{within(judge)} in {of['good'] + of['some']} of {of.total()}"
        for judge, of in list(tallies.items())[:MOST_DESCRIBED]
    ]
    more = (
        f", and {plural(len(tallies) - len(informed), 'more judge')}"
        if len(tallies) > len(informed)
        else ""
    )
    return (
        f"Matrix of {plural(every.total(), 'verdict')}, one row per judge and criterion, one column"
        f" per language: {counts}. {capital(meanings['good'])} or informative:"
        f" {', '.join(informed)}{more}."
    )
