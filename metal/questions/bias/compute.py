"""Whether a judge scores some languages higher than others for equal quality: a row for each judge,
criterion and language.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from metal.auditing.cells import judges_of, repeats_of
from metal.auditing.scored_outputs import ScoredOutputs, scored_outputs
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.languages import SEVERAL, check_languages, language_name
from metal.data.pairs import one_item_per_pair
from metal.data.people import people_in, people_named, who_saw, without
from metal.data.progress import Progress, divided, followed
from metal.data.records import Criterion
from metal.data.text import first_few, plural
from metal.errors import UsageError, check_known
from metal.questions.bias.between_languages import PEOPLE, SHIFTS, language_rows
from metal.questions.bias.conditions import CONDITIONS, condition_rows, unpaired_outputs
from metal.questions.bias.language_pairs import language_pair_rows
from metal.questions.bias.severity import SEVERITY, severity_rows
from metal.stats.leniency import LEAST, LEAST_RELIABILITY

WITH_ENDS = (*SHIFTS, "flips", "excess_flips")
LANGUAGE_BIAS = (
    *(
        "language",
        "criterion",
        "judge",
        "says",
        "by",
        "lean",
        "lean_low",
        "lean_high",
        "p_adjusted",
        "flip_p",
        "mean",
    ),
    *("outputs", "contents"),
    *(f"{name}{end}" for name in WITH_ENDS for end in ("", "_low", "_high")),
    *("top_share", "span", "undefined"),
)

TABLES = {"language_bias": LANGUAGE_BIAS, "conditions": CONDITIONS, "severity": SEVERITY}


def language_bias(
    dataset: Dataset,
    settings: AuditSettings,
    *,
    pivot: str = "",
    falls: Sequence[str] = (),
    progress: Progress,
) -> Analysed:
    """Compare how each judge scores each language.

    pivot: answers in other languages are compared with answers in this one, to count flips; by
    default English, else the language with the most outputs. falls: criteria on which an output in
    a wrong language must lose.

    Returns the tables `language_bias`, `conditions` and `severity`. Raises UsageError if fewer than
    two languages were judged, or if nothing makes them comparable.
    """
    across = SEVERAL in dataset.languages and any(
        output.is_pair for output in dataset.outputs.values()
    )
    if not across:
        dataset = one_item_per_pair(dataset)
    people = _reference_people(dataset, settings)
    judges = judges_of(dataset, settings)
    if PEOPLE in settings.judges and people:
        judges = (*judges, PEOPLE)
    if across:
        return _of_language_pairs(dataset, settings, judges, people)
    languages = _languages_asked(dataset, settings, judges, pivot, falls)
    ordered, unordered = _by_order(dataset, settings)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    unpaired: dict[str, set[str]] = {judge: set() for judge in judges}
    repeats = {judge: repeats_of(dataset, judge) for judge in judges}
    raters = {*people, *judges, *chain.from_iterable(repeats.values())}
    saw = who_saw(dataset.raters, people)
    for criterion, advance in zip(ordered, divided(progress, *[1] * len(ordered)), strict=True):
        scored = scored_outputs(dataset, criterion, raters, languages)
        if scored is None:
            continue
        panel, present = _present(scored, people, judges)
        measuring, comparing = divided(advance, 4, 1)
        rows["severity"] += severity_rows(scored, panel, measuring)
        for judge in followed(present, comparing):
            unaided = without(panel, saw.get(judge, ()))
            rows["language_bias"] += language_rows(scored, judge, repeats[judge], unaided, pivot)
            if judge != PEOPLE:
                rows["conditions"] += condition_rows(scored, judge, unaided, dataset.raters, falls)
                unpaired[judge] |= set(unpaired_outputs(scored, judge, dataset.outputs))
    _check_comparable(rows["language_bias"], people)
    _name_conditions(rows["conditions"], dataset)
    tables = {
        name: pd.DataFrame(rows[name], columns=list(columns)) for name, columns in TABLES.items()
    }
    notes = [*_left_out(unordered, unpaired), *_unreliable(rows["language_bias"], dataset)]
    return Analysed(tables, tuple(notes))


def _present(
    scored: ScoredOutputs, people: Sequence[str], judges: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The people and judges that scored on this criterion; the people's mean also counts as a
    judge.
    """
    panel = [name for name in people if name in scored.matrix.raters]
    present = [judge for judge in judges if judge in scored.matrix.raters]
    if PEOPLE in judges and panel:
        present.append(PEOPLE)
    return panel, present


def _name_conditions(rows: Sequence[dict[str, Any]], dataset: Dataset) -> None:
    """Describe each row's condition: in words if it is a probe, else by its name."""
    probed = dataset.extra.get("probes", {}).get("conditions", ())
    titles = {condition["condition"]: condition["what"] for condition in probed}
    for row in rows:
        row["what"] = titles.get(row["condition"], row["condition"])


def _reference_people(dataset: Dataset, settings: AuditSettings) -> tuple[str, ...]:
    """The people whose scores measure quality; empty in data without people."""
    if not settings.reference and not people_in(dataset.raters):
        return ()
    return people_named(dataset, settings.reference)


def _of_language_pairs(
    dataset: Dataset, settings: AuditSettings, judges: Sequence[str], people: Sequence[str]
) -> Analysed:
    """The tables for pairs of outputs in two different languages."""
    rows: list[dict[str, Any]] = []
    for judge in judges:
        raters = people if judge == PEOPLE else [judge]
        rows += language_pair_rows(dataset, settings, judge, raters)
    tables = {name: pd.DataFrame(columns=list(columns)) for name, columns in TABLES.items()}
    tables["language_bias"] = pd.DataFrame(rows, columns=list(LANGUAGE_BIAS))
    return Analysed(tables, ())


def _languages_asked(
    dataset: Dataset,
    settings: AuditSettings,
    judges: Sequence[str],
    pivot: str,
    falls: Sequence[str],
) -> tuple[str, ...]:
    """The languages to compare. Raises UsageError if an option does not fit the data."""
    languages = tuple(settings.languages or dataset.languages)
    check_languages(settings.languages, dataset.languages)
    if len(languages) < 2:
        raise UsageError(
            f"a language bias needs two languages or more, but the data have {len(languages)}; "
            "add data with another language, or leave `languages` out"
        )
    if not judges:
        raise UsageError(
            "no judges in the data: add the run folder of `metal judge`, or see how people's own"
            ' scores differ with `judges="people"`'
        )
    check_known("criterion", [*settings.criteria, *falls], dataset.criteria)
    if pivot and pivot not in languages:
        raise UsageError(f"pivot {pivot!r} is not one of the languages: {', '.join(languages)}")
    return languages


def _by_order(dataset: Dataset, settings: AuditSettings) -> tuple[list[Criterion], list[str]]:
    """The criteria whose scores have an order, and the names of the criteria without one."""
    ordered, unordered = [], []
    for name in settings.criteria or dataset.criteria:
        scale = dataset.criteria[name].scale
        if scale.measure == "nominal" and not scale.ends:
            unordered.append(name)
        else:
            ordered.append(dataset.criteria[name])
    return ordered, unordered


def _check_comparable(rows: Sequence[Mapping[str, Any]], people: Sequence[str]) -> None:
    """Raise UsageError if no languages could be compared."""
    if not rows:
        raise UsageError("no judge rated an ordered criterion in two languages; see `metal check`")
    if not people and all(math.isnan(row["parallel"]) for row in rows):
        raise UsageError(
            f"cannot compare languages: no two share {LEAST} contents, and no people rated the"
            " outputs. Name the column that is equal for translations of each other,"
            ' `columns={"content": COLUMN}` of `metal.read`, or add people\'s ratings'
        )


def _left_out(unordered: Sequence[str], unpaired: Mapping[str, set[str]]) -> Iterator[str]:
    """A line about criteria without an order, and one for each judge with unpaired outputs."""
    if unordered:
        yield (
            f"{plural(len(unordered), 'criterion', 'criteria')} without an order left out:"
            f" {first_few(unordered)}"
        )
    for judge, outputs in unpaired.items():
        if outputs:
            yield (
                f"{judge}: {plural(len(outputs), 'output')} left out of the conditions because it"
                f" did not judge the output they were made from: {first_few(sorted(outputs))}"
            )


def _unreliable(rows: Sequence[dict[str, Any]], dataset: Dataset) -> Iterator[str]:
    """A line for each criterion on which people agree too little to measure quality, with what to
    do.
    """
    low: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["reliability"] < LEAST_RELIABILITY and math.isnan(row["lean"]):
            low.setdefault(dataset.called(row["criterion"]), {})[row["language"]] = (
                f"{language_name(row['language'])} {row['reliability']:.2f}"
            )
    for criterion, languages in low.items():
        yield (
            f"{criterion}: people's reliability is below {LEAST_RELIABILITY:g} in"
            f" {first_few([*languages.values()])}; ask more people about each output, or let the"
            " judge rate the same contents in each language"
        )
