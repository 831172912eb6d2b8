"""Does a judge score some languages higher than others for equal quality? A row for each judge,
criterion, language.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import judges_of, repeats_of
from metal.auditing.scored_outputs import LEANS, ScoredOutputs, says, scored_outputs
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.languages import SEVERAL, check_languages, language_name
from metal.data.pairs import one_item_per_pair
from metal.data.people import people_named
from metal.data.progress import Progress, divided, followed
from metal.data.text import first_few, plural
from metal.errors import Undefined, UsageError, check_known
from metal.questions.bias.conditions import CONDITIONS, condition_rows, flips, unpaired_outputs
from metal.questions.bias.language_pairs import language_pair_rows
from metal.questions.bias.severity import SEVERITY, severity_rows
from metal.stats.leniency import (
    FIGURES,
    LEAST,
    LEAST_RELIABILITY,
    RatedItems,
    Shifts,
    flip_p_values,
    parallel_shifts,
    shifts_beside_people,
    with_anchors,
)
from metal.stats.patterns import Numbers
from metal.stats.significance import holm

PEOPLE = "people"  # asked for as a judge: their own mean
PARALLEL, BESIDE, ANCHORED = (
    "the same contents",
    "quality held equal",
    "people made comparable by anchors",
)
WITH_ENDS = ("parallel", "parallel_beside_people", "anchored", *FIGURES, "flips", "excess_flips")
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
    """How each judge treats each language. pivot: the language that flips are counted against;
    where empty, English if there is English, else the language with the most outputs. falls:
    criteria that a wrong language must fail.

    Returns the tables `language_bias`, `conditions` and `severity`. Raises UsageError where fewer
    than two languages were judged, or where nothing makes them comparable.
    """
    across = SEVERAL in dataset.languages and any(
        output.is_pair for output in dataset.outputs.values()
    )
    if not across:
        dataset = one_item_per_pair(dataset)
    alone = not settings.reference and not any(
        rater.kind == "human" for rater in dataset.raters.values()
    )
    people = () if alone else people_named(dataset, settings.reference)
    judges = (
        *judges_of(dataset, settings),
        *([PEOPLE] if PEOPLE in settings.judges and people else []),
    )
    languages = tuple(settings.languages or dataset.languages)
    if across:
        pairs = [
            row
            for judge in judges
            for row in language_pair_rows(
                dataset, settings, judge, people if judge == PEOPLE else [judge]
            )
        ]
        tables = {name: pd.DataFrame(columns=list(columns)) for name, columns in TABLES.items()}
        return Analysed(
            tables | {"language_bias": pd.DataFrame(pairs, columns=list(LANGUAGE_BIAS))}, ()
        )
    check_languages(settings.languages, dataset.languages)
    if len(languages) < 2:
        raise UsageError(
            f"a language bias needs two languages or more, and here is {len(languages)}; add data"
            " with another language, or leave `languages` out"
        )
    if not judges:
        raise UsageError(
            "no judges in the data: add the run folder of `metal judge`, or see how people's own"
            ' scores differ with `judges="people"`'
        )
    check_known("criterion", [*settings.criteria, *falls], dataset.criteria)
    if pivot and pivot not in languages:
        raise UsageError(f"pivot {pivot!r} is none of the languages: {', '.join(languages)}")
    chosen = list(settings.criteria or dataset.criteria)
    scales = {name: dataset.criteria[name].scale for name in chosen}
    unordered = [
        name for name, scale in scales.items() if scale.measure == "nominal" and not scale.ends
    ]
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    severity: list[dict[str, Any]] = []
    unpaired: dict[str, set[str]] = {}
    titles = {
        about["condition"]: about["what"]
        for about in dataset.extra.get("probes", {}).get("conditions", ())
    }
    ordered = [dataset.criteria[name] for name in chosen if name not in unordered]
    for criterion, advance in zip(ordered, divided(progress, *[1] * len(ordered)), strict=True):
        again = {judge: repeats_of(dataset, judge) for judge in judges}
        raters = {*people, *judges, *(name for names in again.values() for name in names)}
        scored = scored_outputs(dataset, criterion, raters, languages)
        if scored is None:
            continue
        most = scored.languages[
            int(np.bincount(scored.language, minlength=len(scored.languages)).argmax())
        ]
        reference = pivot or ("en" if "en" in scored.languages else most)
        panel = [name for name in people if name in scored.matrix.raters]
        measuring, comparing = divided(advance, 4, 1)
        severity += severity_rows(scored, panel, measuring)
        here = [
            name for name in judges if name in scored.matrix.raters or (name == PEOPLE and panel)
        ]
        for judge in followed(here, comparing):
            repeats = [name for name in again[judge] if name in scored.matrix.raters]
            rows += _rows(scored, judge, repeats, panel, reference)
            if judge != PEOPLE:
                of_judge = condition_rows(scored, judge, panel, dataset.raters, falls)
                changes += (
                    row | {"what": titles.get(row["condition"], row["condition"])}
                    for row in of_judge
                )
                unpaired.setdefault(judge, set()).update(
                    unpaired_outputs(scored, judge, dataset.outputs)
                )
    made = {"language_bias": rows, "conditions": changes, "severity": severity}
    tables = {
        name: pd.DataFrame(made[name], columns=list(columns)) for name, columns in TABLES.items()
    }
    if not rows:
        raise UsageError("no judge rated an ordered criterion in two languages; see `metal check`")
    if not people and all(math.isnan(row["parallel"]) for row in rows):
        raise UsageError(
            f"nothing makes these languages comparable: no {LEAST} contents are in two of them, and"
            " no people rated the outputs; name the column that is equal for translations of each"
            ' other, `columns={"content": COLUMN}` of `metal.read`, or add people\'s ratings'
        )
    left_out = (
        f"{plural(len(unordered), 'criterion', 'criteria')} without an order left out:"
        f" {first_few(unordered)}"
    )
    lost = [
        f"{judge}: {plural(len(outputs), 'output')} made from one that it did not judge left out of"
        f" the conditions: {first_few(sorted(outputs))}"
        for judge, outputs in unpaired.items()
        if outputs
    ]
    return Analysed(
        tables, (*([left_out] if unordered else []), *lost, *_unreliable(rows, dataset))
    )


def _unreliable(rows: Sequence[dict[str, Any]], dataset: Dataset) -> Iterator[str]:
    """A line for each criterion: where people agree too little to stand for quality, and what to
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


def _rows(
    scored: ScoredOutputs, judge: str, repeats: Sequence[str], people: Sequence[str], pivot: str
) -> Iterator[dict[str, Any]]:
    """A row for each language in which the judge answered. repeats: the judge asked again."""
    panel = scored.scores(people)
    given = ~np.isnan(panel)
    people_mean = np.where(given, panel, 0.0).sum(axis=1) / np.where(
        given.any(axis=1), given.sum(axis=1), np.nan
    )
    if judge == PEOPLE:
        answers, people, panel = people_mean, (), panel[:, :0]
    else:
        answers = scored.scores([judge])[:, 0]
    original = scored.condition == ""
    judged = original & ~np.isnan(answers)
    rated = judged & (~np.isnan(panel)).any(axis=1)
    beside, why_beside = _beside_people(scored, answers, panel, rated)
    parallel, why_parallel = _parallel(scored, answers, judged)
    against = (
        np.nan_to_num(answers - np.nanmean(np.where(rated[:, None], panel, 0.0), axis=1))
        if len(people)
        else answers
    )
    parallel_people, _ = _parallel(scored, against, rated) if len(people) else (None, "")
    lean, by = (parallel, PARALLEL) if parallel else (beside.get("gap"), BESIDE)
    by = PARALLEL if judge == PEOPLE else by
    anchors = (
        _parallel(scored, people_mean, original & given.any(axis=1))[0] if len(people) else None
    )
    anchored = with_anchors(beside["gap"], anchors) if anchors and "gap" in beside else None
    if not parallel and anchored and np.isfinite(anchored.value).any():
        lean, by = anchored, ANCHORED
    at = answers[judged], scored.language[judged], scored.unit[judged], scored.content[judged]
    flip_p = holm(flip_p_values(*at, len(scored.languages), scored.languages.index(pivot)))
    adjusted = holm(lean.p) if lean else np.full(len(scored.languages), np.nan)
    flipped = flips(scored, answers, scored.scores(repeats), judged, pivot)
    sign = 1 if scored.criterion.direction == "higher" else -1
    top = scored.values.max() if scored.criterion.scale.levels else math.nan
    for place, language in enumerate(scored.languages):
        own = judged & (scored.language == place)
        if not own.any():
            continue
        figures: dict[str, tuple[Shifts | None, int]] = {
            "parallel": (parallel, place),
            "parallel_beside_people": (parallel_people, place),
            "anchored": (anchored, place),
            **{name: (beside.get(name), place) for name in FIGURES},
            "flips": (flipped[language][0], 0),
            "excess_flips": (flipped[language][1], 0),
        }
        undefined = {"parallel": why_parallel}
        if judge != PEOPLE:  # who are beside nobody, and are not asked again
            undefined |= {"gap": why_beside[place], "excess_flips": flipped[language][2]}
        verdict = says(lean, place, adjusted[place], scored.span, LEANS)
        yield {
            "language": language,
            "criterion": scored.criterion.name,
            "judge": judge,
            "says": verdict,
            "by": by,
            **_with_ends("lean", lean, place),
            "p_adjusted": adjusted[place],
            "flip_p": flip_p[place],
            "mean": sign * float(answers[own].mean()),
            "outputs": int(own.sum()),
            "contents": len(np.unique(scored.content[own])),
            **{
                key: value
                for name, (shifts, at) in figures.items()
                for key, value in _with_ends(name, shifts, at).items()
            },
            "top_share": float((answers[own] == top).mean()) if math.isfinite(top) else math.nan,
            "span": scored.span,
            "undefined": "; ".join(
                f"{name}: {why}"
                for name, why in undefined.items()
                if why and not _known(*figures[name])
            ),
        }


def _known(shifts: Shifts | None, place: int) -> bool:
    return shifts is not None and math.isfinite(shifts.value[place])


def _with_ends(name: str, shifts: Shifts | None, place: int) -> dict[str, float]:
    if shifts is None or not _known(shifts, place):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), math.nan)
    low, high = shifts.interval(place)
    return {name: float(shifts.value[place]), f"{name}_low": low, f"{name}_high": high}


def _beside_people(
    scored: ScoredOutputs, answers: Numbers, panel: Numbers, rated: Any
) -> tuple[dict[str, Shifts], dict[int, str]]:
    """What `shifts_beside_people` says, and for each language why it has no gap."""
    everywhere = range(len(scored.languages))
    if not rated.any():
        return {}, dict.fromkeys(everywhere, "no output was rated by people as well")
    items = RatedItems(
        answers[rated],
        panel[rated],
        scored.language[rated],
        scored.source[rated],
        len(scored.languages),
    )
    figures = shifts_beside_people(items)
    reliability, why = figures["reliability"].value, {}
    for place in everywhere:
        outputs = int((items.language == place).sum())
        why[place] = (
            f"{plural(outputs, 'output')} rated by people, {LEAST} needed"
            if outputs < LEAST
            else (
                f"people's reliability is {reliability[place]:.2f}, {LEAST_RELIABILITY:g} needed"
                if reliability[place] < LEAST_RELIABILITY
                else (
                    "one person an output, so that their noise is unknown"
                    if math.isnan(reliability[place])
                    else "no other language has a gap"
                )
            )
        )
    return figures, why


def _parallel(scored: ScoredOutputs, values: Numbers, use: Any) -> tuple[Shifts | None, str]:
    """Shifts on the same contents, or why there are none."""
    try:
        shifts = parallel_shifts(
            values[use],
            scored.language[use],
            scored.unit[use],
            scored.content[use],
            len(scored.languages),
        )
    except Undefined as error:
        return None, str(error)
    return shifts, "too few contents that another language has as well"
