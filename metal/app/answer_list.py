"""What a list of outputs shows: how the texts begin, and a column for each rater."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from metal.api.answer_table import (
    BY_LANGUAGE,
    BY_PEOPLE,
    DOWN,
    KINDS,
    OF,
    Choice,
    RunAnswers,
)
from metal.app.outputs import level_of, plain_rows
from metal.data.languages import language_name
from metal.data.text import name, percent

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.records import Criterion

NONE_GIVEN = "–"  # what stands for a score
CLIPPED = 240  # characters of a text
MOST_PEOPLE, MOST_JUDGES = 5, 12  # raters with a column of their own
AWAY, FAR = (
    "away",
    "away far",
)  # looks of an answer that differs, and one by more than half of the scale
HALF = 0.5


@dataclass(frozen=True)
class ListedOutput:
    """A row of the list.

    text, source: how the texts begin. people: their answer in words; empty without one. each: the
    scores of all people. says: the answer of each rater. away: of judges whose answer is not the
    people's, AWAY or FAR. size: how far apart they are; empty where nothing can be compared.
    """

    output: str
    language: str
    criterion: str
    generator: str
    text: str
    source: str
    people: str
    each: str
    says: Mapping[str, str]
    away: Mapping[str, str]
    size: str


@dataclass(frozen=True)
class SortLink:
    """The head of a column, which leads to the list in another order.

    query: the choice as an address has it. now: how the list is sorted by the column, as aria-sort
    has it.
    """

    query: Mapping[str, str]
    now: str

    @classmethod
    def of(cls, choice: Choice, order: str) -> SortLink:
        """The head of the column with an order; a list that is in this order is turned round."""
        if not order:  # largest differences first, and never last
            return cls(replace(choice, sort="").to_dict(), "" if choice.sort else "descending")
        now = {order: "ascending", DOWN + order: "descending"}.get(choice.sort, "")
        turned = DOWN + order if now == "ascending" else order
        return cls(replace(choice, sort=turned).to_dict(), now)


def content_of(
    answers: RunAnswers, choice: Choice, rows: pd.DataFrame, *, with_texts: bool = True
) -> dict[str, Any]:
    """What a list shows of a run's outputs.

    rows: those on the page, from the outputs of the choice. with_texts: whether it shows how the
    texts begin. Columns that would say the same in all rows are left out, and so are raters of whom
    no row has an answer.
    """
    scores = answers.scores(rows["item"])
    rated = set().union(*scores)
    people = [rater for rater in answers.people if rater in rated]
    judges = [rater for rater in answers.judges if rater in rated and choice.judge in ("", rater)]
    own = people if len(people) <= MOST_PEOPLE else []
    raters = [*own, *judges[:MOST_JUDGES]]
    titles = {each.name: each.title for each in answers.by_name.values()}
    return {
        "answers": answers,
        "choice": choice,
        "kind": choice.kind or answers.usual_kind,
        "kinds": KINDS,
        "rows": list(_listed(answers, rows, scores, people, with_texts)),
        "people": people,
        "raters": [(rater, SortLink.of(choice, OF + rater)) for rater in raters],
        "people_together": own != people,
        "left_out": len(judges[MOST_JUDGES:]),
        "several": {
            column: rows[column].nunique() > 1 for column in ("language", "criterion", "generator")
        },
        "by_size": SortLink.of(choice, ""),
        "by_language": SortLink.of(choice, BY_LANGUAGE),
        "by_people": SortLink.of(choice, BY_PEOPLE),
        "titles": titles,
        "criteria": [(each, name(titles.get(each, each))) for each in answers.criteria],
        "named": [(code, language_name(code)) for code in answers.languages],
    }


def _listed(
    answers: RunAnswers,
    rows: pd.DataFrame,
    scores: Sequence[Mapping[str, float]],
    people: Sequence[str],
    with_texts: bool,
) -> Iterator[ListedOutput]:
    texts: Sequence[Mapping[str, str]] = [{}] * len(rows)
    if with_texts:
        texts = answers.texts_of(rows)
    for row, of, text in zip(plain_rows(rows), scores, texts, strict=True):
        criterion = answers.by_name.get(row["criterion"])
        says = {rater: _says(criterion, score, NONE_GIVEN) for rater, score in of.items()}
        yield ListedOutput(
            row["output"],
            row["language"],
            row["criterion"],
            row["generator"],
            clipped(text.get("output_text", "")),
            clipped(text.get("source_text", "") or text.get("title", "")),
            _says(criterion, row["people"], ""),
            ", ".join(_says(None, of[rater], NONE_GIVEN) for rater in people if rater in of),
            says,
            _away(row, {rater: score for rater, score in of.items() if rater not in people}),
            "" if isnan(row["size"]) else percent(row["size"]),
        )


def _says(criterion: Criterion | None, score: float, without: str) -> str:
    return without if isnan(score) else level_of(criterion, score)


def _away(row: Mapping[str, Any], scores: Mapping[str, float]) -> dict[str, str]:
    """The judges whose score is not the people's answer, AWAY or FAR."""
    looks = {}
    for judge, score in scores.items():
        distance = abs(score - row["people"])
        if distance > 0:  # not NaN
            looks[judge] = FAR if distance > HALF * row["span"] else AWAY
    return looks


def clipped(text: str) -> str:
    """How a text begins."""
    return text if len(text) <= CLIPPED else f"{text[:CLIPPED]}…"
