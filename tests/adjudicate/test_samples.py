"""Outputs on which all people differ, and those that two raters score most differently."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.errors import UnknownName, UsageError
from metal.questions.adjudicate.answer import headline
from tests.cli.test_adjudicate import tasks_of
from tests.saying import tells


def read_form(folder: Path) -> dict[str, Any]:
    [page] = folder.glob("*.html")
    return tasks_of(page)


def answer(
    folder: Path, own: dict[str, str], rater: str = "", labels: tuple[str, ...] = ("Bad", "Good")
) -> Path:
    """own: text -> label; outputs without one are left open."""
    data = read_form(folder)
    question, *_ = data["criteria"]
    values = dict(zip((*labels, "Cannot"), question["values"], strict=True))
    answers = [
        {"task": task["task"], "scores": {question["name"]: values[own[task["output"]]]}}
        for task in data["tasks"]
        if task["output"] in own
    ]
    saved = {"metal": "answers", "version": 1, "dataset": "d", "answers": answers}
    file = folder.parent / f"{rater or data['rater']}.json"
    file.write_text(json.dumps(saved | {"rater": rater or data["rater"]}))
    return file


@pytest.fixture
def three_people(tmp_path: Path) -> Path:
    """Of six outputs, all people differ on three, a to c; on f only two answered."""
    answers = {
        "a": ("Bad", "Medium", "Good", "Good"),
        "b": ("Good", "Bad", "Medium", "Good"),
        "c": ("Medium", "Good", "Bad", "Bad"),
        "d": ("Bad", "Bad", "Good", "Good"),
        "e": ("Good", "Good", "Good", "Good"),
        "f": ("Good", "", "Medium", "Bad"),
    }
    names = ["p1", "p2", "p3", "gpt-4"]
    table = pd.DataFrame.from_dict(answers, orient="index", columns=names)
    table.rename_axis("text").to_csv(tmp_path / "table.csv")
    return tmp_path / "table.csv"


DEMO = Path("datasets/demo")
READ: dict[str, Any] = {"levels": "Bad<Medium<Good", "criterion": "quality"}


def test_ambiguous_outputs_say_who_was_right(three_people: Path, tmp_path: Path) -> None:
    plan = metal.adjudicate_plan(three_people, ambiguous=True, out=tmp_path / "plan", **READ)
    [case] = plan.cases
    assert (case.disputed, case.drawn, case.outputs) == (4, 4, 6)
    assert math.isnan(case.power)
    form = read_form(plan.folder)
    assert {task["output"] for task in form["tasks"]} == {"a", "b", "c", "f"}
    own = {"a": "Good", "b": "Good", "c": "Bad", "f": "Good"}
    decided = answer(plan.folder, own, labels=("Bad", "Medium", "Good"))
    run = metal.adjudicate_report(plan.folder, decided)
    right = run.tables["right"].set_index("rater")
    assert right["right"].round(3).to_dict() == {"p1": 0.5, "p2": 0.0, "p3": 0.5, "gpt-4": 0.75}
    assert right["decided"].to_dict() == {"p1": 4, "p2": 3, "p3": 4, "gpt-4": 4}
    assert ((right["right_low"] <= right["right"]) & (right["right"] <= right["right_high"])).all()
    assert run.tables["adjudicated"].empty
    assert tells(headline(run), "0% to 50%", "gpt-4 in 75%")


def test_ambiguous_outputs_need_no_judge(three_people: Path, tmp_path: Path) -> None:
    table = pd.read_csv(three_people).drop(columns="gpt-4")
    table.to_csv(three_people, index=False)
    plan = metal.adjudicate_plan(three_people, ambiguous=True, out=tmp_path / "plan", **READ)
    assert plan.cases[0].drawn == 4
    agreed = table[table["text"] == "e"]
    agreed.to_csv(tmp_path / "agreed.csv", index=False)
    with pytest.raises(UsageError, match=r"nowhere.*people differ"):
        metal.adjudicate_plan(tmp_path / "agreed.csv", ambiguous=True, **READ)


@pytest.fixture
def two_metrics(tmp_path: Path) -> Path:
    """Metrics that rank ten outputs the other way round, but for two in the middle."""
    rows = [
        {"text": f"t{place}", "rater": rater, "score": score}
        for place in range(10)
        for rater, score in (("up", place / 10), ("down", 100 - 3 * place))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


METRICS: dict[str, Any] = {"kinds": {"up": "metric", "down": "metric"}}


def test_between_draws_from_both_ends_and_shows_no_score(two_metrics: Path, tmp_path: Path) -> None:
    plan = metal.adjudicate_plan(
        two_metrics, between=["up", "down"], items=6, out=tmp_path / "plan", **METRICS
    )
    form = read_form(plan.folder)
    assert {task["output"] for task in form["tasks"]} == {"t0", "t1", "t2", "t7", "t8", "t9"}
    assert not any(task.get("reference") for task in form["tasks"])
    assert [len(question["values"]) for question in form["criteria"]] == [3]
    own = {"t7": "Good", "t8": "Good", "t9": "Bad", "t0": "Bad", "t1": "Bad", "t2": "Bad"}
    run = metal.adjudicate_report(plan.folder, answer(plan.folder, own))
    [row] = run.tables["sides"].to_dict("records")
    assert (row["first_higher"], row["first_good"]) == (3, 2)
    assert (row["second_higher"], row["second_good"]) == (3, 0)
    assert row["sides"] == pytest.approx(5 / 6)
    assert tells(headline(run), "up", "down", "5 of the 6 outputs")
    other = {**own, "t9": "Good"}
    two = metal.adjudicate_report(plan.folder, answer(plan.folder, other, "ben"))
    assert two.tables["sides"]["sides"].item() == pytest.approx(5.5 / 6)
    assert two.tables["sides"]["first_good"].item() == 2.5
    assert two.tables["adjudicators"]["differ"].item() == 1


def test_between_compares_groups_of_people(tmp_path: Path) -> None:
    """Billboard 2.5: experts and crowd workers, each the mean of their people."""
    rows = [
        {"text": f"t{place}", "rater": rater, "group": group, "score": score}
        for place in range(8)
        for rater, group, score in (
            ("e1", "experts", 1 + place % 5),
            ("e2", "experts", 1 + (place + 1) % 5),
            ("w1", "crowd", 5 - place % 5),
        )
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "table.csv", index=False)
    options: dict[str, Any] = {"between": ["experts", "crowd"], "items": 4}
    plan = metal.adjudicate_plan(tmp_path / "table.csv", out=tmp_path / "plan", **options)
    assert [case.drawn for case in plan.cases] == [4]
    with pytest.raises(UsageError, match="e1 is one of those"):
        metal.adjudicate_plan(tmp_path / "table.csv", adjudicators=["e1"], **options)
    with pytest.raises(UsageError, match="e2 is in both"):
        metal.adjudicate_plan(tmp_path / "table.csv", between=["experts", "e2"])


def test_between_draws_nothing_that_both_label_alike(three_people: Path, tmp_path: Path) -> None:
    """On levels a higher rank is no difference: p1 and p2 differ on three of five outputs."""
    plan = metal.adjudicate_plan(three_people, between=["p1", "p2"], out=tmp_path / "p", **READ)
    assert {task["output"] for task in read_form(plan.folder)["tasks"]} == {"a", "b", "c"}
    assert tells(plan.notes, "p1 scores 1 higher", "p2 scores 2 higher")


def test_between_asks_about_a_criterion_of_metal_without_its_levels(tmp_path: Path) -> None:
    """task_quality has a rubric on three levels; a blind form asks for good or bad."""
    plan = metal.adjudicate_plan(
        DEMO,
        between=["constructed:good", "constructed:lenient"],
        criteria=["task_quality"],
        languages=["en"],
        items=6,
        out=tmp_path / "plan",
    )
    [question] = read_form(plan.folder)["criteria"]
    assert len(question["values"]) == 3
    [page] = plan.folder.glob("*.html")
    assert tells(page.read_text(encoding="utf-8"), "key points of its source", "Cannot be decided")
    assert "Medium" not in page.read_text(encoding="utf-8").partition('id="data"')[0]


def test_a_plan_for_more_may_say_again_what_was_chosen(three_people: Path, tmp_path: Path) -> None:
    """As the next step does, which names the same people."""
    chosen: dict[str, Any] = {"reference": "rater=p1,p2", **READ}
    first = metal.adjudicate_plan(three_people, items=4, out=tmp_path / "plan", **chosen)
    more = metal.adjudicate_plan(
        three_people, items=5, more_of=first.folder, out=tmp_path / "more", **chosen
    )
    assert more.cases[0].drawn >= first.cases[0].drawn
    with pytest.raises(UsageError, match="takes `reference`"):
        metal.adjudicate_plan(
            three_people, more_of=first.folder, reference="rater=p1,p3", out=tmp_path / "no", **READ
        )


def test_two_raters_are_compared_and_no_other_number(two_metrics: Path) -> None:
    for between in (["up"], ["up", "down", "left"]):
        with pytest.raises(UsageError, match="two different raters"):
            metal.adjudicate_plan(two_metrics, between=between, **METRICS)
    with pytest.raises(UsageError, match="different outputs"):
        metal.adjudicate_plan(two_metrics, between=["up", "down"], ambiguous=True, **METRICS)
    with pytest.raises(UnknownName, match="left"):
        metal.adjudicate_plan(two_metrics, between=["up", "left"], **METRICS)
