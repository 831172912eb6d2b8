"""Charts of judges compared with people on one criterion: METAL's Figures 9 and 10 as radar and
dots, and F1 against kappa.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metal.data.languages import language_name
from metal.data.text import figure, interval, known, name, plural, within
from metal.runs.columns import Row
from metal.show import svg
from metal.show.svg import SHARES, Axis, Figures
from metal.show.view import Cell, Chart, Rows, TableView

LEFT, STEP, PAD = 96.0, 15, 8
CHANCE_HEIGHT, CHANCE_LEFT, CHANCE_RIGHT = 250.0, 34.0, svg.WIDTH - 16.0
LETTER = 6.8  # room for a letter of a language's name
LABEL = 13  # letters of it
CROWDED = 40  # with more dots than this, the language is not written beside each
UNDEFINED = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class CriterionF1:
    """Weighted F1 on one criterion.

    judges: name -> language -> (value, low, high), NaN if undefined; at most svg.SERIES judges.
    ceiling: language -> the F1 of people. floor: language -> the F1 of the most frequent class.
    ceiling_name: which of the human ceilings is shown. part: `1 of 2` if the judges do not fit into
    one drawing.
    """

    key: str
    label: str
    languages: Sequence[str]
    judges: Mapping[str, Mapping[str, Figures]]
    ceiling: Mapping[str, float]
    floor: Mapping[str, float]
    ceiling_name: str
    part: str = ""

    @property
    def title(self) -> str:
        """The title of the chart, such as `Task quality (1 of 2)`."""
        return f"{self.label} ({self.part})" if self.part else self.label

    @property
    def people(self) -> str:
        """The legend entry for people, such as `people, against the others`."""
        return f"people, {self.ceiling_name}"

    def file(self, kind: str) -> str:
        """A name for the chart's file."""
        return f"{kind}_{self.key}" + (f"_{self.part.split()[0]}" if self.part else "")


def dots(shown: CriterionF1) -> Chart:
    """A chart with one row per language: a dot with its interval for each judge, between floor and
    ceiling.
    """
    entries = [
        *svg.judge_legend(list(shown.judges)),
        (svg.line(12, -6, 12, 6, "ceiling"), shown.people),
        (svg.line(12, -6, 12, 6, "floor"), "always the most frequent class"),
    ]
    head, top = svg.legend(entries)
    top += 14
    axis = Axis(0.0, 1.0, LEFT, svg.WIDTH - 16, SHARES)
    height = STEP * max(len(shown.judges), 1) + 2 * PAD
    bottom = top + height * len(shown.languages)
    bands = [svg.band(top + height * row, height) for row in range(0, len(shown.languages), 2)]
    parts = [
        head,
        *bands,
        axis.grid(top, bottom),
        axis.numbers(top, above=True),
        axis.numbers(bottom),
    ]
    limits = (
        ("floor", shown.floor, "most frequent class"),
        ("ceiling", shown.ceiling, shown.people),
    )
    for row, language in enumerate(shown.languages):
        y = top + height * row
        parts.append(svg.lines(6, y + height / 2 + 4, language_name(language), LABEL))
        for class_, values, label in limits:
            value = values.get(language, math.nan)
            if known(value):
                parts.append(axis.line(value, y, y + height, class_, f"{label}: {figure(value)}"))
        for series, (judge, by_language) in enumerate(shown.judges.items()):
            figures = by_language.get(language, UNDEFINED)
            if known(figures[0]):
                who = f"{within(judge)}, {language_name(language)}"
                parts.append(axis.estimate(y + PAD + STEP * (series + 0.5), who, figures, series))
    alt = (
        f"Dot plot of weighted F1 with 95% intervals on {shown.label}, by language and judge. "
        f"{_in_words(shown)} All figures are in the table below."
    )
    drawing = svg.drawing(bottom + 18, *parts)
    return Chart(
        shown.file("dots"), shown.title, alt, drawing, _numbers(shown), finding=_finding(shown)
    )


def _finding(shown: CriterionF1) -> str:
    """Say how often judges are below people, and how often no better than the most
    frequent class.
    """
    cases = below = floored = 0
    for by_language in shown.judges.values():
        for language, (value, *_) in by_language.items():
            if known(value):
                cases += 1
                below += value < shown.ceiling.get(language, math.nan)
                floored += value <= shown.floor.get(language, math.nan)
    return (
        f"In {below} of {plural(cases, 'case')} F1 is below people's, in {floored} not above"
        " that of the most frequent class."
    )


def _ring(
    languages: Sequence[str],
    values: Mapping[str, float],
    at: Callable[[int, float], tuple[float, float]],
    class_: str,
) -> str:
    """A line around the radar, with a gap if a value is missing.

    at: a function that gives the position of a value on an axis.
    """
    steps, drawing = [], False
    for position, language in [*enumerate(languages), (0, languages[0])]:
        value = values.get(language, math.nan)
        if known(value):
            x, y = at(position, max(value, 0.0))
            steps.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
        drawing = known(value)
    return svg.element("path", d="".join(steps), class_=class_) if steps else ""


def radar(shown: CriterionF1) -> Chart | None:
    """A radar with one axis per language, one line per judge, and the human ceiling dashed; None
    for fewer than three languages.
    """
    languages = shown.languages
    if len(languages) < 3:
        return None
    head, top = svg.legend(
        [
            *svg.judge_legend(list(shown.judges), lines=True),
            (svg.line_symbol("ceiling"), shown.people),
        ]
    )
    radius, centre_x, centre_y = 104.0, svg.WIDTH / 2, top + 128.0

    def at(position: int, value: float) -> tuple[float, float]:
        turn = 2 * math.pi * position / len(languages)
        return centre_x + radius * value * math.sin(turn), centre_y - radius * value * math.cos(
            turn
        )

    parts = [head]
    for tick in SHARES[1:]:
        corners = (at(position, tick) for position in range(len(languages)))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        parts.append(svg.element("polygon", points=points, class_="grid"))
    for position, language in enumerate(languages):
        parts.append(svg.line(centre_x, centre_y, *at(position, 1), "grid"))
        x, y = at(position, 1.1)
        anchor = "start" if x > centre_x else "end"
        if abs(x - centre_x) < 12:
            anchor = "middle"
        parts.append(svg.lines(x, y + 4, language_name(language), LABEL, text_anchor=anchor))
    for tick in SHARES[1:-1]:
        parts.append(
            svg.text(centre_x + 3, at(0, tick)[1] - 2, svg.tick_text(tick, SHARES), class_="soft")
        )
    parts.append(_ring(languages, shown.ceiling, at, "ceiling"))
    for series, (judge, by_language) in enumerate(shown.judges.items()):
        values = {language: value for language, (value, _, _) in by_language.items()}
        parts.append(_ring(languages, values, at, svg.way(series)))
        for position, language in enumerate(languages):
            if known(values.get(language, math.nan)):
                hover = f"{within(judge)}, {language_name(language)}: {figure(values[language])}"
                parts.append(svg.marker(*at(position, values[language]), series, hover))
    alt = (
        f"Radar plot of weighted F1 on {shown.label}: an axis for each of {len(languages)}"
        f" languages, a line for each judge, and the human ceiling ({shown.ceiling_name}) dashed."
        f" {_in_words(shown)}"
    )
    return Chart(
        shown.file("radar"),
        shown.title,
        alt,
        svg.drawing(centre_y + radius + 24, *parts),
        _numbers(shown),
        (),
        _finding(shown),
    )


def _in_words(shown: CriterionF1) -> str:
    """The range of each judge in words, for readers who cannot see the chart."""
    ranges = []
    for judge, by_language in shown.judges.items():
        values = {code: value for code, (value, _, _) in by_language.items() if known(value)}
        if values:
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            ranges.append(
                f"{within(judge)} from {figure(values[low])} ({language_name(low)}) to "
                f"{figure(values[high])} ({language_name(high)})"
            )
    return "; ".join(ranges) + "." if ranges else "No figure is defined."


def _numbers(shown: CriterionF1) -> TableView:
    rows: Rows = [[shown.people, *(figure(shown.ceiling.get(code)) for code in shown.languages)]]
    for judge, by_language in shown.judges.items():
        figures = [by_language.get(code, UNDEFINED) for code in shown.languages]
        rows.append(
            [
                name(judge),
                *(Cell(figure(value), interval(low, high)) for value, low, high in figures),
            ]
        )
    rows.append(
        ["most frequent class", *(figure(shown.floor.get(code)) for code in shown.languages)]
    )
    columns = ("weighted F1", *map(language_name, shown.languages))
    return TableView.of(None, "judges", shown.title, columns, rows, name=shown.file("agreement"))


def f1_against_kappa(
    key: str, title: str, label: str, rows: Sequence[Row], judges: Sequence[str]
) -> Chart:
    """A chart with one dot per row of the table of judges, hollow if kappa's interval contains 0 or
    is missing.

    A judge at the top left knows the most frequent answer, but not which outputs differ. label: the
    criterion's name.
    """
    drawn = [row for row in rows if known(row["weighted_f1"]) and known(row["kappa"])]
    hollow = (
        svg.hollow_circle(),
        "hollow: agreement beyond chance is not shown, or has no interval",
    )
    head, top = svg.legend([*svg.judge_legend(judges), hollow])
    top += 12
    bottom = top + CHANCE_HEIGHT
    x = Axis(min([-0.2, *(row["kappa"] for row in drawn)]), 1.0, CHANCE_LEFT, CHANCE_RIGHT, SHARES)
    y = Axis(0.0, 1.0, bottom, top, SHARES, upright=True)
    parts = [
        head,
        svg.rect(CHANCE_LEFT, top, x(0) - CHANCE_LEFT, CHANCE_HEIGHT, class_="band"),
        *(
            y.grid(CHANCE_LEFT, CHANCE_RIGHT),
            x.grid(top, bottom),
            y.numbers(CHANCE_LEFT),
            x.numbers(bottom),
        ),
        svg.text(
            CHANCE_RIGHT,
            bottom + 28,
            "Cohen's kappa: agreement beyond chance",
            class_="soft",
            anchor="end",
        ),
        svg.text(CHANCE_LEFT, top - 4, "weighted F1", class_="soft"),
    ]
    for row in drawn:
        across, up = x(row["kappa"]), y(row["weighted_f1"])
        who = f"{within(row['judge'])}, {language_name(row['language'])}"
        hover = (
            f"{who}: F1 {figure(row['weighted_f1'])}, kappa {figure(row['kappa'])}"
            f" {_kappa_interval(row)}"
        )
        parts.append(
            svg.marker(
                across,
                up,
                judges.index(row["judge"]),
                hover.strip(),
                hollow=not _beyond_chance(row),
            )
        )
    if len(drawn) <= CROWDED:
        names = (language_name(row["language"]) for row in drawn)
        parts += _labels(
            [
                (x(row["kappa"]), y(row["weighted_f1"]), of)
                for row, of in zip(drawn, names, strict=True)
            ]
        )
    finding = _chance_finding(drawn)
    at_chance = [row["weighted_f1"] for row in drawn if _at_chance(row)]
    highest = (
        f" The highest F1 of a dot whose agreement is not shown is {figure(max(at_chance))}."
        if at_chance
        else ""
    )
    alt = (
        f"Scatter plot of weighted F1 against Cohen's kappa on {label}, {len(drawn)} dots, one per"
        f" judge and language. {finding}{highest}"
    )
    cells: Rows = []
    for row in rows:
        kappa = Cell(figure(row["kappa"]), _kappa_interval(row))
        cells.append(
            [name(row["judge"]), language_name(row["language"]), figure(row["weighted_f1"]), kappa]
        )
    columns = ("judge", "language", "weighted F1", "kappa")
    numbers = TableView.of(None, "judges", label, columns, cells, name=key, heads=2)
    left_out = len(rows) - len(drawn)
    notes = (f"{left_out} of {len(rows)} not drawn: kappa or F1 is undefined.",) if left_out else ()
    return Chart(key, title, alt, svg.drawing(bottom + 34, *parts), numbers, notes, finding)


def _labels(dots: Sequence[tuple[float, float, str]]) -> list[str]:
    """Place the word of each dot (x, y, word) to the right or left of the dot, or above or below
    it, so that the word touches no other word or dot.

    A dot without such a place shows its word only under the mouse and in the table of numbers.
    """
    parts: list[str] = []
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in dots]
    for x, y, word in dots:
        width = LETTER * len(word)
        for left, baseline in (
            (x + 7, y + 4),
            (x - 7 - width, y + 4),
            (x - width / 2, y - 8),
            (x - width / 2, y + 17),
        ):
            right, upper, lower = left + width, baseline - 10, baseline + 3
            meets = any(
                left < end and start < right and upper < low and high < lower
                for start, high, end, low in taken
            )
            if not meets and left >= CHANCE_LEFT and right <= svg.WIDTH:
                parts.append(svg.text(left, baseline, word))
                taken.append((left, upper, right, lower))
                break
    return parts


def _beyond_chance(row: Row) -> bool:
    """Whether agreement beyond chance is shown."""
    return known(row["kappa_low"]) and bool(row["kappa_low"] > 0)


def _at_chance(row: Row) -> bool:
    """Whether kappa's interval contains 0 or lies below it; False for a kappa without an
    interval.
    """
    return known(row["kappa_low"]) and not _beyond_chance(row)


def _chance_finding(rows: Sequence[Row]) -> str:
    """A sentence such as
    `In 2 of 5 cases agreement beyond chance is not shown; in 1 more kappa has no interval.`
    """
    without = sum(not known(row["kappa_low"]) for row in rows)
    measured = len(rows) - without
    if rows and not measured:
        return (
            f"Kappa has an interval in none of {plural(without, 'case')}: agreement beyond chance"
            " is unknown."
        )
    at_chance = sum(map(_at_chance, rows))
    finding = f"In {at_chance} of {plural(measured, 'case')} agreement beyond chance is not shown"
    return f"{finding}; in {without} more kappa has no interval." if without else f"{finding}."


def _kappa_interval(row: Row) -> str:
    return interval(row["kappa_low"], row["kappa_high"])
