"""Judge or crowd: the rows of the tables, with each cell's answer in a sentence and the outputs
behind it.

Source: Bidimensional Leaderboards, section 2.5 and Figure 2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.boards.cells import ALL_LANGUAGES, BoardCell, BoardRater, ScaleEnds
from metal.data.dataset import Dataset
from metal.data.text import p_value
from metal.stats.correlation import distinct
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import by_family, holm

CEILING = "one against the others"
LEVEL = 0.05
NOBODY = {"rater": None, "pearson": None}  # on a side
UNTESTED = {"better": None, "p_adjusted": None, "at_most": False}
_SIDE = {"human": "crowd", "llm": "judge"}  # other kinds are called what they are


def reference_name(reference: str) -> str:
    """What a sentence calls the reference people, such as `the people (expert)`."""
    value = reference.partition("=")[2] or reference
    return f"the people ({value})" if value else "the people"


def compared(cell: BoardCell, better: Numbers, resolution: float) -> list[dict[str, Any]]:
    """Compare each rater that is people with each rater that is not. better: (raters, raters)
    one-sided p-values. resolution: the smallest p that the test can give.
    """
    rows = []
    for i, person in enumerate(cell.raters):
        for j, other in enumerate(cell.raters):
            if person.kind != "human" or other.kind == "human":
                continue
            p_above, p_below = better[i, j], better[j, i]
            ahead = p = None
            if not np.isnan(p_above):
                ahead = person.name if p_above <= p_below else other.name
                p = min(1.0, 2 * float(min(p_above, p_below)))
            rows.append(
                {
                    **cell.place,
                    "crowd": person.name,
                    "judge": other.name,
                    "better": ahead,
                    "p": p,
                    "at_most": bool(min(p_above, p_below) <= resolution),
                }
            )
    return rows


def largest_family(cells: Sequence[BoardCell]) -> int:
    """The largest number of comparisons that are adjusted together."""
    sizes: dict[tuple[str, bool], int] = {}
    for cell in cells:
        people = sum(rater.kind == "human" for rater in cell.raters)
        family = (cell.criterion, cell.language == ALL_LANGUAGES)
        sizes[family] = sizes.get(family, 0) + people * (len(cell.raters) - people)
    return max(sizes.values(), default=0)


def adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Add p_adjusted to the rows. For each criterion, the comparisons within languages are one
    family, and those of all languages together are another.
    """
    families = [(row["criterion"], row["language"] == ALL_LANGUAGES) for row in rows]
    for row, p in zip(rows, by_family([row["p"] for row in rows], families, holm), strict=True):
        row["p_adjusted"] = None if np.isnan(p) else p


def answer_row(
    rows: Sequence[dict[str, Any]], pairs: Sequence[dict[str, Any]], reference: str
) -> dict[str, Any]:
    """The answer of a cell. rows: its raters and its ceiling; pairs: its comparisons, adjusted."""
    people, judges, top = _best(rows, True), _best(rows, False), rows[-1]
    by_names = {(row["crowd"], row["judge"]): row for row in pairs}
    pair = by_names.get((people["rater"], judges["rater"]), UNTESTED)
    answer, sentence = _answer(people, judges, pair, reference_name(reference))
    if top["pearson"] is not None and answer != "unknown":
        sentence += f" One of these people against the others reaches {_two(top['pearson'])}."
    return {
        "language": top["language"],
        "criterion": top["criterion"],
        "answer": answer,
        "sentence": sentence,
        "p_adjusted": pair["p_adjusted"],
        "at_most": pair["at_most"],
        "crowd": people["rater"],
        "judge": judges["rater"],
        "crowd_pearson": people["pearson"],
        "judge_pearson": judges["pearson"],
        "ceiling": top["pearson"],
    }


def _best(rows: Sequence[dict[str, Any]], people: bool) -> dict[str, Any]:
    """The rater that correlates best among people, or among the other raters; NOBODY if none has a
    correlation.
    """
    candidates = [
        row for row in rows if row["kind"] != "ceiling" and (row["kind"] == "human") == people
    ]
    return max(
        (row for row in candidates if row["pearson"] is not None),
        key=lambda row: row["pearson"],
        default=NOBODY,
    )


def _answer(
    people: dict[str, Any], judges: dict[str, Any], pair: dict[str, Any], who: str
) -> tuple[str, str]:
    """The answer in a word and in a sentence."""
    sides = [row for row in (judges, people) if row is not NOBODY]
    if not sides:
        return "unknown", "Unknown: no correlation is defined here."
    if not any(map(_agrees, sides)):
        figures = " and ".join(map(_shown, sides))
        return "neither", f"Neither can replace {who}: no agreement beyond chance, {figures}."
    if len(sides) == 1:
        missing = "judge" if judges is NOBODY else "crowd"
        return (
            f"{_side(sides[0])} only",
            f"No {missing} to compare with: {_shown(sides[0])} agrees best with {who}.",
        )
    weak = "".join(
        f" {row['rater']} cannot replace them: its interval is not above 0."
        for row in sides
        if not _agrees(row)
    )
    p = pair["p_adjusted"]
    tested = f"p {p_value(p, pair['at_most'])} (Holm)"
    winner, loser = sides
    if people["rater"] == pair["better"]:
        loser, winner = sides
    if p is not None and p < LEVEL and _agrees(winner):
        outcome = f"{_shown(winner)} agrees better with {who} than {_shown(loser)}, {tested}."
        return _side(winner), f"{_side(winner).capitalize()}: {outcome}{weak}"
    doubt = "no test was possible" if p is None else f"the difference may be chance ({tested})"
    return "undecided", f"Undecided between {_shown(judges)} and {_shown(people)}: {doubt}.{weak}"


def _side(row: dict[str, Any]) -> str:
    return str(_SIDE.get(row["kind"], row["kind"]))


def _agrees(row: dict[str, Any]) -> bool:
    """Whether agreement beyond chance is shown: an interval above 0."""
    return row["pearson_low"] is not None and row["pearson_low"] > 0


def _shown(row: dict[str, Any]) -> str:
    ends = (
        ""
        if row["pearson_low"] is None
        else f" [{_two(row['pearson_low'])}, {_two(row['pearson_high'])}]"
    )
    return f"{row['rater']} {_two(row['pearson'])}{ends}"


def _two(value: float) -> str:
    """Two digits; a value that rounds to zero has no sign."""
    return f"{value:.2f}".replace("-0.00", "0.00")


# upper left and lower right where people are drawn upwards
UNDERRATED, OVERRATED = "underrated", "overrated"
GRID = 24  # steps of a picture's axis, where more scores than that occur
_ROUNDING = 1e-9  # a mean of ratings this near to an area's edge lies on it


def area_of(people: Numbers, scores: Numbers, scale: ScaleEnds, share: float) -> dict[str, Codes]:
    """Which outputs lie in the areas of Figure 2: area -> (items,) mask. Empty if the scale has no
    ends.

    The bottom of a scale holds the scores of at most low + share * (high - low), the top those of
    at least high - share * (high - low). So the lowest level is always bottom and the highest
    always top. With a share of 1/3, level 0 of 0-2 is bottom, 2 is top, and 1 is neither.
    `underrated`: people gave a top score and the rater a bottom score; `overrated`: the reverse. An
    output that lacks a score is in neither area.
    """
    if scale.low is None or scale.high is None:
        return {}
    width = share * (scale.high - scale.low)
    bottom, top = scale.low + width + _ROUNDING, scale.high - width - _ROUNDING
    return {
        UNDERRATED: np.asarray((people >= top) & (scores <= bottom)),
        OVERRATED: np.asarray((people <= bottom) & (scores >= top)),
    }


@dataclass(frozen=True)
class Example:
    """An output in an area. item: the output's position in the cell. scores: (items,) the rater's
    scores.
    """

    cell: BoardCell
    rater: BoardRater
    scores: Numbers
    area: str
    item: int


def sampled(
    cell: BoardCell, rater: BoardRater, scores: Numbers, share: float, most: int, seed: int
) -> list[Example]:
    """A seeded sample of at most `most` outputs from each area. share: as in `area_of`."""
    sample = []
    for area, inside in area_of(cell.human, scores, cell.scale, share).items():
        places = np.flatnonzero(inside)
        rng = np.random.default_rng([seed, len(cell.human), len(places)])
        sample += [
            Example(cell, rater, scores, area, int(item))
            for item in np.sort(rng.permutation(places)[:most])
        ]
    return sample


def examples(
    dataset: Dataset, chosen: Sequence[Example], people: Sequence[str]
) -> list[dict[str, Any]]:
    """Turn samples into rows with texts, both scores and comments. It takes all samples at once, so
    that texts are looked up only once.
    """
    outputs = list(dataset.outputs.values())
    comments_of = comments(
        dataset, {outputs[example.cell.outputs[example.item]].output for example in chosen}
    )
    rows = []
    for example in chosen:
        cell, rater, item = example.cell, example.rater, example.item
        output = outputs[cell.outputs[item]]
        remarks = [
            (who, f"{criterion}: {comment}" if cell.criteria > 1 else comment)
            for who, criterion, comment in comments_of.get(output.output, ())
            if cell.criteria > 1 or criterion == cell.criterion
        ]
        rows.append(
            {
                **cell.place,
                "rater": rater.name,
                "area": example.area,
                "output": output.output,
                "people": float(cell.human[item]),
                "score": float(example.scores[item]),
                "generator": output.generator,
                "source": output.source,
                "source_text": dataset.sources[output.source].text,
                "output_text": output.text,
                "people_comments": _lines(remarks, people),
                "rater_comments": _lines(remarks, rater.members),
            }
        )
    return rows


def _lines(remarks: Sequence[tuple[str, str]], who: Sequence[str]) -> str:
    return "\n".join(f"{name}: {comment}" for name, comment in remarks if name in who)


def comments(dataset: Dataset, outputs: Collection[str]) -> dict[str, list[tuple[str, str, str]]]:
    """(rater, criterion, comment) by output, for these outputs."""
    table = dataset.ratings
    named = table["output"].cat.categories.isin(list(outputs))
    commented = table.loc[
        named[table["output"].array.codes], ["output", "rater", "criterion", "comment"]
    ]
    commented = commented[
        (commented["comment"].notna() & (commented["comment"].astype(object) != "")).to_numpy()
    ]
    by_output: dict[str, list[tuple[str, str, str]]] = {}
    columns = (
        commented[name].astype(str).tolist() for name in ("output", "rater", "criterion", "comment")
    )
    for output, rater, criterion, comment in zip(*columns, strict=True):
        by_output.setdefault(output, []).append((rater, criterion, comment))
    return by_output


def dots(cell: BoardCell, rater: BoardRater, scores: Numbers) -> list[dict[str, Any]]:
    """Count the outputs by pair of scores (people's and the rater's), on a grid if there are many
    pairs.
    """
    scored = ~np.isnan(scores)
    if not scored.any():
        return []
    ends = (cell.scale.low, cell.scale.high)
    (across, x), (up, y) = (distinct(gridded(side[scored], ends)) for side in (scores, cell.human))
    counts = np.bincount(x * len(up) + y, minlength=len(across) * len(up))
    here = {**cell.place, "rater": rater.name}
    return [
        here
        | {
            "score": float(across[at // len(up)]),
            "people": float(up[at % len(up)]),
            "outputs": int(counts[at]),
        }
        for at in np.flatnonzero(counts)
    ]


def gridded(values: Numbers, ends: tuple[float | None, float | None] = (None, None)) -> Numbers:
    """The values, moved to the nearest of GRID + 1 grid points if there are more distinct values
    than that.

    ends: the ends of the grid. If there are none, or if values lie outside, the grid runs from the
    smallest to the largest value.
    """
    if len(np.unique(values)) <= GRID + 1:
        return values
    low, high = float(values.min()), float(values.max())
    if ends[0] is not None and ends[1] is not None and ends[0] <= low and high <= ends[1]:
        low, high = ends[0], ends[1]
    step = (high - low) / GRID
    return np.asarray(low + np.round((values - low) / step) * step)
