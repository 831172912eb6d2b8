"""Every verdict of an audit: the matrices that a page begins with, and all of them in one picture."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from metal.auditing.verdict import AS_GOOD, DISAGREE, INFORMATIVE, UNDECIDED, UNINFORMATIVE, VERDICTS
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import MINUS, UNDEFINED, listed, name, plural, within
from metal.runs.audit_run import AuditRun
from metal.show import svg
from metal.show.view import Chart, TableView

# Sign and word of a verdict, which say it without the colour; the word is also the class in the style sheet.
SIGNS = {
    AS_GOOD: ("●", "good"),
    INFORMATIVE: ("◐", "some"),
    UNINFORMATIVE: ("○", "none"),
    DISAGREE: ("≠", "split"),
    UNDECIDED: ("…", "open"),
}
LEFT, STEP, INK = 142.0, 19, "#17181b"
WITH_WORD = 55.0  # a cell this wide has room for its word
LABEL = 23  # characters of a judge's name that fit left of the cells
MOST_DESCRIBED = 6  # judges counted one by one in the words for those who cannot see the picture

# Fill, border and dashes of a verdict's cell, as on the page; its shape and word say the same without colour.
LOOKS = {
    "good": ("#8fc0ef", "#0060a8", None),
    "some": ("#dcebfa", "#5b93c6", "4 2"),
    "none": ("#f7c79b", "#a84300", None),
    "split": ("#f3e3f5", "#8a4b94", "6 2"),
    "open": ("#e4e5e9", "#7c828e", "1.5 2"),
}


@dataclass(frozen=True)
class VerdictCell:
    """A verdict as a button. reason: the whole sentence shown on click or focus; place: its anchor on the page."""

    sign: str
    word: str
    reason: str
    place: str


@dataclass(frozen=True)
class Matrix:
    """The verdicts on one criterion: judges in rows, languages in columns; None where there is none."""

    criterion: Criterion
    languages: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str, tuple[VerdictCell | None, ...]], ...]


def legend() -> list[tuple[str, str, str]]:
    """Sign, word and meaning of each verdict, best first."""
    return [(*SIGNS[verdict], verdict) for verdict in VERDICTS]


def matrices(run: AuditRun) -> list[Matrix]:
    """One matrix of verdicts, judges by languages, per criterion; none without judges."""
    shown: list[Matrix] = []
    for criterion in run.criteria.values():
        records = run.records("verdicts", criterion=criterion.name)
        by = {(row["judge"], row["language"]): row for row in records}
        rows: list[tuple[str, str, tuple[VerdictCell | None, ...]]] = []
        for judge in dict.fromkeys(row["judge"] for row in records):
            cells: list[VerdictCell | None] = []
            for language in run.languages:
                cell = None
                if row := by.get((judge, language)):
                    where = f"{within(judge)}, {criterion.label or criterion.name}, {language_name(language)}"
                    reason = f"{where}: {row['verdict']}. {sentence(row['reason'])}"
                    place = f"why-{len(shown) + 1}-{len(rows) + 1}-{len(cells) + 1}"
                    cell = VerdictCell(*SIGNS[row["verdict"]], reason, place)
                cells.append(cell)
            kind = run.raters[judge].kind if judge in run.raters else ""
            rows.append((name(judge), kind, tuple(cells)))
        if rows:
            languages = tuple((code, language_name(code)) for code in run.languages)
            shown.append(Matrix(criterion, languages, tuple(rows)))
    return shown


def sentence(words: str) -> str:
    """With a capital, a full stop, and minus signs before numbers as everywhere on the page."""
    return re.sub(r"(?<!\w)-(?=\d)", MINUS, words[:1].upper() + words[1:]) + "." if words else UNDEFINED


def verdicts_matrix(run: AuditRun) -> Chart:
    """The verdicts as cells, each with a shape, and with a word where there is room; without judges, a note alone.

    Languages that do not fit beside each other continue below, with all judges again.
    """
    criteria = matrices(run)
    meanings = {word: meaning for _, word, meaning in legend()}
    columns = ("criterion", "judge", *run.languages)
    rows = [
        (_label(matrix), judge, *(meanings[cell.word] if cell else UNDEFINED for cell in cells))
        for matrix in criteria
        for judge, _, cells in matrix.rows
    ]
    numbers = TableView.of(run, "verdicts", "Verdicts", columns, rows, heads=2)
    if not criteria:
        return Chart("verdicts", "Verdicts", "No judges took part.", "", numbers, ("No judges took part.",))

    # As many languages beside each other as fit with their codes, evenly over the parts.
    narrowest = max(23.0, 6.6 * max(map(len, run.languages)) + 4)
    parts = math.ceil(len(run.languages) / max((svg.WIDTH - LEFT) // narrowest, 1))
    size = math.ceil(len(run.languages) / parts)
    width = min((svg.WIDTH - LEFT) / size, 66.0)

    used = {cell.word for matrix in criteria for _, _, cells in matrix.rows for cell in cells if cell}
    head, y = svg.legend([(_box(12, 0, 22, 12, style), meanings[style]) for style in LOOKS if style in used])
    drawn = [head]
    for matrix in criteria:
        y += 20
        drawn.append(svg.text(2, y, svg.short(_label(matrix), svg.LEGEND_LENGTH)))
        for start in range(0, len(matrix.languages), size):
            for place, (code, language) in enumerate(matrix.languages[start : start + size]):
                x = LEFT + width * (place + 0.5)
                drawn.append(svg.text(x, y + 14, code, class_="soft", anchor="middle", hover=language))
            y += 19
            for judge, _, cells in matrix.rows:
                drawn.append(svg.text(8, y + 13, name(judge, LABEL), hover=judge))
                for place, cell in enumerate(cells[start : start + size]):
                    drawn.append(_drawn(cell, LEFT + width * (place + 0.5), y + STEP / 2, width - 2))
                y += STEP
    return Chart("verdicts", "Verdicts", _in_words(criteria, meanings), svg.drawing(y + 6, *drawn), numbers)


def _label(matrix: Matrix) -> str:
    return name(matrix.criterion.label or matrix.criterion.name)


def _drawn(cell: VerdictCell | None, x: float, y: float, width: float) -> str:
    """A cell of the matrix around (x, y), a dash where there is no verdict."""
    if cell is None:
        return svg.text(x, y + 4, UNDEFINED, class_="soft", anchor="middle")
    if width < WITH_WORD:
        return svg.element("g", svg.title(cell.reason), _box(x, y, width, 16, cell.word))
    word = svg.text(x - width / 2 + 18, y + 4, cell.word, class_="on")
    return svg.element("g", svg.title(cell.reason), _box(x, y, width, 16, cell.word, 9 - width / 2), word)


def _box(x: float, y: float, width: float, height: float, style: str, shift: float = 0.0) -> str:
    """A box in the look of a verdict, with its shape `shift` to the right of the middle."""
    fill, border, dashes = LOOKS[style]
    look = {"fill": fill, "stroke": border, "stroke_width": 1.2, "stroke_dasharray": dashes, "rx": 3}
    return svg.rect(x - width / 2, y - height / 2, width, height, **look) + _shape(style, x + shift, y)


def _shape(style: str, x: float, y: float) -> str:
    """A full, half or empty circle, an unequal sign, or three dots."""
    if style == "open":
        return "".join(svg.element("circle", cx=x + shift, cy=y, r=1.3, fill=INK) for shift in (-4.0, 0.0, 4.0))
    if style == "split":
        strokes = f"M{x - 4:.1f} {y - 2:.1f}h8M{x - 4:.1f} {y + 2:.1f}h8M{x - 2:.1f} {y + 5:.1f}l4 -10"
        return svg.element("path", d=strokes, fill="none", stroke=INK, stroke_width=1.4)
    fill = INK if style == "good" else "none"
    circle = svg.element("circle", cx=x, cy=y, r=4, fill=fill, stroke=INK, stroke_width=1.4)
    half = svg.element("path", d=f"M{x:.1f} {y - 4:.1f}a4 4 0 0 0 0 8z", fill=INK) if style == "some" else ""
    return circle + half


def _in_words(criteria: list[Matrix], meanings: Mapping[str, str]) -> str:
    """How many there are of each verdict, and how often each judge is as good as a person or informative."""
    by_judge: dict[str, Counter[str]] = {}
    for matrix in criteria:
        for judge, _, cells in matrix.rows:
            by_judge.setdefault(judge, Counter()).update(cell.word for cell in cells if cell)
    every = sum(by_judge.values(), Counter())
    counts = listed([f"{every[style]:,} {meaning}" for style, meaning in meanings.items() if every[style]])
    informed = [
        f"{within(judge)} in {words['good'] + words['some']} of {words.total()}"
        for judge, words in list(by_judge.items())[:MOST_DESCRIBED]
    ]
    more = f", and {plural(len(by_judge) - len(informed), 'more judge')}" if len(by_judge) > len(informed) else ""
    return (
        f"Matrix of {plural(every.total(), 'verdict')}, one row per judge and criterion, one column per language: "
        f"{counts}. As good as a person or informative: {', '.join(informed)}{more}."
    )
