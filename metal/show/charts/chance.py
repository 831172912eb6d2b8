"""F1 against kappa: a judge high up on the left says what most answers are, not which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metal.data.languages import language_name
from metal.data.text import figure, interval, known, name, within
from metal.show import svg
from metal.show.charts.axes import SHARES, Axis
from metal.show.view import Cell, Chart, TableView

HEIGHT, LEFT, RIGHT = 250.0, 34.0, svg.WIDTH - 14.0
CROWDED = 40  # with more dots than this, the language is not written beside each


@dataclass(frozen=True)
class F1AndKappa:
    """One judge in one language. kappa_low, kappa_high: NaN where there is no interval."""

    judge: str
    language: str
    f1: float
    kappa: float
    kappa_low: float
    kappa_high: float

    @property
    def chance(self) -> bool:
        """Whether agreement beyond chance is not shown."""
        return not (known(self.kappa_low) and self.kappa_low > 0)


def f1_against_kappa(key: str, title: str, label: str, dots: Sequence[F1AndKappa], judges: Sequence[str]) -> Chart:
    """A dot a judge and language; hollow where kappa's interval holds 0 or is undefined. label: the criterion."""
    drawn = [dot for dot in dots if known(dot.f1) and known(dot.kappa)]
    hollow = (svg.hollow_circle(), "hollow: no agreement beyond chance shown (interval of kappa)")
    head, top = svg.legend([*svg.judge_legend(judges), hollow])
    top += 12
    bottom = top + HEIGHT
    x = Axis(min([-0.2, *(dot.kappa for dot in drawn)]), 1.0, LEFT, RIGHT, SHARES)
    y = Axis(0.0, 1.0, bottom, top, SHARES, upright=True)
    parts = [
        head,
        svg.rect(LEFT, top, x(0) - LEFT, HEIGHT, class_="band"),
        *(y.grid(LEFT, RIGHT), x.grid(top, bottom), y.numbers(LEFT), x.numbers(bottom)),
        svg.text(RIGHT, bottom + 28, "Cohen's kappa: agreement beyond chance", class_="soft", anchor="end"),
        svg.text(LEFT, top - 4, "weighted F1", class_="soft"),
    ]
    for dot in drawn:
        words = (
            f"{within(dot.judge)}, {language_name(dot.language)}: F1 {figure(dot.f1)}, kappa {figure(dot.kappa)} "
            f"{interval(dot.kappa_low, dot.kappa_high)}"
        )
        series = judges.index(dot.judge)
        parts.append(svg.marker(x(dot.kappa), y(dot.f1), series, words.strip(), hollow=dot.chance))
        if len(drawn) <= CROWDED:
            parts.append(svg.text(x(dot.kappa) + 7, y(dot.f1) + 4, dot.language))
    at_chance = [dot for dot in drawn if dot.chance]
    alt = (
        f"Scatter plot of weighted F1 against Cohen's kappa on {label}, {len(drawn)} dots, one per judge and language. "
        f"For {len(at_chance)} of them agreement beyond chance is not shown"
        + (f", the highest F1 among these being {figure(max(dot.f1 for dot in at_chance))}." if at_chance else ".")
    )
    rows = [
        (
            Cell(name(dot.judge)),
            Cell(dot.language),
            Cell(figure(dot.f1)),
            Cell(figure(dot.kappa), interval(dot.kappa_low, dot.kappa_high)),
        )
        for dot in dots
    ]
    numbers = TableView(key, label, ("judge", "language", "weighted F1", "kappa"), tuple(rows), "judges", heads=2)
    left_out = len(dots) - len(drawn)
    notes = (f"{left_out} of {len(dots)} not drawn: kappa or F1 is undefined.",) if left_out else ()
    return Chart(key, title, alt, svg.drawing(bottom + 34, *parts), numbers, notes)
