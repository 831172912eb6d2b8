"""Whether a judge gives outputs of its own model family higher scores than equally good outputs of
others.

The scores of people who rated outputs of both kinds measure quality, as between languages
(metal.stats.leniency). These people are equally severe to both kinds, so the remaining difference
is due to the judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell, judges_of
from metal.auditing.figures import columns, undefined_note
from metal.auditing.scored_outputs import says
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Estimate
from metal.data.text import first_few
from metal.raters.judges.models import family_of_generator, family_of_judge
from metal.stats.leniency import LEAST, LEAST_RELIABILITY, RatedItems, Shifts, shifts_beside_people
from metal.stats.patterns import Codes
from metal.stats.significance import holm

PREFERS, AGAINST = "prefers its own", "is against its own"


def own_output_rows(
    dataset: Dataset, settings: AuditSettings, audited: Sequence[AuditCell]
) -> Iterator[dict[str, Any]]:
    """A row for each judge, criterion and language in which people rated outputs of its own family
    and of others.

    preference: how much more the judge gives its own family than others if people find the quality
    equal (`gap` of metal.stats.leniency, between own and other instead of languages), reversed if
    needed so that above 0 is better. own: the generators of its family. above_people_own,
    above_people_others: the judge's mean minus people's. says: the conclusion, with Holm's
    correction over the judge's rows.
    """
    generators = {output.generator for output in dataset.outputs.values() if not output.is_pair}
    family_of = {name: family_of_generator(dataset, name) for name in generators}
    writers = [
        np.array([dataset.outputs[name].generator for name in cell.matrix.outputs])
        for cell in audited
    ]
    for judge in judges_of(dataset, settings):
        rater = dataset.raters[judge]
        family = family_of_judge(judge, rater.kind, rater.about)
        own = sorted(name for name in generators if family_of[name] == family)
        if not family or len(own) in (0, len(generators)):
            continue
        cells = [
            _cell(cell, judge, own, np.isin(by, own))
            for cell, by in zip(audited, writers, strict=True)
            if judge in cell.judges
        ]
        figures = list(filter(None, cells))
        adjusted = holm([float(shift.p[0]) for _, shift, _ in figures])
        for (row, shift, span), p in zip(figures, adjusted, strict=True):
            yield row | _preference(shift, float(p), span, str(row["undefined"]))


def _preference(shift: Shifts, p: float, span: float, why: str) -> dict[str, Any]:
    """The columns of a preference.

    why: the reason if there is no preference.
    """
    preferred = shift.bounds(0)
    preference = Estimate.undefined(why or "too few sources")
    if math.isfinite(preferred.low):
        preference = Estimate(*preferred)
    figure = {"preference": preference}
    word = says(shift, 0, p, span, PREFERS if preferred.value > 0 else AGAINST)
    row = {"says": word, **columns(figure), "p_adjusted": p, "span": span}
    return row | {"undefined": undefined_note(figure)}


def _cell(
    cell: AuditCell, judge: str, own: Sequence[str], by_own: Codes
) -> tuple[dict[str, Any], Shifts, float] | None:
    """The row of a judge with its preference, and the range of the scale; None if nobody rated
    outputs of its own family.
    """
    scale = cell.criterion.scale
    if scale.measure == "nominal" and not scale.ends:
        return None
    better = 1 if cell.criterion.direction == "higher" else -1
    people = cell.unaided(judge).people
    answers, panel = better * cell.scores([judge])[:, 0], better * cell.scores(people)
    rated = ~np.isnan(answers) & (~np.isnan(panel)).any(axis=1)
    if not (rated & by_own).any():
        return None
    group = by_own[rated].astype(np.int64)
    figures = shifts_beside_people(
        RatedItems(answers[rated], panel[rated], group, cell.matrix.sources[rated], 2)
    )
    gap, (others, its_own) = figures["gap"], figures["above_people"].value.tolist()
    row = {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": judge,
        "own": first_few(own),
        "own_outputs": int(group.sum()),
        "outputs": len(group),
        "above_people_own": its_own,
        "above_people_others": others,
        "undefined": _undefined(group, figures),
    }
    low, high = scale.ends or (cell.matrix.values.min(), cell.matrix.values.max())
    return row, Shifts(2 * gap.value[1:], 4 * gap.variance[1:], gap.df[1:]), high - low


def _undefined(group: Any, figures: dict[str, Shifts]) -> str:
    """The reason why there is no preference; empty if there is one."""
    for index, whose in ((1, "its own"), (0, "others'")):
        if (count := int((group == index).sum())) < LEAST:
            return f"people rated {count} outputs of {whose}; {LEAST} are needed"
        reliability = float(figures["reliability"].value[index])
        if not reliability >= LEAST_RELIABILITY:
            shown = "unknown" if math.isnan(reliability) else f"{reliability:.2f}"
            return f"people's reliability on {whose} is {shown}; {LEAST_RELIABILITY:g} is needed"
    return ""
