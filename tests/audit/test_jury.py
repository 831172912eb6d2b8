"""Juries: several judges become one; worked by hand, on small worlds, and a jury of one to the
byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.data.ratings_files import read_facts
from metal.errors import UnknownName, UsageError
from metal.stats.jury import PENALTIES, alike, ridge, stacked
from tests.saying import tells

DEMO = Path("datasets/demo")
THREE = {"levels": {"*": "0=bad,1=medium,2=good"}}


def panel(
    answers: dict[str, list[int | None]], measure: str = "ordinal", **options: Any
) -> metal.Dataset:
    """Raters' answers to as many sources; those whose name begins with A are people."""
    rows = [
        {
            "source": f"s{place:03}",
            "rater": rater,
            "score": score,
            "reason": "" if score is not None else "refused",
        }
        for rater, scores in answers.items()
        for place, score in enumerate(scores)
    ]
    options = {**THREE, "measures": measure, "kinds": {"A*": "human", "J*": "llm"}, **options}
    return metal.read(pd.DataFrame(rows).assign(language="en"), **options)


def scores(jury: Any) -> list[float | None]:
    facts = jury.ratings.sort_values("output")
    return [None if np.isnan(score) else score for score in facts["score"]]


def test_a_jury_of_one_is_its_member_to_the_byte(tmp_path: Path) -> None:
    """Whatever the rule: facts, reasons and comments are the member's, and so is every figure of an
    audit.
    """
    member = "constructed:lenient"
    own = metal.read(DEMO).ratings
    own = own[own["rater"] == member].sort_values(["output", "criterion"])
    tables = {}
    for by in ("majority", "weights"):
        folder = metal.jury(DEMO, judges=member, by=by, name="one", resamples=100).save(
            tmp_path / by
        )
        given = read_facts(folder / "ratings.parquet").sort_values(["output", "criterion"])
        for fact in ("output", "criterion", "score", "reason", "comment"):
            assert (
                given[fact].astype(object).fillna(-1).tolist()
                == own[fact].astype(object).fillna(-1).tolist()
            )
        audit = metal.audit(
            DEMO,
            folder,
            judges=[member, "one"],
            criteria="task_quality",
            languages="en",
            resamples=100,
        )
        table = audit.tables["judges"].drop(columns="signature").set_index("judge")
        tables[by] = [table.loc[[name]].to_csv(index=False).encode() for name in (member, "one")]
    assert tables["majority"][0] == tables["majority"][1] == tables["weights"][1]


def test_by_hand(tmp_path: Path) -> None:
    data = panel(
        {
            "A1": [0] * 5,
            "J1": [0, 2, 0, 0, None],
            "J2": [0, 2, 2, 1, None],
            "J3": [1, 1, None, None, None],
        }
    )
    majority = metal.jury(data, resamples=100)
    # 0 and 2 have the mean 1, 0 and 1 none that is a level
    assert scores(majority) == [0, 2, 1, None, None]
    assert majority.ratings.sort_values("output")["reason"].tolist()[3:] == [
        "the jury is split",
        "no member answered",
    ]
    mean = metal.jury(data, by="mean", resamples=100)
    assert scores(mean) == [0, 2, 1, 0, None]  # of two levels as near, the worse
    lower = panel({"A1": [0], "J1": [0], "J2": [1]}, directions={"*": "lower"})
    assert scores(metal.jury(lower, by="mean", resamples=100)) == [1]


def test_costs_add_up_and_raters_know_their_members(tmp_path: Path) -> None:
    data = panel({"A1": [0, 1], "J1": [0, 1], "J2": [0, 2]})
    for name, price in (("J1", 0.5), ("J2", 2.0)):
        data.raters[name].about["dollars_per_thousand"] = price
    rater = metal.jury(data, resamples=100).raters["jury"]
    assert rater.about == {"members": ["J1", "J2"], "by": "majority", "dollars_per_thousand": 2.5}


def test_independent_judges_are_better_together_and_copies_are_not(tmp_path: Path) -> None:
    """Three right in .75 each are right together in .75^3 + 3 x .75^2 x .25 = .844, but three
    copies in .75.
    """
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 600)
    judge = [np.where(rng.random(600) < 0.75, truth, 1 - truth).tolist() for _ in range(3)]
    people: dict[str, Any] = {"A1": truth.tolist(), "A2": truth.tolist()}
    two: dict[str, Any] = {"measure": "nominal", "levels": {"*": "0=no,1=yes"}}
    apart = panel(people | {f"J{place}": answers for place, answers in enumerate(judge)}, **two)
    copies = panel(people | {f"J{place}": judge[0] for place in range(3)}, **two)
    [row] = metal.jury(apart, resamples=200).tables["jury"].to_dict("records")
    assert row["agreement"] == pytest.approx(0.844, abs=0.03)
    assert row["size"] == pytest.approx(3, abs=0.3)
    assert row["better"] == "yes"
    assert row["gain"] == pytest.approx(row["agreement"] - row["best_agreement"])
    [row] = metal.jury(copies, resamples=200).tables["jury"].to_dict("records")
    assert (row["size"], row["correlation"], row["gain"]) == pytest.approx((1, 1, 0))
    assert row["better"] == "unclear"
    # always wrong, and random: weights find out
    rare = [(1 - truth).tolist(), rng.integers(0, 2, 600).tolist()]
    odd = panel(people | {"J0": rare[0], "J1": rare[1], "J2": judge[0]}, **two)
    assert metal.jury(odd, by="weights", resamples=200).tables["jury"]["agreement"].iloc[0] == 1
    assert metal.jury(odd, resamples=200).tables["jury"]["agreement"].iloc[0] < 0.8


def test_weights_never_see_the_source_that_they_judge() -> None:
    """Whatever people say of a source, what is predicted for it stays; for others it does not."""
    rng = np.random.default_rng(2)
    features, sources = rng.normal(size=(90, 3)), np.repeat(np.arange(45), 2)
    target = features @ np.array([[1.0], [0.5], [0.0]]) + rng.normal(size=(90, 1))
    before, slopes = stacked(features, target, sources)
    assert slopes[:, 0] == pytest.approx([1, 0.5, 0], abs=0.35)
    changed = target.copy()
    changed[sources == 7] += 100
    after, _ = stacked(features, changed, sources)
    same = np.isclose(before, after)[:, 0]
    assert same[sources == 7].all()
    assert not same.all()
    few, _ = stacked(features[:10], target[:10], sources[:10])
    assert np.isnan(few).all()


def test_ridge_as_others_compute_it() -> None:
    """scikit-learn's, with the penalty that leaving one row out likes best."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(1)
    features, noise = rng.normal(size=(40, 4)) * [1, 5, 0.2, 1], rng.normal(size=(40, 2))
    target = features @ rng.normal(size=(4, 2)) + noise
    slope, intercept = ridge(features, target)
    fitted = RidgeCV(alphas=PENALTIES).fit(StandardScaler().fit_transform(features), target)
    assert intercept + features @ slope == pytest.approx(
        fitted.predict(StandardScaler().fit_transform(features))
    )


def test_how_alike_mistakes_are() -> None:
    assert np.isnan(alike(np.zeros((5, 3)))).all()
    assert np.isnan(alike(np.full((5, 3), np.nan))).all()  # nothing that all answered
    assert alike(np.array([[0.0, 1.0], [1.0, 0.0]] * 5)) == pytest.approx((-1, 2))


def test_scores_without_levels(tmp_path: Path) -> None:
    """The mean; by weights the mistakes of a scale that is read another way are undone."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(20, 80, 120)
    columns = {
        "A1": truth,
        "A2": truth,
        "J1": truth + rng.normal(0, 4, 120),
        "J2": truth / 2 + rng.normal(0, 2, 120),
    }
    options: dict[str, Any] = {"levels": None, "measure": "interval", "ranges": {"*": "0-100"}}
    data = panel(
        {name: values.clip(0, 100).round(1).tolist() for name, values in columns.items()}, **options
    )
    mean = metal.jury(data, by="mean", resamples=100)
    assert scores(mean)[0] == pytest.approx((columns["J1"][0] + columns["J2"][0]) / 2, abs=0.1)
    weights = metal.jury(data, by="weights", resamples=100)
    assert (
        weights.tables["jury"]["agreement"].iloc[0]
        > 0.95
        > mean.tables["jury"]["agreement"].iloc[0]
    )
    assert "J1" in weights.tables["jury"]["weights"].iloc[0]
    with pytest.raises(UsageError, match="scores and no classes"):
        metal.jury(data, by="dawid-skene", resamples=100)


def test_what_is_refused() -> None:
    data = panel({"A1": [0, 1], "J1": [0, 1], "J2": [0, 2]}, measure="nominal")
    with pytest.raises(UsageError, match="use majority or weights"):
        metal.jury(data, by="mean")
    with pytest.raises(UsageError, match="a rater has that name"):
        metal.jury(data, name="J1")
    with pytest.raises(UsageError, match="`by` 'vote': use one of"):
        metal.jury(data, by="vote")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="judge 'J9'"):
        metal.jury(data, judges="J9")
    few = metal.jury(data, by="weights", resamples=100)
    assert set(few.ratings["reason"].str.startswith("too few outputs")) == {True}
    assert len(few.tables["jury"]) == 1
    assert tells(few.tables["jury"]["undefined"], "agreement: no output")
