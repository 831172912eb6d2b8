"""The first screen of a plan of labels: how many are needed, and whether the judge is worth its
cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.data.languages import language_name
from metal.data.text import count, dollars, figure, known, plural, share, within
from metal.questions.design.labels.run import LabelPlan
from metal.runs.columns import Row
from metal.show.parts import commonest_reason, criterion_in_words, in_a_folder, judges_by_language
from metal.show.view import Remark


def planned(run: LabelPlan) -> list[Row]:
    """The rows that have a number of labels, for the first criterion and the judge that needs the
    fewest labels on it.
    """
    rows = [row for row in run.records("labels") if known(row["labels"])]
    return [row for row in rows if (row["criterion"], row["judge"]) == _first(rows)]


def _first(rows: Sequence[Row]) -> tuple[str, str]:
    """The criterion and the judge that the headline is about."""
    keys = dict.fromkeys((row["criterion"], row["judge"]) for row in rows)
    of = {
        key: [row["labels"] for row in rows if (row["criterion"], row["judge"]) == key]
        for key in keys
    }
    return min(
        (key for key in keys if key[0] == rows[0]["criterion"]),
        key=lambda key: (-len(of[key]), sum(of[key])),
    )


def headline(run: LabelPlan) -> str:
    """Say how many labels are needed, and with which judge."""
    rows = planned(run)
    if not rows:
        return f"Nothing could be planned: {commonest_reason(run.records('labels'))}."
    criterion, judge = rows[0]["criterion"], within(rows[0]["judge"])
    every = len({row["language"] for row in run.records("labels")})
    places = (
        plural(every, "language") if len(rows) == every else f"{len(rows)} of {every} languages"
    )
    on_case = f"on {criterion_in_words(run, criterion)} in {places}"
    if len(rows) == 1:
        on_case = f"on {criterion_in_words(run, criterion)} in {language_name(rows[0]['language'])}"
    labels, alone = (sum(int(row[name]) for row in rows) for name in ("labels", "labels_alone"))
    if run.manifest["settings"].get("budget"):
        widest = share(max(row["half_width"] for row in rows))
        aim = (
            f"{dollars(run.manifest['settings']['budget'])} give means {on_case} within {widest}: "
        )
    else:
        aim = (
            f"Means {on_case} within {run.manifest['settings']['half_width']:g} of the scale take "
        )
    if not any(row["pays"] for row in rows):
        return f"{aim}{count(labels)} labels at random; {judge} does not pay off."
    return f"{aim}{count(labels)} labels with {judge}, {count(alone)} without it."


def cards(run: LabelPlan) -> Iterator[Remark]:
    """Cards: where the judge is not worth its cost, the most that it could save, and what to do
    next.
    """
    rows = planned(run)
    poor = [row for row in rows if not row["pays"]]
    if poor:
        cases = f"{plural(len(poor), 'case')}, for instance in {language_name(poor[0]['language'])}"
        yield Remark("Where the judge does not pay off", f"In {cases}: label at random.")
    if rows:
        best = max(rows, key=lambda row: row["saved_at_most"])
        sentence = (
            f"However many outputs {within(best['judge'])} rates, with its help a label is worth"
            f" at most {figure(best['saved_at_most'])} labels, in"
            f" {language_name(best['language'])}: 1 / (1 − rho²)."
        )
        yield Remark("The most that it can save", sentence)
        first, data = in_a_folder(run)
        most = max(int(row["labels"]) for row in rows)
        yield Remark(
            "What to do next",
            "Draw the sources:",
            f"{first}metal sample {data} --labels {most}",
        )


def scope(run: LabelPlan) -> str:
    """What was planned, for the line above the headline."""
    return judges_by_language(run, "labels")
