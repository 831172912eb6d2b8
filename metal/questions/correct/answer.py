"""The first screen of corrected scores: how wrong the judge's mean is alone, and how much the judge
helps.
"""

from __future__ import annotations

from collections.abc import Iterator

from metal.data.text import estimate, figure, known, percent, plural, share, signed_share, within
from metal.questions.correct.compute import ALL_LABELLED, LEAST, LEAST_OTHERS
from metal.questions.correct.run import CorrectedScores
from metal.runs.columns import Row
from metal.show.parts import case_of, commonest_reason, judges_by_language
from metal.show.view import Remark


def headline(run: CorrectedScores) -> str:
    """Say how often the judge's mean alone is wrong, and how much the judge helps."""
    if classes := _answered(run, "classes"):
        off = [
            row
            for row in classes
            if not row["corrected_low"] <= row["judge_only"] <= row["corrected_high"]
        ]
        return (
            f"The judge's share of a class is shown to be wrong in {len(off)} of"
            f" {plural(len(classes), 'case')}."
        )
    rows = _answered(run)
    if not rows and set(run.tables["corrected"]["undefined"]) == {f"corrected: {ALL_LABELLED}"}:
        return "People rated all sources that the judge rated: their own mean needs no correction."
    if not rows:
        return f"Nothing could be corrected. The most frequent reason: {_why_not(run)}."
    missed = [row for row in rows if row["bias_low"] > 0 or row["bias_high"] < 0]
    saved = [row["labels_saved"] for row in rows if known(row["labels_saved"])]
    wrong = f"The judge's mean alone is shown to be wrong in {len(missed)} of"
    wrong += f" {plural(len(rows), 'case')}"
    if not saved:
        return f"{wrong}."
    return (
        f"{wrong}. With the judge's help, one human label is worth {figure(min(saved))} to "
        f"{figure(max(saved))} labels."
    )


def _why_not(run: CorrectedScores) -> str:
    return commonest_reason([*run.records("corrected"), *run.records("classes")])


def _without_others(run: CorrectedScores) -> str:
    """Say what can be done if people rated all sources."""
    sources = int(run.tables["corrected"]["sources"].max())
    most = sources - LEAST_OTHERS
    labels = run.manifest["settings"].get("labels")
    if most < LEAST:
        return (
            f"Use people's means: with at most {sources} sources per language no labels can be "
            f"left out, because a correction needs {LEAST} labelled sources and {LEAST_OTHERS} "
            "without labels."
        )
    if labels:
        return (
            f"`labels={labels}` leaves no source without labels, because each language has at most"
            f" {sources} sources; pass {LEAST} to {most}."
        )
    return (
        f"Use people's means; with `labels` from {LEAST} to {most} METAL shows what a judge would"
        " add."
    )


def _answered(run: CorrectedScores, table: str = "corrected") -> list[Row]:
    return [row for row in run.records(table) if known(row["corrected"])]


def cards(run: CorrectedScores) -> Iterator[Remark]:
    """Cards: where the judge's mean alone misleads most, and where the judge does not help."""
    rows = _answered(run)
    if classes := _answered(run, "classes"):
        worst = max(classes, key=lambda row: abs(row["judge_only"] - row["corrected"]))
        sentence = (
            f"{within(worst['judge'])} calls {percent(worst['judge_only'])} of the outputs "
            f"{within(worst['level'])} on {case_of(run, worst)}; the corrected share is "
            f"{estimate(worst, 'corrected', percent)}."
        )
        yield Remark("Beware of the judge's share", sentence)
    if not rows and not classes:
        sentence = (
            f"Have people rate at least {LEAST} sources per language, drawn by `metal sample"
            " labels`."
        )
        if _why_not(run) == ALL_LABELLED:
            sentence = _without_others(run)
        yield Remark("What to do next", sentence)
    if rows:
        worst = max(rows, key=lambda row: abs(row["bias"]))
        sentence = (
            f"{within(worst['judge'])} on {case_of(run, worst)}: its mean is "
            f"{share(worst['judge_only'])}, the corrected mean "
            f"{estimate(worst, 'corrected', share)}; its bias is {signed_share(worst['bias'])}."
        )
        yield Remark("Beware of the judge's mean", sentence)
    poor = [row for row in rows if known(row["labels_saved"]) and row["labels_saved"] < 1]
    if poor:
        sentence = (
            f"In {plural(len(poor), 'case')}, for instance {case_of(run, poor[0])}, people's "
            "labels alone give an interval that is as narrow."
        )
        yield Remark("Where the judge does not help", sentence)


def scope(run: CorrectedScores) -> str:
    """What was compared, for the line above the headline."""
    return judges_by_language(run, "classes" if len(run.tables["classes"]) else "corrected")
