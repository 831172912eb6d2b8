"""An audit as text for a terminal of 80 columns, or for a pipe."""

from __future__ import annotations

from typing import Any

import pandas as pd

from metal.auditing.audit import Audit
from metal.auditing.layouts import UNDEFINED, number
from metal.auditing.signature import short_signature
from metal.auditing.verdict import NOT_BETTER, TOO_FEW, USABLE, VERDICTS, WITH_CARE
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.show.terminal import console as show

SHORT = {USABLE: "usable", WITH_CARE: "care", NOT_BETTER: "no", TOO_FEW: "few"}
STYLE = {USABLE: "green", WITH_CARE: "yellow", NOT_BETTER: "red", TOO_FEW: "dim"}
MOST_LEVELS = 7  # more levels than this are counted, not listed
WITH_REASONS = 60  # more verdicts than this are shown as a matrix only


def show_audit(found: Audit, dataset: Dataset) -> None:
    """Tables by criterion, verdicts, warnings, and the signature under it all."""
    people, judges = found.tables["people"], found.tables["judges"]
    show.say(f"{dataset.card.name}: {found.people} people, {len(found.judges)} judges; {_languages(people)}", bold=True)
    for criterion in people["criterion"].unique():
        _criterion(dataset.criteria[criterion], people, judges)
        show.say(short_signature(found.data, stat="wf1", crit=dataset.criteria[criterion].short), dim=True, wrap=False)
    if judges.empty:
        show.say("No judges in the data: only the people were compared. Add a run folder of `metal judge`.")
    else:
        _verdicts(found.tables["verdicts"], dataset)
    _self_agreement(found.tables["self_agreement"], dataset)
    show.warn(found.warnings, more="warnings.txt in the run folder, and the report")
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def _languages(people: pd.DataFrame) -> str:
    return ", ".join(f"{code} {language_name(code)}" for code in sorted(people["language"].unique()))


def _criterion(criterion: Criterion, people: pd.DataFrame, judges: pd.DataFrame) -> None:
    mine = people[people["criterion"] == criterion.name].set_index("language").sort_index()
    languages = list(mine.index)
    rows = [
        ["items", *(str(mine.loc[language, "items_with_class"]) for language in languages)],
        ["  left out", *(_left_out(mine.loc[language]) for language in languages)],
        ["people: Fleiss' kappa", *(number(mine.loc[language, "fleiss_kappa"]) for language in languages)],
        ["people: F1, pairwise", *(number(mine.loc[language, "pairwise_f1"]) for language in languages)],
        ["  against the others", *(number(mine.loc[language, "leave_one_out_f1"]) for language in languages)],
        ["  against all", *(number(mine.loc[language, "against_all_f1"]) for language in languages)],
    ]
    if not judges.empty:
        cells = judges[judges["criterion"] == criterion.name].set_index(["judge", "language"])
        majority = cells.groupby(level="language")["majority_f1"].first()
        rows.append(["majority class: F1", *(number(majority.get(language)) for language in languages)])
        for judge in cells.index.get_level_values("judge").unique():
            rows.append([judge, *(_judge(cells, judge, language) for language in languages)])
    title = f"{criterion.label or criterion.name} ({_scale(criterion)})"
    note = "" if judges.empty else "judges: weighted F1, its 95% interval, kappa k, coverage where below 100%"
    show.table(title, ["", *languages], rows, note=note)


def _scale(criterion: Criterion) -> str:
    """The levels and which end is better, where that has a meaning."""
    levels = criterion.scale.levels
    text = criterion.scale.describe() if len(levels) <= MOST_LEVELS else f"{len(levels)} labels"
    if criterion.scale.measure == "nominal" and criterion.direction == "higher":
        return text
    return f"{text}; {criterion.direction} is better"


def _left_out(row: pd.Series) -> str:
    """Items that people rated and that do not count: too few ratings, or no aggregate class."""
    return str(sum(int(part.split()[-1]) for part in str(row["dropped"]).split(", ") if part)) or "0"


def _judge(cells: pd.DataFrame, judge: str, language: str) -> str:
    if (judge, language) not in cells.index:
        return ""
    row: Any = cells.loc[(judge, language)]
    lines = [number(row["weighted_f1"])]
    if row["weighted_f1_low"] == row["weighted_f1_low"]:
        lines.append(f"{_bare(row['weighted_f1_low'])}-{_bare(row['weighted_f1_high'])}")
    lines.append(f"k {number(row['kappa'])}")
    if row["coverage"] < 1:
        lines.append(f"{row['coverage']:.0%}")
    return "\n".join(lines)


def _bare(value: float) -> str:
    """`.25`, to save room in intervals of shares."""
    text = number(value)
    return text[1:] if text.startswith("0.") else text


def _verdicts(verdicts: pd.DataFrame, dataset: Dataset) -> None:
    languages = sorted(verdicts["language"].unique())
    by_cell = verdicts.set_index(["judge", "criterion", "language"])
    rows = []
    for judge in verdicts["judge"].unique():
        for criterion in verdicts["criterion"].unique():
            cells = [
                SHORT[by_cell.loc[(judge, criterion, language), "verdict"]]
                if (judge, criterion, language) in by_cell.index
                else UNDEFINED
                for language in languages
            ]
            rows.append([judge, dataset.criteria[criterion].short, *cells])
    legend = "; ".join(f"{SHORT[verdict]}: {verdict}" for verdict in VERDICTS if SHORT[verdict] != verdict)
    show.table("Verdicts", ["judge", "", *languages], rows, note=legend, keep=2)
    if len(verdicts) > WITH_REASONS:
        show.say(f"The reasons for all {len(verdicts)} verdicts stand in tables/verdicts.csv.")
        return
    for row in verdicts.to_dict("records"):
        short = dataset.criteria[row["criterion"]].short
        show.say(f"{row['language']} {short} {row['judge']}: {row['verdict']}. {_sentence(row['reason'])}")


def _self_agreement(table: pd.DataFrame, dataset: Dataset) -> None:
    """How often judges that were asked again said the same, by judge and criterion."""
    if table.empty:
        return
    languages = sorted(table["language"].unique())
    by_cell = table.set_index(["judge", "criterion", "language"])["self_agreement"]
    rows = [
        [
            judge,
            dataset.criteria[criterion].short,
            *(number(by_cell.get((judge, criterion, code))) for code in languages),
        ]
        for judge in table["judge"].unique()
        for criterion in table["criterion"].unique()
    ]
    show.table("Self-agreement of judges that were asked again", ["judge", "", *languages], rows, keep=2)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
