"""F1 against kappa: a judge high up on the left says what most answers are, not which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metal.data.languages import language_name
from metal.data.text import figure, interval, known, name, within
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

CROWDED = 40  # more dots than this go without the language beside them


@dataclass(frozen=True)
class Dot:
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


def f1_against_kappa(key: str, label: str, found: Sequence[Dot], judges: Sequence[str], part: str = "") -> Chart:
    """A dot a judge and language; hollow where kappa's interval holds 0 or is undefined."""
    drawn = [dot for dot in found if known(dot.f1) and known(dot.kappa)]
    left, right, bottom_room = 34, svg.WIDTH - 14, 34
    entries = svg.judge_legend(judges)
    entries.append((svg.hollow_circle(), "hollow: no agreement beyond chance shown (interval of kappa)"))
    head, top = svg.legend(entries, 0)
    top += 12
    height = 250
    lowest = min([-0.2, *(dot.kappa for dot in drawn)])

    def x(kappa: float) -> float:
        return left + (right - left) * (kappa - lowest) / (1 - lowest)

    def y(f1: float) -> float:
        return top + height * (1 - f1)

    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts = [
        head,
        svg.element("rect", x=left, y=float(top), width=x(0) - left, height=float(height), class_="band"),
        *(svg.line(left, y(tick), right, y(tick), "grid") for tick in ticks),
        *(svg.line(x(tick), top, x(tick), top + height, "grid") for tick in ticks),
        *(svg.text(left - 4, y(tick) + 4, f"{tick:g}", class_="soft", anchor="end") for tick in ticks),
        *(svg.text(x(tick), top + height + 13, f"{tick:g}", class_="soft", anchor="middle") for tick in ticks),
        svg.text(right, top + height + 28, "Cohen's kappa: agreement beyond chance", class_="soft", anchor="end"),
        svg.text(left, top - 4, "weighted F1", class_="soft"),
    ]
    for dot in drawn:
        words = (
            f"{within(dot.judge)}, {language_name(dot.language)}: F1 {figure(dot.f1)}, kappa {figure(dot.kappa)} "
            f"{interval(dot.kappa_low, dot.kappa_high)}"
        )
        parts.append(
            svg.marker(x(dot.kappa), y(dot.f1), judges.index(dot.judge), svg.title(words.strip()), hollow=dot.chance)
        )
        if len(drawn) <= CROWDED:
            parts.append(svg.text(x(dot.kappa) + 7, y(dot.f1) + 4, dot.language))
    at_chance = [dot for dot in drawn if dot.chance]
    alt = (
        f"Scatter plot of weighted F1 against Cohen's kappa on {label}, {len(drawn)} dots, one a judge and language. "
        f"For {len(at_chance)} of them agreement beyond chance is not shown"
        + (f", the highest F1 among these being {figure(max(dot.f1 for dot in at_chance))}." if at_chance else ".")
    )
    file = f"f1_kappa_{key}" + (f"_{part.split()[0]}" if part else "")
    numbers = TableView(
        file,
        label,
        ("judge", "language", "weighted F1", "kappa"),
        tuple(
            (
                Cell(name(dot.judge)),
                Cell(dot.language),
                Cell(figure(dot.f1)),
                Cell(figure(dot.kappa), interval(dot.kappa_low, dot.kappa_high)),
            )
            for dot in found
        ),
        "judges",
        heads=2,
    )
    title = f"{label} ({part})" if part else label
    left_out = len(found) - len(drawn)
    notes = (f"{left_out} of {len(found)} not drawn: kappa or F1 is undefined.",) if left_out else ()
    return Chart(file, title, alt, svg.drawing(top + height + bottom_room, *parts), numbers, notes)
