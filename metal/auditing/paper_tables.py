"""The METAL paper's tables and figures: Tables 3, 4 and 6 in readable form, and Figures 2 and 3 as
counts.

Undefined figures are `-` in Table 3 and a dash in Table 6, because a spreadsheet reads a cell that
begins with `-` as a formula; the reason is in the table that the figure comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell
from metal.data.dataset import Dataset
from metal.data.text import MINUS, figure
from metal.data.text import UNDEFINED as DASH
from metal.stats.aggregate import CASES, TIE

UNDEFINED = "-"
PEOPLE = "people"
JUDGE = "judge"
COUNTS = ["count", "compared", "compared_people", "items"]
DISTRIBUTION_COLUMNS = (
    "language",
    "criterion",
    "case",
    "side",
    "rater",
    "level",
    *COUNTS,
    "signature",
)


def number(value: Any, digits: int = 2) -> str:
    """A number with two digits; `-` if undefined; a value that rounds to zero has no sign.

    >>> number(-0.127), number(-0.001), number(float("nan"))
    ('-0.13', '0.00', '-')
    """
    return figure(value, f".{digits}f").translate({ord(MINUS): "-", ord(DASH): UNDEFINED})


def table_6(people: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """METAL's Table 6: languages in rows, criteria in columns, `kappa / pairwise F1` in cells."""
    rows = []
    for language, group in people.groupby("language", observed=True, sort=True):
        row: dict[str, Any] = {"language": language}
        for record in group.to_dict("records"):
            pair = f"{figure(record['table_6_kappa'])} / {figure(record['pairwise_f1'])}"
            row[dataset.criteria[record["criterion"]].short] = pair
        rows.append(row)
    criteria = [dataset.criteria[name].short for name in people["criterion"].unique()]
    return pd.DataFrame(rows, columns=["language", *criteria]).fillna(DASH)


def table_3(judges: pd.DataFrame, people: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """METAL's Table 3: criterion, prompt and model in rows, languages in columns, weighted F1 in
    cells.

    The human row has the pairwise F1, as in the paper; the majority row has the F1 of the most
    frequent class.
    """
    languages = sorted(people["language"].unique())
    rows: list[dict[str, Any]] = []
    for criterion in people["criterion"].unique():
        short = dataset.criteria[criterion].short
        humans = people[people["criterion"] == criterion].set_index("language")["pairwise_f1"]
        rows.append(_row(short, "", "human", humans, languages))
        judged = judges[judges["criterion"] == criterion]
        if len(judged):
            majority = judged.groupby("language", sort=True)["majority_f1"].first()
            rows.append(_row(short, "", "majority class", majority, languages))
        for judge in judged["judge"].unique():
            facts = dataset.raters[judge].about
            f1 = judged[judged["judge"] == judge].set_index("language")["weighted_f1"]
            rows.append(
                _row(
                    short,
                    str(facts.get("prompt", "")),
                    str(facts.get("model", judge)),
                    f1,
                    languages,
                )
            )
    return pd.DataFrame(rows, columns=None if rows else ["criterion", "prompt", "model"])


def _row(
    criterion: str, prompt: str, model: str, values: pd.Series, languages: list[str]
) -> dict[str, Any]:
    cells = {language: number(values.get(language)) for language in languages}
    return {"criterion": criterion, "prompt": prompt, "model": model} | cells


def distribution_rows(cell: AuditCell) -> Iterator[dict[str, Any]]:
    """Counts of classes of the people's aggregate and of each judge, by agreement case and over
    "all items".

    side: PEOPLE or JUDGE; rater: the judge, or PEOPLE. count: how often the level was given among
    the case's items. Items that a judge did not answer are counted under the level "(no answer)",
    items without an aggregate class under "(no class)", so that every column adds up. compared,
    compared_people: how often judge and people gave the level on the items that have both, which
    makes the two comparable.
    """
    levels = cell.levels
    settled = np.where(cell.truth == TIE, levels, cell.truth)
    sides = [(PEOPLE, PEOPLE, settled, settled)]
    for judge in cell.judges:
        codes, beside = cell.by_judge(judge), cell.unaided(judge).truth
        sides.append((JUDGE, judge, np.where(codes < 0, levels + 1, codes), beside))
    names = [level.shown for level in cell.criterion.scale.levels] + ["(no class)", "(no answer)"]
    groups = {"all items": cell.complete} | {
        case: cell.case == code for code, case in enumerate(CASES)
    }
    for case, items in groups.items():
        for side, rater, codes, beside in sides:
            both = items & (codes < levels) & (beside >= 0) & (beside < levels)
            counted = (codes[items], codes[both], beside[both])
            columns = np.stack([np.bincount(column, minlength=len(names)) for column in counted])
            for name, counts in zip(names, columns.T.tolist(), strict=True):
                if counts[0] or not name.startswith("("):
                    yield {
                        "language": cell.language,
                        "criterion": cell.criterion.name,
                        "case": case,
                        "side": side,
                        "rater": rater,
                        "level": name,
                    } | dict(zip(COUNTS, (*counts, int(items.sum())), strict=True))


def overall(by_language: pd.DataFrame) -> pd.DataFrame:
    """The counts summed over languages, as in METAL's Figures 2 (all items) and 3 (by case)."""
    keys = ["criterion", "case", "side", "rater", "level"]
    return by_language.groupby(keys, sort=False, as_index=False)[COUNTS].sum()
