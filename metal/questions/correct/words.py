"""Corrected scores in words: what is left open, and what the figures mean."""

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
    "random": "Somebody said that they are a random subset.",
    "drawn": "METAL drew them; their probabilities are in the dataset.",
    "test": "They are a separate test set; shares of classes are corrected by it.",
    "not said": "Nobody said; the figures hold if they are a random subset.",
}


def facts(run: CorrectedScores) -> dict[str, str]:
    """What the tables say beyond the headline."""
    rows = [*run.records("corrected"), *run.records("classes")]
    without = [row for row in rows if not known(row["corrected"])]
    chosen = CHOSEN.get(str(run.manifest["settings"].get("labelled", "not said")), "")
    lines = {
        "Labelled sources": _drawn(run) or chosen,
        "Do not conclude": (
            "That other people would give the same ratings; tables/corrected.csv has the"
            " wider interval for people like these."
        ),
    }
    if without:
        reason = str(without[0]["undefined"]).removeprefix("corrected: ")
        where = f"{len(without)} of {plural(len(rows), 'case')}, the first because {reason}."
        return {"Not corrected": where, **lines}
    return lines


def _drawn(run: CorrectedScores) -> str:
    """Of how many sources people's ratings were taken, where not of all; "" where that was not
    asked for.
    """
    labels, sources = (
        run.manifest["settings"].get("labels"),
        run.tables["corrected"].groupby("language")["sources"].max(),
    )
    if not labels or sources.empty:  # of a test set none are left out
        return ""
    if (sources <= labels).all():
        return f"None was left out: no language has more than {labels}."
    rest = "; all where there are no more" if (sources <= labels).any() else ""
    return f"{labels} of each language, drawn for this run{rest}."


def definitions(run: CorrectedScores) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Corrected": (
            "People's mean of the labelled sources, plus the judge's mean on the others less its"
            " mean on the labelled ones, times a weight from 0 to 1 that is fitted on sources"
            " apart (ten folds). Source means, as shares of the scale; Student's t; at least"
            f" {LEAST} labelled sources."
        ),
        "Labelled sources": (
            "A random subset of all. Where the judge's answers to them are distributed otherwise"
            f" than to the rest (chi-square, p below {NOT_RANDOM}), nothing is corrected."
        ),
        "Drawn": (
            "Sources that METAL drew with unequal probabilities count 1 / probability, in people's"
            " mean, in the correction and in its variance."
        ),
        "Near an end": (
            "Below 0.1 and above 0.9 Wilson's interval, at the number of labels that the mean is"
            " worth, at most twice those there are."
        ),
        "A label is worth": (
            "The variance of people alone over that of the corrected mean: how many labels without"
            " the judge would be as sure, for each one there is. Below 1 the judge does not pay."
        ),
        "Ranks": (
            "By the corrected mean; below it, the ranks that are not ruled out: a generator stands"
            " behind those shown to be better on the same sources, corrected by Holm."
        ),
        "Shares of classes": (
            "(judge's share + specificity − 1) / (sensitivity + specificity − 1), with the judge's"
            " sensitivity and specificity on the test set. Not given where the interval of the"
            " divisor holds 0. Intervals at the number of independent items, outputs of a source"
            " being alike."
        ),
        "People like these": (
            "An interval that also holds for other people of this kind: it adds the jackknife"
            " over persons."
        ),
    }
