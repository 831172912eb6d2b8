"""When a judge may answer alone: how sure it is of each answer, and above which threshold its
answers are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells, repeats_of
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.progress import Progress, followed
from metal.data.ratings import CONFIDENCE, UNANSWERED, code_matrix
from metal.data.records import Criterion
from metal.errors import UsageError, check_known
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.calibration import calibration
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.selection import answers_at, fixed_sequence, needed
from metal.stats.significance import clustered_mean

NO_CONFIDENCE = "the judge gave no confidence"
LEAST = 20  # items with people's answer, for a calibration
THEN = " > "  # between the judges of a cascade
WAYS = ("rating", "repeats", "orders", "prompts", "languages", "jury")
CALIBRATION = (
    *(
        "language",
        "criterion",
        "judge",
        "confidence",
        "items",
        "sources",
        "agreement",
        "agreement_low",
    ),
    *(
        "agreement_high",
        "sure",
        "ece",
        "ece_low",
        "ece_high",
        "ece_width",
        "by_chance",
        "brier",
        "auroc",
    ),
    *("ece_mapped", "brier_mapped", "undefined"),
)
CURVE = ("language", "criterion", "judge", "bin", "items", "sure", "right", "mapped")
SELECTION = (
    *(
        "language",
        "criterion",
        "judge",
        "confidence",
        "says",
        "items",
        "decided",
        "agreement",
        "threshold",
        "kept",
    ),
    *(
        "coverage",
        "agreement_kept",
        "at_least",
        "by",
        "to_people",
        "cost",
        "cost_people",
        "undefined",
    ),
)
ALONE, PART, PEOPLE, UNKNOWN = "alone", "in part", "people only", "cannot be told"


@dataclass(frozen=True)
class SelectSettings:
    """The settings of a selection.

    alpha: the share of errors allowed among kept answers. delta: the chance that the threshold of
    any language allows more errors. ways: the sources of confidence; the first one that a judge has
    is used. cascade: judges in the order in which they are asked. costs: dollars per rating, by
    judge, and for `people`. orders: pairs that were shown in both orders.
    """

    alpha: float
    delta: float
    ways: Sequence[str]
    cascade: Sequence[str]
    costs: Mapping[str, float]
    orders: Collection[str]
    bootstrap: SourceBootstrap


@dataclass(frozen=True)
class Sure:
    """A judge's answers with its confidence.

    codes: (items,) classes, negative without an answer. confidence: (items,) 0 to 1, NaN without an
    answer or a confidence. way: where the confidence comes from; empty if there is none.
    """

    codes: Codes
    confidence: Numbers
    way: str


def selected(
    dataset: Dataset, settings: AuditSettings, chosen: SelectSettings, progress: Progress
) -> dict[str, pd.DataFrame]:
    """Compute the tables `selection`, `calibration` and `curve`.

    Raises UsageError if people and a judge rated nothing in common, or if people and all judges of
    the cascade did not; UnknownName for an unknown judge in the cascade.
    """
    others = [name for name, rater in dataset.raters.items() if rater.kind != "human"]
    check_known("judge", chosen.cascade, others)
    rows: dict[str, list[dict[str, Any]]] = {"selection": [], "calibration": [], "curve": []}
    judged = [cell for cell in cells(dataset, settings) if cell.people and cell.judges]
    delta = chosen.delta / max(len({cell.language for cell in judged}), 1)
    everywhere: dict[str, Everywhere] = {}
    for cell in followed(judged, progress):
        if cell.criterion.name not in everywhere:
            # cells come by criterion
            everywhere = {cell.criterion.name: Everywhere.of(dataset, cell.criterion)}
        answers = everywhere[cell.criterion.name]
        sure = {}
        for judge in _judges(dataset, cell):
            sure[judge] = confidence_of(dataset, cell, judge, chosen, answers)
            row, curve = _calibration_row(cell, judge, sure[judge], chosen.bootstrap)
            rows["calibration"].append(row)
            rows["curve"] += curve
            alone = {judge: sure[judge]}
            rows["selection"].append(_selection_row(cell, alone, chosen, delta, settings.seed))
        if len(chosen.cascade) > 1 and sure.keys() >= set(chosen.cascade):
            cascade = {judge: sure[judge] for judge in chosen.cascade}
            rows["selection"].append(_selection_row(cell, cascade, chosen, delta, settings.seed))
    _check_selected(rows["selection"], chosen.cascade)
    columns = {"selection": SELECTION, "calibration": CALIBRATION, "curve": CURVE}
    return {
        name: pd.DataFrame(records, columns=list(columns[name])) for name, records in rows.items()
    }


def _judges(dataset: Dataset, cell: AuditCell) -> Sequence[str]:
    """The LLM judges of the cell; if there are none, all raters that are compared with people."""
    llms = [judge for judge in cell.judges if dataset.raters[judge].kind == "llm"]
    return llms or cell.judges


def _check_selected(rows: Sequence[Mapping[str, Any]], cascade: Sequence[str]) -> None:
    """Raise UsageError if there is nothing to select, or nothing that the cascade can
    select from.
    """
    if cascade and THEN.join(cascade) not in [row["judge"] for row in rows]:
        raise UsageError(
            "`cascade`: no criterion has answers, in one language, by people and by"
            f" {', '.join(cascade)} (`judges`)"
        )
    if not rows:
        raise UsageError("no output with classes that people and a judge rated: nothing to select")


def confidence_of(
    dataset: Dataset, cell: AuditCell, judge: str, chosen: SelectSettings, answers: Everywhere
) -> Sure:
    """How sure the judge is of each answer in the cell, by the first available source of
    confidence.

    Unless it is stored with the ratings, the confidence is the share of answers that equal the
    judge's, which itself counts, if there is at least one other answer. The others come from the
    judge asked again, with other prompts or about the same output in other languages, or from the
    other judges except juries. For a pair that was shown in both orders the confidence is 1, or a
    half for a tie, which is also what two different answers make.
    """
    codes, raters = cell.by_judge(judge), dataset.raters
    others = [
        name for name, rater in raters.items() if rater.kind == raters[judge].kind and name != judge
    ]
    others = [name for name in others if not {"repeats", "members"} & raters[name].about.keys()]
    others = raters[judge].about.get("members", others)  # of a jury: those that it is made of
    model = raters[judge].about.get("model")
    prompts = [name for name in others if model and raters[name].about.get("model") == model]
    both = np.array([name in chosen.orders for name in cell.matrix.outputs]) & (codes >= 0)
    ways: dict[str, Callable[[], Numbers]] = {
        "rating": lambda: _stored(dataset, cell, judge),
        "repeats": lambda: _share(codes, answers.by(repeats_of(dataset, judge), cell)),
        "orders": lambda: np.where(
            both, np.where(codes == cell.criterion.scale.tie, 0.5, 1.0), np.nan
        ),
        "prompts": lambda: _share(codes, answers.by(prompts, cell)),
        "languages": lambda: _share(codes, answers.elsewhere(judge, cell)),
        "jury": lambda: _share(codes, answers.by(others, cell)),
    }
    for way in chosen.ways:
        confidence = ways[way]()
        if not np.isnan(confidence).all():
            return Sure(codes, confidence, way)
    return Sure(codes, np.full(len(codes), np.nan), "")


def _stored(dataset: Dataset, cell: AuditCell, judge: str) -> Numbers:
    """(items,) the confidence that is stored with each rating."""
    if CONFIDENCE not in dataset.ratings:
        return np.full(len(cell.matrix.outputs), np.nan)
    values = dataset.ratings[CONFIDENCE].to_numpy()[cell.rows]
    places = cell.matrix.places[:, cell.matrix.raters.index(judge)]
    return np.where(cell.by_judge(judge) >= 0, values[np.maximum(places, 0)], np.nan)


@dataclass(frozen=True)
class Everywhere:
    """All raters' answers on a criterion, in all languages.

    codes: (outputs, raters) classes, negative without an answer. places: the row of each output.
    content: (outputs,) codes that are equal for the same content by the same generator. languages:
    (outputs,) codes of languages.
    """

    codes: Codes
    raters: Mapping[str, int]
    places: pd.Index
    content: Codes
    languages: Codes

    @classmethod
    def of(cls, dataset: Dataset, criterion: Criterion) -> Self:
        """Collect every answer on the criterion from the dataset."""
        table = dataset.ratings
        matrix = code_matrix(table[(table["criterion"] == criterion.name).to_numpy()], criterion)
        outputs = [dataset.outputs[name] for name in matrix.outputs]
        rated = [
            (dataset.sources[output.source].content or output.source, output.generator)
            for output in outputs
        ]
        return cls(
            matrix.codes,
            {name: column for column, name in enumerate(matrix.raters)},
            pd.Index(matrix.outputs),
            pd.factorize(pd.Index(rated, tupleize_cols=False))[0],
            pd.factorize(np.array([output.language for output in outputs]))[0],
        )

    def by(self, raters: Sequence[str], cell: AuditCell) -> Codes:
        """(items, raters) the answers to the cell's outputs, for those `raters` that gave any."""
        columns = [self.raters[name] for name in raters if name in self.raters]
        return np.asarray(
            self.codes[self.places.get_indexer(pd.Index(cell.matrix.outputs))][:, columns]
        )

    def elsewhere(self, judge: str, cell: AuditCell) -> Codes:
        """(items, languages) the judge's answers on the same content by the same generator in other
        languages.
        """
        rows = self.places.get_indexer(pd.Index(cell.matrix.outputs))
        codes = self.codes[:, self.raters[judge]]
        answers = np.full((self.content.max() + 1, self.languages.max() + 1), UNANSWERED)
        answers[self.content[codes >= 0], self.languages[codes >= 0]] = codes[codes >= 0]
        return np.delete(answers[self.content[rows]], self.languages[rows[:1]], axis=1)


def _share(codes: Codes, others: Codes) -> Numbers:
    """(items,) the share of raters, including the judge, that gave the judge's answer; NaN without
    another rater.
    """
    number = (others >= 0).sum(axis=1)
    alike = ((others == codes[:, None]) & (others >= 0)).sum(axis=1)
    return np.where((codes >= 0) & (number > 0), (1 + alike) / (1 + number), np.nan)


def _calibration_row(
    cell: AuditCell, judge: str, sure: Sure, bootstrap: SourceBootstrap
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    cell = cell.unaided(judge)
    items = np.flatnonzero((cell.truth >= 0) & ~np.isnan(sure.confidence))
    head = {"language": cell.language, "criterion": cell.criterion.name, "judge": judge}
    row: dict[str, Any] = dict.fromkeys(CALIBRATION, math.nan) | {
        **head,
        "confidence": sure.way,
        "items": len(items),
        "sources": len(np.unique(cell.matrix.sources[items])),
        "undefined": "",
    }
    if len(items) < LEAST:
        few = f"people rated {len(items)} answers with a confidence; {LEAST} are needed"
        few = few if sure.way else NO_CONFIDENCE
        return row | {"undefined": f"ece: {few}"}, []
    confidence, sources = sure.confidence[items], cell.matrix.sources[items]
    right = (sure.codes == cell.truth)[items].astype(np.float64)
    fit = calibration(confidence, right, sources, bootstrap)
    agreement = clustered_mean(right, sources, bootstrap)
    if not np.isnan(fit.mapped).any():
        again = calibration(fit.mapped, right, sources, bootstrap)
        row |= {"ece_mapped": again.ece, "brier_mapped": again.brier}
    if not math.isfinite(fit.auroc):
        row["undefined"] = "auroc: all answers are right, or all wrong"
    row |= {
        **agreement.mean.columns("agreement"),
        **{name: getattr(fit, name) for name in CALIBRATION if hasattr(fit, name)},
        "sure": float(confidence.mean()),
    }
    figures = ("items", "sure", "right", "mapped")
    return row, [
        head | {"bin": bin_number, **dict(zip(figures, values, strict=True))}
        for bin_number, values in enumerate(fit.bins.tolist(), 1)
    ]


def _selection_row(
    cell: AuditCell, line: Mapping[str, Sure], chosen: SelectSettings, delta: float, seed: int
) -> dict[str, Any]:
    """The row of a judge, or of judges asked one after another, with the threshold.

    Of several judges, the first one whose confidence reaches the threshold answers.
    """
    cell = cell.unaided(*line)
    confidence = np.column_stack([sure.confidence for sure in line.values()])
    codes = np.column_stack([sure.codes for sure in line.values()])
    rated = np.flatnonzero((cell.truth >= 0) & (codes >= -1).all(axis=1))
    wrong = (codes != cell.truth[:, None]).astype(np.float64)
    decided = rated[_a_source_once(cell.matrix.sources[rated], seed)]
    threshold = fixed_sequence(confidence[decided], wrong[decided], chosen.alpha, delta)
    answered = (codes[rated, 0] >= 0) if len(rated) else np.zeros(0, dtype=bool)
    row: dict[str, Any] = dict.fromkeys(SELECTION, math.nan) | {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": THEN.join(line),
        "confidence": ", ".join(dict.fromkeys(sure.way for sure in line.values() if sure.way)),
        "items": len(rated),
        "decided": len(decided),
        "agreement": float(1 - wrong[rated, 0][answered].mean()) if answered.any() else math.nan,
        "by": "",
        "undefined": "",
    }
    if not any(sure.way for sure in line.values()):
        return row | {"says": UNKNOWN, "undefined": f"threshold: {NO_CONFIDENCE}"}
    can = int((~np.isnan(confidence[decided])).any(axis=1).sum())
    if can < needed(chosen.alpha, delta):
        reason = (
            f"{can} sources have an answer with a confidence; {needed(chosen.alpha, delta)} are"
            " needed"
        )
        return row | {"says": UNKNOWN, "undefined": f"threshold: {reason}"}
    value = threshold.value if math.isfinite(threshold.value) else math.inf
    who = answers_at(confidence[rated], value)
    kept = who >= 0
    share = float(kept.mean())
    prices = [chosen.costs.get(name, math.nan) for name in (*line, "people")]
    answered_by = np.bincount(who[kept], minlength=len(line))
    asked = len(rated) - np.array([0, *np.cumsum(answered_by)[:-1]])
    paid = asked @ np.array(prices[:-1]) + (~kept).sum() * prices[-1]
    row |= {
        "says": PART,
        "threshold": threshold.value,
        "kept": int(kept.sum()),
        "coverage": share,
        "at_least": 1 - threshold.limit,
        "by": ", ".join(f"{name} {(who == rank).mean():.0%}" for rank, name in enumerate(line)),
        "to_people": 1 - share,
        "cost": float(ratio(paid, len(rated))) * 1000,
        "cost_people": 1000 * prices[-1],
    }
    if not kept.any():
        reason = f"none keeps errors below {chosen.alpha:g} for sure"
        return row | {"says": PEOPLE, "undefined": f"threshold: {reason}"}
    if kept.all():
        row["says"] = ALONE
    return row | {"agreement_kept": float((1 - wrong[rated[kept], who[kept]]).mean())}


def _a_source_once(sources: Codes, seed: int) -> Codes:
    """The positions of one randomly drawn item per source, because the test requires independent
    items.
    """
    order = np.random.default_rng([seed, len(sources)]).permutation(len(sources))
    return np.sort(order[np.unique(sources[order], return_index=True)[1]])


def doubts(tables: Mapping[str, pd.DataFrame], alpha: float) -> Iterator[str]:
    """Notes on doubts about the selection."""
    rows = tables["selection"]
    if len(off := rows[rows["agreement_kept"] < 1 - alpha]):
        yield (
            f"in {len(off)} cases agreement over all outputs above the threshold is lower than over"
            " the one output per source from which the threshold was computed: outputs of a source"
            " differ, and the guarantee is for a random one"
        )
    if len(rows["judge"].unique()) > 1:
        yield (
            "the guarantee holds for each judge by itself: if you pick the best of several "
            "judges, part of its figure is luck"
        )
