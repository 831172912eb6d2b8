"""A run of `metal correct`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from metal.data.text import count, estimate, figure, known, p_value, percent, share, signed_share
from metal.questions.correct.class_shares import CLASSES
from metal.questions.correct.compute import ALL, CORRECTED, DIFFERENCES
from metal.runs.columns import HEAD, JUDGE, Column, Row, Tables, with_the_rest
from metal.runs.run import NOTED, WARNS, VerdictLine
from metal.show.result import Result

Mean = partial(Column, format=share, interval=True)


def _ranks(row: Row) -> str:
    """The ranks that are not ruled out, such as `1 to 3`."""
    low, high = (row[end] for end in ("rank_low", "rank_high"))
    return f"{count(low)} to {count(high)}" if known(low) and low < high else ""


DESCRIBED: Tables = {
    "corrected": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("generator", "generator"),
            Mean("corrected", "corrected"),
            Column("rank", "rank", count, below=_ranks),
            Mean("people_only", "people only"),
            Mean("judge_only", "judge only"),
            Column("bias", "judge minus people", signed_share, interval=True),
            Column("rho", "correlation", figure),
            Column("labels_saved", "a label is worth", figure, direction="higher"),
            Column(
                "labelled",
                "labelled",
                count,
                below=lambda row: f"of {count(row['sources'])} sources",
            ),
        ),
        CORRECTED,
    ),
    "differences": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("first", "first"),
            Column("second", "second"),
            Column("difference", "corrected difference", signed_share, interval=True),
            Column("people_only", "people only", signed_share),
            Column("p_adjusted", "p, corrected", p_value),
            Column("labelled", "labelled", count),
        ),
        DIFFERENCES,
    ),
    "classes": with_the_rest(
        (
            *HEAD,
            JUDGE,
            Column("generator", "generator"),
            Column("level", "class"),
            Column("corrected", "corrected share", percent, interval=True),
            Column("judge_only", "judge only", percent),
            Column("sensitivity", "sensitivity", percent),
            Column("specificity", "specificity", percent),
            Column("informed", "their sum minus 1", figure, interval=True),
            Column("tested", "test items of the class", count),
            Column("outputs", "outputs", count),
        ),
        CLASSES,
    ),
}


@dataclass(frozen=True, repr=False)
class CorrectedScores(Result):
    """People's mean for each generator, estimated from a judge's ratings of all sources and
    people's of some.
    """

    shown = "corrected"
    command = "correct"
    described = DESCRIBED

    def remarks(self) -> Iterator[VerdictLine]:
        """Lines on how far the judge's mean alone is from people's over all generators, and on the
        worth of a label with the judge's help.
        """
        for row in self.records("corrected", generator=ALL):
            if not known(row["bias"]):
                continue
            off = row["bias_low"] > 0 or row["bias_high"] < 0
            bias = f"{estimate(row, 'bias', signed_share)} of the scale"
            worth = (
                f"; with its help a label is worth {figure(row['labels_saved'])}"
                if known(row["labels_saved"])
                else ""
            )
            line = (
                "its mean alone differs from people's by"
                f" {bias}{'' if off else ', not shown to be wrong'}{worth}"
            )
            yield VerdictLine(
                row["judge"], row["language"], row["criterion"], line, WARNS if off else NOTED
            )
