"""Corrected scores in words: what they leave open, and what the figures mean."""

from __future__ import annotations

from metal.data.text import known, plural
from metal.questions.correct.compute import LEAST, NOT_RANDOM
from metal.questions.correct.run import CorrectedScores

SOURCES = {
    "Corrected": "Angelopoulos et al. 2023 (PPI++)",
    "Drawn": "Horvitz and Thompson 1952; Zrnic and Candès 2024",
    "Near an end": "Wilson 1927",
    "Ranks": "Holm 1979",
    "Shares of classes": "Rogan and Gladen 1978; Lang and Reiczigel 2014",
}
CHOSEN = {
    "random": "The user said that they are a random subset.",
    "drawn": "METAL drew them; their probabilities are in the dataset.",
    "test": "They are a separate test set; shares of classes are corrected by it.",
    "not said": (
        "It is not said how they were chosen; the figures hold if they are a random subset."
    ),
}


def facts(run: CorrectedScores) -> dict[str, str]:
    """Facts from the tables that the headline does not state."""
    rows = [*run.records("corrected"), *run.records("classes")]
    without = [row for row in rows if not known(row["corrected"])]
    chosen = CHOSEN.get(str(run.manifest["settings"].get("labelled", "not said")), "")
    lines = {
        "Labelled sources": _drawn(run) or chosen,
        "Do not conclude": (
            "That other people would give the same ratings; tables/corrected.csv has the wider "
            "interval that also holds for other people like these."
        ),
    }
    if without:
        reason = str(without[0]["undefined"]).removeprefix("corrected: ")
        cases = f"{len(without)} of {plural(len(rows), 'case')}; the first because {reason}."
        return {"Not corrected": cases, **lines}
    return lines


def _drawn(run: CorrectedScores) -> str:
    """Say for how many sources people's ratings were used; empty if no number was asked for."""
    labels, sources = (
        run.manifest["settings"].get("labels"),
        run.tables["corrected"].groupby("language")["sources"].max(),
    )
    if not labels or sources.empty:  # of a test set none are left out
        return ""
    if (sources <= labels).all():
        return f"All were used: no language has more than {labels}."
    rest = "; all where there are no more" if (sources <= labels).any() else ""
    return f"{labels} of each language, drawn for this run{rest}."


def definitions(run: CorrectedScores) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Corrected": (
            "People's mean on the labelled sources, plus a weight times the judge's mean on the "
            "other sources minus its mean on the labelled ones. The weight is from 0 to 1"
            " and fitted on other sources (ten folds). Means per source, as shares of the scale;"
            f" Student's t; at least {LEAST} labelled sources."
        ),
        "Labelled sources": (
            "They have to be a random subset of all sources. If the judge's answers to them have "
            "another distribution than its answers to the rest"
            f" (chi-square, p below "
            f"{NOT_RANDOM}),"
            " nothing is corrected."
        ),
        "Drawn": (
            "A source that METAL drew with unequal probabilities is weighted by 1 / probability: "
            "in people's mean, in the correction and in its variance."
        ),
        "Near an end": (
            "Below 0.1 and above 0.9, Wilson's interval, with the number of labels that would "
            "give the same variance, but at most twice the number that exist."
        ),
        "A label is worth": (
            "The variance of people's mean alone divided by that of the corrected mean: with the "
            "judge's help, one label is worth this many labels without it. Below 1 the judge does "
            "not help."
        ),
        "Ranks": (
            "Ranked by the corrected mean; below it are the ranks that are not ruled out: a"
            " generator comes after those shown to be better on the same sources, corrected by"
            " Holm."
        ),
        "Shares of classes": (
            "(judge's share + specificity − 1) / (sensitivity + specificity − 1), with the"
            " judge's sensitivity and specificity on the test set. Not given if the interval of"
            " the divisor includes 0. Intervals count independent items, because outputs of a"
            " source are alike."
        ),
        "People like these": (
            "An interval that also holds for other people of this kind: it adds the jackknife"
            " over persons."
        ),
    }
