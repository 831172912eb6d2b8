"""An audit whose truth is a model of the people: Dawid-Skene, MACE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from metal.auditing.audit import audit
from metal.auditing.cells import cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.errors import UsageError
from metal.stats.aggregate import NOBODY
from metal.stats.answers import answers_of_matrix
from metal.stats.dawid_skene import dawid_skene
from tests.audit.test_audit import QUICK, row, world

MakeDataset = Callable[..., Dataset]
DAWID_SKENE = replace(QUICK, aggregate="dawid-skene")


def spammed(items: int = 300, seed: int = 0) -> dict[str, list[int | None]]:
    """Two people know, three guess; the judge knows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)

    def noisy(share: float) -> list[int | None]:
        return np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)).tolist()

    return {f"A{place}": noisy(share) for place, share in enumerate((0.95, 0.9, 0.0, 0.0, 0.0))} | {
        "judge": noisy(0.95)
    }


@pytest.mark.parametrize("rule", ["dawid-skene", "mace"])
def test_people_are_weighed(make_dataset: MakeDataset, rule: str) -> None:
    dataset = make_dataset({"hi": spammed()})
    voted = row(audit(dataset, replace(QUICK, aggregate="majority")), "judges")
    result = audit(dataset, replace(QUICK, aggregate=rule))
    weighed = row(result, "judges")
    assert weighed["weighted_f1"] > voted["weighted_f1"] + 0.05
    assert weighed["asked"] > voted["asked"]  # no ties: somebody is always believed more
    assert f"|agg:{rule}|" in result.signature
    assert all(f"|agg:{rule}|" in signature for signature in result.tables["people"]["signature"])
    assert result.settings.to_dict()["aggregate"] == rule


def test_what_does_not_look_at_the_aggregate_stays(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": world(150)})
    first, second = (row(audit(dataset, settings), "people") for settings in (QUICK, DAWID_SKENE))
    for name in ("fleiss_kappa", "pairwise_f1", "leave_one_out_f1", "percent_agreement", "gwet_ac1", "alpha"):
        assert first[name] == second[name]
    assert first["against_all_f1"] != second["against_all_f1"]


def test_against_all_uses_the_model(make_dataset: MakeDataset) -> None:
    people = {name: scores for name, scores in spammed().items() if name != "judge"}
    result = row(audit(make_dataset({"hi": people}), DAWID_SKENE), "people")
    assert result["against_all_f1_low"] <= result["against_all_f1"] <= result["against_all_f1_high"]
    labels = dawid_skene(answers_of_matrix(np.array(list(people.values())).T, 3)).labels
    alike = np.mean([(np.array(scores) == labels).mean() for scores in people.values()])
    assert result["against_all_f1"] == pytest.approx(alike, abs=0.05)


def test_incomplete_items_tell_of_the_raters_and_have_no_label(make_dataset: MakeDataset) -> None:
    people = world(90)
    people["A2"][:20] = people["A3"][:20] = [None] * 20
    cell = next(cells(make_dataset({"hi": people}), DAWID_SKENE))
    assert (cell.truth[np.flatnonzero(~cell.complete)] == NOBODY).all()
    fit = dawid_skene(answers_of_matrix(cell.by_people, 3))
    assert (cell.truth == np.where(cell.complete, fit.labels, NOBODY)).all()
    assert fit.given.tolist() == [90, 70, 70]


def test_a_model_that_overrules_the_people_is_said(make_dataset: MakeDataset) -> None:
    turned = spammed(seed=1)  # the majority is often one of guessers, and overruled
    result = audit(make_dataset({"hi": turned}), DAWID_SKENE)
    warnings = [warning for warning in result.warnings if warning.startswith('`aggregate="dawid-skene"`')]
    assert len(warnings) == 1
    assert "hi task_quality" in warnings[0]
    for scores, settings in ((world(100), DAWID_SKENE), (turned, QUICK)):
        assert not any("aggregate" in warning for warning in audit(make_dataset({"hi": scores}), settings).warnings)


def test_an_unknown_rule_is_answered_with_all() -> None:
    with pytest.raises(UsageError, match="majority-or-mean, majority-or-middle, majority, dawid-skene, mace"):
        AuditSettings(aggregate="vote")
