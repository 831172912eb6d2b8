"""A table as METAL reads it with some options. The import wizard shows it, says what can be
changed, and gives METAL's reason for each guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from math import inf
from typing import TYPE_CHECKING, Any

from metal.api.importing import (
    direction_reason,
    doubtful_scores,
    has_direction,
    is_stated,
)
from metal.app.choices import ANSWERS, Options, column_of
from metal.app.reading import AsRead
from metal.data.records import KINDS
from metal.data.scale_texts import is_number
from metal.data.tables.answer_columns import AnswerColumn
from metal.data.tables.names import GUESSES, is_machine, plain
from metal.data.tables.table_columns import TableColumns
from metal.data.tables.worded import READ_AS_WORDS
from metal.data.text import count, first_few, plural
from metal.errors import MetalError, NoColumn, UnknownOrder

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion, Rater

MOST_RATERS, MOST_COLUMNS, MOST_CRITERIA = 40, 200, 40  # that have menus of their own
NOT_READ = "not read"
YOURS, LEFT_OUT = "you chose it", "you left it out"
ROLES: Mapping[str, Mapping[str, str]] = {
    "What was rated": {
        "output": "id of the output",
        "text": "text of the output",
        "source": "id of the source",
        "source_text": "text of the source",
        "generator": "generator: who wrote the output",
        "language": "language",
        "reference": "reference text",
        "content": "content that translations share",
    },
    "Who rated it, and how": {
        ANSWERS: "scores: the column is a rater or a criterion",
        "score": "score",
        "rater": "rater",
        "criterion": "criterion",
        "kind": "kind of rater",
        "group": "group of raters",
        "comment": "rater's comment",
        "reason": "why there is no score",
        "reply": "judge's reply in full",
        "confidence": "confidence",
        "repeat": "number of the repetition",
    },
    "Comparisons of two outputs": {
        "winner": "winner",
        "first": "generator of the first",
        "second": "generator of the second",
        "first_text": "text of the first",
        "second_text": "text of the second",
        "shown": "which was shown first",
    },
}
ROLE_NAMES = {role: text for group in ROLES.values() for role, text in group.items()}
_BY_CELLS = {
    "language": "its cells are languages",
    "output": "it tells the outputs apart",
    "source": "it tells the sources apart",
    "rater": "its cells name who rated",
}


@dataclass(frozen=True)
class ColumnShown:
    """A column of the table. role: its present role; fixed: whether the format decides it.

    why: METAL's reason. cells: the first ones.
    """

    name: str
    role: str
    why: str
    cells: Sequence[str] = ()
    fixed: bool = False

    @property
    def alike(self) -> int:
        """0 if it has a role of its own or was left out, 1 if it holds answers, 2 otherwise: those
        with low numbers are shown.
        """
        if self.role == ANSWERS:
            return 1
        return 0 if self.role or self.why == LEFT_OUT else 2


@dataclass(frozen=True)
class RaterShown:
    """A rater with its kind, the reason for it, and the number of its ratings."""

    name: str
    kind: str
    why: str
    ratings: int


@dataclass(frozen=True)
class CriterionShown:
    """A criterion, or a column of answers in words that have no order yet.

    levels: from the worst to the best. movable: whether their order can be changed. ends: of a
    scale without levels; "" if they are not known. direction: "" if neither end is better. doubt: a
    line on scores that may mean no answer, which are `doubtful`.
    """

    name: str
    levels: Sequence[str] = ()
    movable: bool = False
    ends: str | None = None
    nominal: bool = False
    direction: str = ""
    why: str = ""
    doubt: str = ""
    doubtful: Sequence[str] = ()
    missing: Sequence[str] = ()
    scale: str = ""


@dataclass(frozen=True)
class TableShown:
    """Everything about a table that the wizard shows.

    further_columns, further_raters, further_criteria: how many more there are.

    language, criterion: of all rows; None if a column names it. sources_by: the column whose texts
    name the sources. sources: how many there are. facts: what must not change when further rows are
    read: the roles of columns, raters with their kinds, criteria with their scales, languages.
    """

    read: AsRead
    columns: Sequence[ColumnShown] = ()
    further_columns: int = 0
    raters: Sequence[RaterShown] = ()
    further_raters: int = 0
    criteria: Sequence[CriterionShown] = ()
    further_criteria: int = 0
    language: str | None = None
    why_language: str = ""
    criterion: str | None = None
    sources_by: str = ""
    sources: int = 0
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    counts: Sequence[tuple[str, str]] = ()

    @property
    def auditable(self) -> bool:
        """Whether people and judges rated: what an audit needs."""
        kinds = {*self.facts.get("rater", {}).values()}
        machines = {KINDS[kind] for kind in ("llm", "baseline", "metric")}
        return KINDS["human"] in kinds and not kinds.isdisjoint(machines)


def table_shown(read: AsRead) -> TableShown:
    """What the wizard shows of a table as it was read."""
    every_column = columns_shown(read)
    order = sorted(range(len(every_column)), key=lambda number: every_column[number].alike)
    columns = [every_column[number] for number in sorted(order[:MOST_COLUMNS])]
    further = len(every_column) - len(columns)
    if read.dataset is None:
        criteria = []
        if isinstance(read.error, UnknownOrder):
            unordered = CriterionShown(read.error.criterion, read.error.words, movable=True)
            criteria = [replace(unordered, scale="in words")]
        return TableShown(read, columns, further, criteria=criteria)
    raters = list(_raters(read.dataset, read.options, in_column="kind" in read.sheet_like.roles))
    criteria = _criteria(read)
    shown = TableShown(
        read,
        columns,
        further,
        raters[:MOST_RATERS],
        len(raters[MOST_RATERS:]),
        criteria[:MOST_CRITERIA],
        len(criteria[MOST_CRITERIA:]),
        sources=len(read.dataset.sources),
        counts=_counts(read.dataset),
        facts=_facts(read.dataset, every_column),
    )
    if read.columns is None:  # a format that says the rest
        return shown
    if "language" not in read.columns.roles:
        language, why = _language(read, read.dataset)
        shown = replace(shown, language=language, why_language=why)
    named = any(answer.criterion for answer in read.columns.answers)
    if "criterion" not in read.columns.roles and not named and len(shown.criteria) == 1:
        shown = replace(shown, criterion=read.options.get("criterion", ""))
    if "source" not in read.options.get("columns", {}):
        shown = replace(shown, sources_by=read.columns.sources_by)
    return shown


# ---------------------------------------------------------------- columns


def columns_shown(read: AsRead) -> list[ColumnShown]:
    """The columns in the order of the file, then those that the user left out."""
    columns, chosen = read.sheet_like, read.options.get("columns", {})
    role_of = {name: role for role, name in {**columns.roles, **chosen}.items()}
    answers = {answer.column: answer for answer in columns.answers}
    cells = dict(zip(columns.names, zip(*columns.first_rows, strict=True), strict=False))
    shown = []
    for name in columns.names:
        role = ANSWERS if name in answers else role_of.get(name, "")
        fixed = role in columns.of_format
        if name in answers:
            why = whose(answers[name])
        else:
            why = _why(name, role, columns, chosen=name in chosen.values(), fixed=fixed)
        shown.append(ColumnShown(name, role, why, cells.get(name, ()), fixed))
    left_out = [column_of(pattern) for pattern in read.options.get("ignore", ())]
    shown += [ColumnShown(name, "", LEFT_OUT) for name in left_out if name not in columns.names]
    return shown


def whose(answer: AnswerColumn) -> str:
    """The rater and the criterion of a column of answers, in words."""
    parts = {"rater": answer.rater, "criterion": answer.criterion, "output": answer.output}
    return ", ".join(f"{part} {name}" for part, name in parts.items() if name) or (
        "its cells are scores"
    )


def _why(name: str, role: str, columns: TableColumns, *, chosen: bool, fixed: bool) -> str:
    if chosen:
        return YOURS
    if fixed:
        return "as the format says"
    if role:
        by_name = any(plain(part) in GUESSES[role] for part in (name, name.split(".")[-1]))
        return "by its name" if by_name else _BY_CELLS.get(role, "by its cells")
    if name in columns.doubtful:
        return "may hold scores, but its name does not say whose"
    return "neither its name nor its cells suggest a role"


# ---------------------------------------------------------------- raters, criteria, language


def _raters(dataset: Dataset, options: Options, *, in_column: bool) -> list[RaterShown]:
    numbers = dataset.ratings["rater"].value_counts()
    kinds = options.get("kinds", {})
    raters = []
    for name, rater in dataset.raters.items():
        why = _why_kind(rater, kinds, in_column=in_column)
        raters.append(RaterShown(name, rater.kind, why, int(numbers.get(name, 0))))
    return raters


def _why_kind(rater: Rater, chosen: Mapping[str, Any], *, in_column: bool) -> str:
    if is_stated(rater.rater, chosen):
        return YOURS
    if in_column:
        return "as the table says"
    if is_machine(rater.rater):
        return "by its name"
    return "not named like a model" if rater.kind == "human" else "it has replies"


def _criteria(read: AsRead) -> list[CriterionShown]:
    assert read.dataset is not None
    scales = {**read.options.get("levels", {}), **read.options.get("ranges", {})}
    doubts = doubtful_scores(read.dataset, scales)
    return [
        _criterion(read, criterion, *doubts.get(name, ("", frozenset())))
        for name, criterion in read.dataset.criteria.items()
    ]


def _criterion(
    read: AsRead, criterion: Criterion, line: str, doubtful: frozenset[str]
) -> CriterionShown:
    assert read.dataset is not None
    options, scale, name = read.options, criterion.scale, criterion.name
    labels = [level.label for level in scale.levels]
    missing = options.get("missing", {}).get(escape(name), ())
    direction, why = "", ""
    if has_direction(scale):
        direction = criterion.direction
        why = direction_reason(read.dataset, name, options.get("directions", {}))
    ends = "" if scale.low is None else f"{scale.low:g}..{scale.high:g}"
    return CriterionShown(
        name,
        labels,
        movable=_in_words(read, criterion),
        ends=None if labels else ends,
        nominal=scale.measure == "nominal",
        direction=direction,
        why=why.partition(";")[0],
        doubt=line,
        doubtful=sorted({*doubtful, *missing}, key=_size),
        missing=missing,
        scale=scale.describe(),
    )


def _size(text: str) -> tuple[float, str]:
    """A key that sorts texts by the numbers in them; texts without a number come last."""
    return (float(text), text) if is_number(text) else (inf, text)


def _in_words(read: AsRead, criterion: Criterion) -> bool:
    """Whether the answers are words, so that their order is a matter of opinion."""
    chosen = str(read.options.get("levels", {}).get(escape(criterion.name), ""))
    start = f"{criterion.name}: {READ_AS_WORDS}"
    worded = "<" in chosen or any(note.startswith(start) for note in read.notes)
    plain_labels = not any("<" in level.label for level in criterion.scale.levels)
    counted = criterion.scale.values == tuple(range(len(criterion.scale.levels)))
    nominal = is_stated(criterion.name, read.options.get("measures", {}))
    return (worded or nominal) and counted and plain_labels


def _language(read: AsRead, dataset: Dataset) -> tuple[str, str]:
    """The language of all rows, "" if it is unknown, and the reason."""
    language = "" if dataset.languages in ((), ("und",)) else dataset.languages[0]
    if "language" in read.options:
        return language, YOURS
    notes = [note for note in read.notes if note.startswith("language: ")]
    return language, "".join(notes[:1]).partition(", ")[2].removesuffix(" (`language`)")


def _counts(dataset: Dataset) -> list[tuple[str, str]]:
    """The figures of the summary, each with what it counts."""
    from metal.data.languages import language_name, language_order
    from metal.questions.dataset.contents import raters, sizes

    languages = [language_name(code) for code in sorted(dataset.languages, key=language_order)]
    unknown = dataset.languages == ("und",)
    names = "language not known yet" if unknown else first_few(languages, 12)
    titles = [f"{c.name} ({c.scale.describe()})" for c in dataset.criteria.values()]
    return [
        ("Ratings", sizes(dataset)),
        (plural(len(languages), "language").partition(" ")[2].capitalize(), names),
        ("Raters", ", ".join(raters(dataset))),
        ("Criteria" if len(titles) > 1 else "Criterion", first_few(titles, 8)),
        ("Without a score", count(int(dataset.ratings["score"].isna().sum()))),
    ]


def _facts(dataset: Dataset, columns: Sequence[ColumnShown]) -> dict[str, dict[str, str]]:
    """What must not change when further rows are read; see TableShown."""
    from metal.data.languages import language_name

    criteria = dataset.criteria.values()
    return {
        "column": {
            each.name: ROLE_NAMES.get(each.role, each.role) for each in columns if each.role
        },
        "rater": {name: KINDS[rater.kind] for name, rater in dataset.raters.items()},
        "criterion": {each.name: f"{each.scale.describe()}; {each.direction}" for each in criteria},
        "language": {code: language_name(code) for code in dataset.languages},
    }


def failure(error: MetalError | None) -> str:
    """Why a file could not be read. Advice is added only if the page itself does not ask for what
    is missing.
    """
    if isinstance(error, UnknownOrder) or column_wanted(error):
        assert isinstance(error, UnknownOrder | NoColumn)
        return f"{error.where}: {error.problem}."
    return str(error or "")


def column_wanted(error: MetalError | None) -> NoColumn | None:
    """The error if it asks for a column."""
    return error if isinstance(error, NoColumn) and error.columns else None
