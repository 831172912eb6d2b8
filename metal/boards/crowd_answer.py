"""Judge or crowd, in one sentence a cell: which agrees better with the reference people, and whether by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metal.boards.cell import BoardCell
from metal.boards.cells import ALL_LANGUAGES
from metal.stats.patterns import Numbers
from metal.stats.significance import holm

CEILING = "one against the others"
LEVEL = 0.05
_SIDE = {"human": "crowd", "llm": "judge"}  # other kinds are called what they are


def reference_name(reference: str) -> str:
    """`the people (expert)` for a sentence."""
    value = reference.partition("=")[2] or reference
    return f"the people ({value})" if value else "the people"


def compared(cell: BoardCell, better: Numbers) -> list[dict[str, Any]]:
    """Each rater that is people against each that is not. better: (raters, raters) one-sided p."""
    rows = []
    for i, person in enumerate(cell.raters):
        for j, other in enumerate(cell.raters):
            if person.kind != "human" or other.kind == "human":
                continue
            p_above, p_below = better[i, j], better[j, i]
            defined = not np.isnan(p_above)
            ahead = (person if p_above <= p_below else other).name if defined else None
            rows.append(
                {
                    "language": cell.language,
                    "criterion": cell.criterion,
                    "crowd": person.name,
                    "judge": other.name,
                    "better": ahead,
                    "p": min(1.0, 2 * float(min(p_above, p_below))) if defined else None,
                }
            )
    return rows


def largest_family(cells: Sequence[BoardCell]) -> int:
    """How many comparisons are adjusted together, at most."""
    sizes: dict[tuple[str, bool], int] = {}
    for cell in cells:
        people = sum(rater.kind == "human" for rater in cell.raters)
        family = (cell.criterion, cell.language == ALL_LANGUAGES)
        sizes[family] = sizes.get(family, 0) + people * (len(cell.raters) - people)
    return max(sizes.values(), default=0)


def adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Adds p_holm: all comparisons of a criterion are a family; those of all languages together one of their own."""
    families: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault((row["criterion"], row["language"] == ALL_LANGUAGES), []).append(row)
    for family in families.values():
        adjusted = holm([np.nan if row["p"] is None else row["p"] for row in family])
        for row, p in zip(family, adjusted, strict=True):
            row["p_holm"] = None if np.isnan(p) else float(p)


def answer_row(rows: Sequence[dict[str, Any]], pairs: Sequence[dict[str, Any]], reference: str) -> dict[str, Any]:
    """The answer of a cell. rows: its raters and its ceiling; pairs: its comparisons, adjusted."""
    people, judges, top = _best(rows, True), _best(rows, False), rows[-1]
    named = {"crowd": people, "judge": judges}
    pair = next(
        (
            comparison
            for comparison in pairs
            if people and judges and (comparison["crowd"], comparison["judge"]) == (people["rater"], judges["rater"])
        ),
        None,
    )
    answer, sentence = _answer(people, judges, pair, reference_name(reference))
    if top["pearson"] is not None and answer != "unknown":
        sentence += f" One of these people against the others reaches {_two(top['pearson'])}."
    return {
        "language": top["language"],
        "criterion": top["criterion"],
        "answer": answer,
        "sentence": sentence,
        "p_holm": pair["p_holm"] if pair else None,
        **{side: row["rater"] if row else None for side, row in named.items()},
        **{f"{side}_pearson": row["pearson"] if row else None for side, row in named.items()},
        "ceiling": top["pearson"],
    }


def _best(rows: Sequence[dict[str, Any]], people: bool) -> dict[str, Any] | None:
    """The rater of a side that correlates best, if one has a correlation."""
    candidates = [row for row in rows if row["kind"] != "ceiling" and (row["kind"] == "human") == people]
    return max((row for row in candidates if row["pearson"] is not None), key=lambda row: row["pearson"], default=None)


def _answer(
    people: dict[str, Any] | None, judges: dict[str, Any] | None, pair: dict[str, Any] | None, who: str
) -> tuple[str, str]:
    sides = [row for row in (judges, people) if row]
    if not sides:
        return "unknown", "Unknown: no correlation is defined here."
    if not any(map(_agrees, sides)):
        figures = " and ".join(map(_shown, sides))
        return "neither", f"Neither can replace {who}: no agreement beyond chance, {figures}."
    if len(sides) == 1:
        missing = "crowd" if judges else "judge"
        return f"{_side(sides[0])} only", f"No {missing} to compare with: {_shown(sides[0])} agrees best with {who}."
    assert people is not None
    assert judges is not None
    weak = "".join(
        f" {row['rater']} cannot replace them: its interval holds 0 or less." for row in sides if not _agrees(row)
    )
    p = pair["p_holm"] if pair else None
    winner = next((row for row in sides if pair and row["rater"] == pair["better"]), judges)
    loser = people if winner is judges else judges
    if p is not None and p < LEVEL and _agrees(winner):
        words = f"{_shown(winner)} agrees better with {who} than {_shown(loser)}, {_p(p)}."
        return _side(winner), f"{_side(winner).capitalize()}: {words}{weak}"
    doubt = "no test was possible" if p is None else f"the difference may be chance ({_p(p)})"
    return "undecided", f"Undecided between {_shown(judges)} and {_shown(people)}: {doubt}.{weak}"


def _side(row: dict[str, Any]) -> str:
    return str(_SIDE.get(row["kind"], row["kind"]))


def _agrees(row: dict[str, Any]) -> bool:
    """Whether agreement beyond chance is shown: an interval that lies above 0."""
    return row["pearson_low"] is not None and row["pearson_low"] > 0


def _shown(row: dict[str, Any]) -> str:
    ends = "" if row["pearson_low"] is None else f" [{_two(row['pearson_low'])}, {_two(row['pearson_high'])}]"
    return f"{row['rater']} {_two(row['pearson'])}{ends}"


def _two(value: float) -> str:
    """Two digits; what rounds to zero has no sign."""
    return f"{value:.2f}".replace("-0.00", "0.00")


def _p(p: float) -> str:
    return "p < 0.001 (Holm)" if p < 0.001 else f"p = {p:.3f} (Holm)"
