"""A run of `metal bias`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metal.auditing.scored_outputs import EVEN, LEANS
from metal.data.text import (
    capital,
    count,
    estimate,
    figure,
    interval,
    known,
    name,
    p_value,
    percent,
    percent_change,
    share,
    signed,
)
from metal.questions.bias.between_languages import PARALLEL
from metal.questions.bias.compute import LANGUAGE_BIAS
from metal.questions.bias.conditions import CHANGES, CONDITIONS
from metal.questions.bias.severity import SEVERITY
from metal.questions.design.anchors import ANCHORS
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.runs.run import NOTED, WARNS, VerdictLine
from metal.show.result import Result

DESCRIBED: Tables = {
    "language_bias": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("says", "says", capital, below=lambda row: row["by"]),
            Column("lean", "lean", signed, interval=True),
            Column("p_adjusted", "p, corrected", p_value),
            Column("flip_p", "p against the pivot, by sign flips, corrected", p_value),
            Column("above_people", "more lenient than people by", signed, interval=True),
            Column("gap", "quality held equal", signed, interval=True),
            Column("naive_regression", "naive: regression", signed),
            Column("naive_difference", "naive: difference", signed),
            Column("reliability", "people's reliability", figure, direction="higher"),
            Column("parallel", "same contents", signed, interval=True),
            Column("parallel_beside_people", "same contents, beside people", signed, interval=True),
            Column("anchored", "with anchors", signed, interval=True),
            Column("slope", "slope on quality", figure, interval=True, direction="higher"),
            Column("spread", "spread / quality's", figure),
            Column("top_share", "best class", percent),
            Column("flips", "other answer than in the pivot", percent),
            Column("excess_flips", "more than when asked again", percent_change, interval=True),
            Column("mean", "mean score", share),
            Column(
                "outputs", "outputs", count, below=lambda row: f"{count(row['contents'])} contents"
            ),
        ),
        LANGUAGE_BIAS,
    ),
    "conditions": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("what", "condition"),
            Column("says", "says", capital),
            Column("pairs", "pairs", count),
            Column("change", "better by", signed, interval=True),
            Column("p_adjusted", "p, corrected", p_value),
            Column("changed", "changed", percent),
            Column("lower", "worse", percent),
            Column("higher", "better", percent),
            Column("flip_p", "p of worse against better, not corrected", p_value),
            Column("nearer", "closer to people by", signed, interval=True),
            Column("expected", "must"),
            Column("noticed", "noticed", percent, interval=True, direction="higher"),
            Column(
                "collateral",
                "changed although it must not",
                percent,
                interval=True,
                direction="lower",
            ),
        ),
        CONDITIONS,
    ),
    "severity": with_the_rest(
        (
            *HEAD,
            Column("person", "person"),
            Column("says", "says", capital),
            Column("lower_by", "scores lower by", signed, interval=True),
            Column("p_adjusted", "p, corrected", p_value),
            Column("severity", "severity, logits", signed, interval=True),
            Column("outputs", "shared outputs", count),
            Column("people", "people compared", count),
        ),
        SEVERITY,
    ),
    "anchors": with_the_rest(
        (
            *HEAD,
            Column("contents", "contents to rate", count, below=lambda row: row["sd_from"]),
            Column("rated", "rated by both", count),
            Column("there", "in every language", count),
            Column("sd", "spread of a difference", figure),
        ),
        ANCHORS,
    ),
}


def blind(row: Row) -> bool:
    """Whether a judge is not shown to tell better from worse in a language; a shift there is then
    not leniency.
    """
    return known(row["slope_low"]) and bool(row["slope_low"] <= 0)


@dataclass(frozen=True, repr=False)
class LanguageBias(Result):
    """How each judge treats each language."""

    shown = "language_bias"
    command = "bias language"
    described = DESCRIBED

    def _check(self, folder: Path) -> None:
        for table in ("language_bias", "conditions"):
            self._check_names(folder, table, "criterion", self.criteria, "run.toml")

    def remarks(self) -> Iterator[VerdictLine]:
        """Lines on whether the judge leans in a language, cannot tell better from worse there, or
        is moved by conditions that should not matter.
        """
        for row in self.records("conditions"):
            if row["says"] == CHANGES and not row["expected"]:
                change = estimate(row, "change", signed)
                case = row["judge"], row["language"], row["criterion"]
                yield VerdictLine(*case, f"{name(row['what'])}: {change}", WARNS)
        for row in self.records("language_bias"):
            case = row["judge"], row["language"], row["criterion"]
            if row["says"] == LEANS:
                of = (
                    f" of {self.span(row['criterion']):g}"
                    if self.criteria[row["criterion"]].scale.ends
                    else ""
                )
                ends = interval(row["lean_low"], row["lean_high"], signed)
                towards = f"towards {'better' if row['lean'] > 0 else 'worse'}"
                by = f"{'on' if row['by'] == PARALLEL else 'with'} {row['by']}"
                yield VerdictLine(
                    *case, f"leans {signed(row['lean'])}{of} {ends} {towards}, {by}", WARNS
                )
            else:
                even = (
                    "even between languages"
                    if row["says"] == EVEN
                    else "it is unknown whether it leans"
                )
                yield VerdictLine(*case, even, NOTED)
            if blind(row):
                slope = f"slope {estimate(row, 'slope')}"
                yield VerdictLine(*case, f"not shown to tell better from worse: {slope}", WARNS)
