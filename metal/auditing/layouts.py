"""The audit's tables in METAL's layouts, with text cells for people to read.

Undefined figures are `-`; the reason is in the table that the figure comes from.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from metal.data.dataset import Dataset

UNDEFINED = "-"


def number(value: Any, digits: int = 2) -> str:
    """Two digits, `-` for undefined; a value that rounds to zero has no sign.

    >>> number(-0.127), number(-0.001), number(float("nan"))
    ('-0.13', '0.00', '-')
    """
    if pd.isna(value):
        return UNDEFINED
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def table_6(people: pd.DataFrame, dataset: Dataset, *, paper_compat: bool = False) -> pd.DataFrame:
    """Languages in rows, criteria in columns, `kappa / pairwise F1` in cells (METAL Table 6)."""
    rows = []
    for language, group in people.groupby("language", observed=True, sort=True):
        row: dict[str, Any] = {"language": language}
        for record in group.to_dict("records"):
            kappa, f1 = number(record["fleiss_kappa"]), number(record["pairwise_f1"])
            row[dataset.criteria[record["criterion"]].short] = f"{kappa} / {f1}"
        rows.append(row)
    columns = ["language", *(dataset.criteria[name].short for name in people["criterion"].unique())]
    return pd.DataFrame(rows, columns=columns).fillna(UNDEFINED)


def table_3(judges: pd.DataFrame, people: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    """Criterion, prompt and model in rows, languages in columns, weighted F1 in cells (METAL Table 3).

    The human row is the pairwise F1, as in the paper; the majority row is the most frequent class.
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
            about = dataset.raters[judge].about
            f1 = judged[judged["judge"] == judge].set_index("language")["weighted_f1"]
            rows.append(_row(short, str(about.get("prompt", "")), str(about.get("model", judge)), f1, languages))
    return pd.DataFrame(rows)


def _row(criterion: str, prompt: str, model: str, values: pd.Series, languages: list[str]) -> dict[str, Any]:
    cells = {language: number(values.get(language)) for language in languages}
    return {"criterion": criterion, "prompt": prompt, "model": model} | cells
