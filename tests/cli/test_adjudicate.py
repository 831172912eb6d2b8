"""From a table on which agreement misleads to a verdict: plan, form, report; bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal as metal_api
from metal.questions.adjudicate.verdicts import BETTER, LESS
from tests.adjudicate import worlds
from tests.browser import Visit, browser  # noqa: F401
from tests.cli.forks import Metal
from tests.saying import tells

LABELS = np.array(["Good", "Medium", "Bad"])
LEVELS = ("--levels", "Bad<Medium<Good", "--criterion", "quality")
JUDGES = {"gpt-careful": 0.85, "gpt-hasty": 0.65}


def write_table(folder: Path, items: int = 300, seed: int = 4) -> dict[str, str]:
    """ratings.csv: three people right in .85 and two judges; the right answer by text."""
    rng = np.random.default_rng(seed)
    truth, given = worlds.answers(rng, items, worlds.HARD[0.32], [0.85] * 3 + [*JUDGES.values()])
    texts = [f"Text {number}." for number in range(items)]
    raters = ["person 1", "person 2", "person 3", *JUDGES]
    table = pd.DataFrame(LABELS[given], columns=raters)
    table.insert(0, "text", texts)
    table.to_csv(folder / "ratings.csv", index=False)
    return dict(zip(texts, LABELS[truth].tolist(), strict=True))


def tasks_of(page: Path) -> dict[str, Any]:
    """What a form asks."""
    [data] = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    form: dict[str, Any] = json.loads(data)
    return form


def decide(page: Path, truth: dict[str, str], file: Path, rater: str = "", **changed: str) -> Path:
    """The answers file of somebody who knows. changed: task -> another answer."""
    data = tasks_of(page)
    own, also = data["criteria"]
    value = dict(zip(("Bad", "Medium", "Good", "Cannot"), own["values"], strict=True))
    answers = [
        {
            "task": task["task"],
            "scores": {
                own["name"]: value[changed.get(task["task"], truth[task["output"]])],
                also["name"]: "",
            },
        }
        for task in data["tasks"]
    ]
    saved = {"metal": "answers", "version": 1, "dataset": data["dataset"]}
    saved |= {"rater": rater or data["rater"], "answers": answers}
    file.write_text(json.dumps(saved), encoding="utf-8")
    return file


def planned(metal: Metal, folder: Path, *options: str) -> Path:
    metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--out", "plan", *options)
    [page] = (folder / "plan").glob("*.html")
    return page


def verdicts(done: str) -> dict[str, str]:
    return {row["judge"]: row["verdict"] for row in json.loads(done)["adjudicated"]}


def test_a_report_is_written_from_any_folder(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    page = planned(metal, tmp_path, "--adjudicators", "dora")
    answers = decide(page, truth, tmp_path / "dora.json")
    says = verdicts(metal("adjudicate", "report", "plan", answers, "--json").out)
    (tmp_path / "below").mkdir()
    below = metal.at(tmp_path / "below", metal.env)
    there = below("adjudicate", "report", "../plan", answers, "--json")
    assert verdicts(there.out) == says


@pytest.mark.slow
def test_the_whole_story(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    audited = metal("audit", "ratings.csv", *LEVELS)
    assert tells(audited.out, "metal adjudicate plan", "ratings.csv")
    page = planned(metal, tmp_path, "--adjudicators", "dora")
    assert len(tasks_of(page)["tasks"]) == 40
    answers = decide(page, truth, tmp_path / "dora.json")
    says = verdicts(metal("adjudicate", "report", "plan", answers, "--json").out)
    assert says["gpt-hasty"] == LESS
    assert says["gpt-careful"] != LESS
    both = metal("audit", "ratings.csv", *LEVELS, "runs/plan-report", "--out", "both").out
    assert tells(both, "Decided", "who knows", "gpt-hasty", LESS, "by 1 expert")
    # her answers are in the plan, and people's ratings as they were
    assert metal_api.audit(tmp_path / "ratings.csv", levels="Bad<Medium<Good").people is not None
    assert "dora" not in (tmp_path / "both" / "raters.jsonl").read_text()
    assert "metal adjudicate plan" not in both  # which is done


@pytest.mark.slow
def test_a_form_is_filled_in_by_keys_in_a_browser(
    metal: Metal,
    tmp_path: Path,
    browser: Any,  # noqa: F811
) -> None:
    truth = write_table(tmp_path, 60)
    page = planned(metal, tmp_path, "--items", "8")
    seen = Visit(browser, page, "#task-1")
    shown = seen.page.inner_text("#reference-body")
    assert re.search(r"given (once|\d times)", shown)
    assert not any(name in seen.page.content() for name in (*JUDGES, "person 1"))
    keys = {"Bad": "0", "Medium": "1", "Good": "2"}
    for number, _ in enumerate(tasks_of(page)["tasks"], start=1):
        seen.page.locator("#task-heading", has_text=f"Task {number} of").wait_for()
        seen.page.keyboard.press(keys[truth[seen.page.inner_text("#output-body")]])
        seen.page.keyboard.press("n")
    seen.page.goto(f"{page.as_uri()}#tasks")
    seen.page.get_by_text("8 of 8 rated").wait_for()
    with seen.page.expect_download() as download:
        seen.page.click("#download")
    download.value.save_as(tmp_path / "back.answers.json")
    assert seen.said == []
    seen.page.context.close()
    row = json.loads(metal("adjudicate", "report", "plan", "back.answers.json", "--json").out)
    assert {each["drawn"] - each["decided"] for each in row["adjudicated"]} == {0}


def test_what_cannot_be_decided_is_counted_and_two_adjudicators_are_compared(
    metal: Metal, tmp_path: Path
) -> None:
    truth = write_table(tmp_path)
    metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--out", "plan", "--adjudicators", "a,b")
    pages = sorted((tmp_path / "plan").glob("*.html"))
    first = tasks_of(pages[0])["tasks"][0]["task"]
    files = [
        decide(pages[0], truth, tmp_path / "a.json", **{first: "Cannot"}),
        decide(pages[1], truth, tmp_path / "b.json"),
    ]
    made = json.loads(metal("adjudicate", "report", "plan", *files, "--json").out)
    assert [(row["both"], row["differ"]) for row in made["adjudicators"]] == [(40, 1)]
    assert {row["adjudicators"] for row in made["adjudicated"]} == {2}
    alone = metal_api.adjudicate_plan(
        tmp_path / "ratings.csv", levels="Bad<Medium<Good", out=tmp_path / "alone"
    )
    [page] = alone.folder.glob("*.html")
    all_open = dict.fromkeys((task["task"] for task in tasks_of(page)["tasks"]), "Cannot")
    back = decide(page, truth, tmp_path / "c.json", **all_open)
    table = metal_api.adjudicate_report(alone.folder, back).tables["adjudicated"]
    assert (table["undecidable"] == table["drawn"]).all()
    assert table["difference"].isna().all()


@pytest.mark.slow
def test_a_plan_for_more_keeps_what_was_decided(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    first = planned(metal, tmp_path, "--items", "10", "--adjudicators", "dora")
    report = metal("adjudicate", "report", "plan", decide(first, truth, tmp_path / "dora.json"))
    assert tells(report.out, "--more-of plan")
    more = ("adjudicate", "plan", "ratings.csv", *LEVELS, "--more-of", "plan", "--out", "more")
    last = metal(*more, "--judges", "gpt-hasty", expect=2).err.splitlines()[-1]
    assert tells(last, "--more-of", "--judges")
    last = metal(*more, "--items", "10", expect=2).err.splitlines()[-1]
    assert tells(last, "10", "--items")
    assert not (tmp_path / "more").exists()
    metal(*more, "--items", "40", "--adjudicators", "dora")
    [second] = (tmp_path / "more").glob("*.html")
    asked = [{task["task"] for task in tasks_of(page)["tasks"]} for page in (first, second)]
    assert (len(asked[0]), len(asked[1])) == (10, 30)
    assert not asked[0] & asked[1]
    back = decide(second, truth, tmp_path / "more.json")
    metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--out", "once")
    [form] = (tmp_path / "once").glob("*.html")
    at_once = decide(form, truth, tmp_path / "once.json", "dora")
    data = tmp_path / "ratings.csv"
    in_two = metal_api.adjudicate_report(tmp_path / "more", back, data=data)
    in_one = metal_api.adjudicate_report(tmp_path / "once", at_once, data=data)
    pd.testing.assert_frame_equal(in_two.tables["adjudicated"], in_one.tables["adjudicated"])


def as_is(table: pd.DataFrame) -> pd.DataFrame:
    return table


def with_other_texts(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(text=table["text"] + "!")


def with_another_label(table: pd.DataFrame) -> pd.DataFrame:
    """A judge joins that sometimes says Awful, which moves the values of all levels."""
    awful = np.where(np.arange(len(table)) % 50 == 0, "Awful", table["gpt-hasty"])
    return table.assign(**{"gpt-new": awful})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "levels", "kept"),
    [
        (as_is, "Bad<Medium<Good", 10),
        (with_other_texts, "Bad<Medium<Good", 0),
        (with_another_label, "Awful<Bad<Medium<Good", 10),
    ],
)
def test_an_earlier_answer_counts_for_the_text_and_the_label_that_it_had(
    metal: Metal, tmp_path: Path, changed: Any, levels: str, kept: int
) -> None:
    truth = write_table(tmp_path)
    table = pd.read_csv(tmp_path / "ratings.csv")
    table.insert(0, "id", [f"item {number}" for number in range(len(table))])
    table.to_csv(tmp_path / "ratings.csv", index=False)
    page = planned(metal, tmp_path, "--items", "10")
    metal("adjudicate", "report", "plan", decide(page, truth, tmp_path / "a.json"))
    labels = dict(enumerate(levels.split("<")))
    table = changed(table)
    table.to_csv(tmp_path / "ratings.csv", index=False)
    asked = ("adjudicate", "plan", "ratings.csv", "--levels", levels, *LEVELS[2:])
    done = metal(*asked, "--more-of", "plan", "--items", "400", "--out", "more")
    answers = (tmp_path / "more" / "answers.jsonl").read_text() if kept else ""
    drawn = {
        each["task"]: each["output"]
        for each in map(json.loads, (tmp_path / "more/drawn.jsonl").read_text().splitlines())
    }
    text_of = dict(zip(table["id"], table["text"], strict=True))
    counted = [json.loads(line) for line in answers.splitlines()]
    assert len(counted) == kept
    for each in counted:
        assert labels[int(each["answer"])] == truth[text_of[drawn[each["task"]]]]
    assert tells(done.out, "10 earlier answers left out") == (kept == 0)


def test_names_of_criteria_and_people_are_safe_names_of_files(metal: Metal, tmp_path: Path) -> None:
    write_table(tmp_path)
    asked = ("--levels", "Bad<Medium<Good", "--criterion", "a/b", "--adjudicators", "x/y,X/Y")
    metal("adjudicate", "plan", "ratings.csv", *asked, "--out", "plan")
    assert len(list((tmp_path / "plan").glob("*.html"))) == 2
    assert not [path for path in tmp_path.rglob("*.html") if path.parent.name != "plan"]


@pytest.mark.slow
def test_bad_input_is_refused_in_one_line(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    page = planned(metal, tmp_path, "--adjudicators", "dora")
    report = ("adjudicate", "report", "plan")
    asked = ("adjudicate", "plan", "ratings.csv", *LEVELS)
    last = metal(*asked, "--adjudicators", "person 1", expect=2).err.splitlines()[-1]
    assert tells(last, "person 1", "--adjudicators")
    last = metal(*asked, "--adjudicators", "gpt-hasty", expect=2).err.splitlines()[-1]
    assert tells(last, "gpt-hasty", "--adjudicators")
    last = metal(*asked, "--adjudicators", "Person 1", expect=2).err.splitlines()[-1]
    assert tells(last, "Person 1", "--adjudicators")
    last = metal(*asked, "--bad", "Medium", expect=2).err.splitlines()[-1]
    assert tells(last, "--bad", "'Medium'", "ordered")
    last = metal("audit", "ratings.csv", *LEVELS, "plan", expect=2).err.splitlines()[-1]
    assert tells(last, "plan", "metal adjudicate report plan")
    panel = decide(page, truth, tmp_path / "panel.json", "person 1")
    assert tells(metal.refused(*report, panel), "panel.json", "person 1")
    panel = decide(page, truth, tmp_path / "panel.json", "Person 1 ")
    assert tells(metal.refused(*report, panel), "panel.json", "Person 1")
    other = json.loads(panel.read_text()) | {"rater": "dora"}
    other["answers"][0]["task"] = "t000000000000"
    (tmp_path / "other.json").write_text(json.dumps(other))
    assert tells(metal.refused(*report, "other.json"), "other.json", "t000000000000", "not drawn")
    assert not (tmp_path / "plan" / "answers.jsonl").exists()
    metal(*report, decide(page, truth, tmp_path / "dora.json"))
    first = tasks_of(page)["tasks"][0]["task"]
    again = decide(page, truth, tmp_path / "again.json", **{first: "Cannot"})
    assert tells(metal.refused(*report, again), "again.json", first, "--replace")
    metal(*report, again, "--replace")
    assert tells(metal.refused("adjudicate", "report", "ratings.csv"), "ratings.csv")
    last = metal(*asked, "--out", "plan", "--force", expect=2).err.splitlines()[-1]
    assert tells(last, "answers.jsonl")
    write_table(tmp_path, seed=5)
    assert tells(metal.refused(*report), "ratings.csv", "changed")


def test_an_answer_in_a_column_of_another_name_is_not_lost(metal: Metal, tmp_path: Path) -> None:
    write_table(tmp_path)
    metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--out", "plan", "--to", "csv")
    [sheet] = (tmp_path / "plan").glob("*.csv")
    answers = pd.read_csv(sheet, dtype=str).drop(columns="comment")
    answers["quality"], answers["quality_also"] = "Good", "No, only this one"
    answers.rename(columns={"quality": "my view"}).to_csv(tmp_path / "back.csv", index=False)
    assert tells(metal.refused("adjudicate", "report", "plan", "back.csv"), "row 2", "'quality'")
    assert not (tmp_path / "plan" / "answers.jsonl").exists()


def test_a_second_plan_does_not_touch_the_first(metal: Metal, tmp_path: Path) -> None:
    write_table(tmp_path)
    asked = ("adjudicate", "plan", "ratings.csv", *LEVELS)
    metal(*asked)
    kept = (tmp_path / "runs/ratings-adjudicate/drawn.jsonl").read_bytes()
    second = metal(*asked, "--judges", "gpt-hasty").out
    assert tells(second, "metal adjudicate report", "runs/ratings-adjudicate-2")
    assert (tmp_path / "runs/ratings-adjudicate/drawn.jsonl").read_bytes() == kept


@pytest.mark.parametrize("form", ["crowd-csv", "label-studio", "mturk"])
def test_forms_for_platforms_name_the_command_that_takes_them_in(
    metal: Metal, tmp_path: Path, form: str
) -> None:
    write_table(tmp_path)
    metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--out", "plan", "--to", form)
    [readme] = (tmp_path / "plan").glob("*README.txt")
    text = readme.read_text(encoding="utf-8")
    assert tells(text, "metal adjudicate report", "PLAN")
    assert "metal annotate" not in text


def test_the_next_step_names_the_folder_that_was_written(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    page = planned(metal, tmp_path, "--items", "80")
    answers = decide(page, truth, tmp_path / "a.json")
    done = metal("adjudicate", "report", "plan", answers, "--out", "elsewhere")
    assert tells(done.out, "What to do next", "metal audit ratings.csv", "elsewhere")


def test_a_person_whose_set_holds_the_right_answer_is_right(metal: Metal, tmp_path: Path) -> None:
    """Person a says Good, which is right, and that Medium would do; two others and the judge say
    Medium.
    """
    rows, truth = [], {}
    for item in range(150):
        differs, text = item < 60, f"Text {item}."
        truth[text] = "Good"
        answers = {"a": "Good", "b": "Good", "c": "Good", "gpt": "Good"}
        if differs:
            answers |= dict.fromkeys(("b", "c", "gpt"), "Medium")
        for rater, label in answers.items():
            also = "Medium" if differs and rater == "a" else ""
            rows.append({"text": text, "rater": rater, "quality": label, "also": also})
    pd.DataFrame(rows).to_csv(tmp_path / "ratings.csv", index=False)
    levels = ("--levels", "Bad<Medium<Good", "--columns", "score=quality")
    planned = metal("adjudicate", "plan", "ratings.csv", *levels, "--out", "plan", "--json").out
    assert [case["disputed"] for case in json.loads(planned)["cases"]] == [60]
    [page] = (tmp_path / "plan").glob("*.html")
    assert {task["reference"] for task in tasks_of(page)["tasks"]} <= {
        "• Medium (given 3 times)\n• Good (given once)",
        "• Good (given once)\n• Medium (given 3 times)",
    }
    done = metal("adjudicate", "report", "plan", decide(page, truth, tmp_path / "x.json"), "--json")
    [row] = json.loads(done.out)["adjudicated"]
    assert row["difference"] == pytest.approx(-(1 / 3) * 60 / 150)


@pytest.mark.slow
def test_a_plan_is_listed_and_an_audit_says_how_to_go_on(metal: Metal, tmp_path: Path) -> None:
    truth = write_table(tmp_path)
    said = metal("adjudicate", "plan", "ratings.csv", *LEVELS, "--items", "10", "--json").out
    planned = json.loads(said)
    assert [case["drawn"] for case in planned["cases"]] == [10]
    [page] = (tmp_path / planned["folder"]).glob("*.html")
    assert "no language" not in page.read_text(encoding="utf-8")
    assert "0 of 10 outputs decided" in metal("ls").out
    folder = planned["folder"]
    metal("adjudicate", "report", folder)
    report = f"{folder}-report"
    undecided = metal("audit", "ratings.csv", *LEVELS, report, "--out", "before").out
    assert "metal adjudicate plan" in undecided  # nothing is decided yet
    metal("adjudicate", "report", folder, decide(page, truth, tmp_path / "a.json"), "--force")
    assert "10 of 10 outputs decided" in metal("ls").out
    after = metal("audit", "ratings.csv", *LEVELS, report, report, "--out", "after").out
    assert tells(after, "What to do next", f"metal adjudicate report {folder}")
    beside = (tmp_path / "after" / "run.toml").read_text(encoding="utf-8")
    assert beside.count("[[beside]]") == 1


# ---------------------------------------------------------------- real people


def adjudicated(table: pd.DataFrame, truth: dict[str, str], folder: Path, **options: Any) -> Any:
    """The report on a table that somebody else decides."""
    table.to_csv(folder / "table.csv", index=False)
    plan = metal_api.adjudicate_plan(folder / "table.csv", out=folder / "plan", **options)
    texts = {f"{output}": answer for output, answer in truth.items()}
    files = []
    for number, page in enumerate(sorted(plan.folder.glob("*.html"))):
        data = tasks_of(page)
        own = data["criteria"][0]
        labels = dict(zip(sorted(set(truth.values())), own["values"][:-1], strict=True))
        answers = [
            {"task": each["task"], "scores": {own["name"]: labels[texts[each["output"]]]}}
            for each in data["tasks"]
            if each["output"] in texts
        ]
        saved = {"metal": "answers", "version": 1, "dataset": "d", "rater": "x", "answers": answers}
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(saved))
    return metal_api.adjudicate_report(plan.folder, *files).tables["adjudicated"]


@pytest.mark.reference
def test_a_person_of_memerag_as_judge_is_no_worse_than_three_others(
    reference: Path, tmp_path: Path
) -> None:
    """The fourth person is the judge of three, the fifth adjudicates."""
    ratings = pd.read_csv(reference / "memerag-ext" / "ratings.csv")
    wide = ratings.pivot(index=["item", "language"], columns="rater", values="faithfulness")
    wide.columns = [str(name)[-1] for name in wide.columns]
    slots = wide.T.groupby(level=0).first().T.dropna().reset_index()
    binary = slots.replace({"Supported": 1, "Not Supported": 0, "Challenging to determine": 0})
    table = binary.rename(
        columns={"1": "person 1", "2": "person 2", "3": "person 3", "4": "gpt-four", "item": "text"}
    )
    truth = dict(zip(table["text"], binary["5"].astype(int).astype(str), strict=True))
    made = adjudicated(table.drop(columns="5"), truth, tmp_path, criterion="supported")
    assert len(made) == 5  # languages
    assert (made["decided"] >= 4).all()
    assert (made["verdict"] == LESS).sum() <= 1
    assert (made["difference"].abs() < 0.2).all()


@pytest.mark.reference
def test_a_random_judge_of_truthfulqa_is_worse_than_one_person(
    reference: Path, tmp_path: Path
) -> None:
    """One person an item; the second person, who answered on 50, adjudicates. A copy of the first
    person with noise in 20% is far better than a random judge.
    """
    ratings = pd.read_csv(reference / "truthfulqa-multi" / "ratings.csv")
    ratings = ratings[(ratings["criterion"] == "truthfulness") & ratings["score"].isin([0, 1])]
    ratings["text"] = ratings["question_id"].astype(str) + " " + ratings["generator"]
    wide = ratings.assign(who=ratings["rater"].str[-1]).pivot_table(
        index=["text", "language"], columns="who", values="score", aggfunc="first"
    )
    both = wide.dropna(subset=["1", "2"]).reset_index()
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(len(both)) < 0.2, 1 - both["1"], both["1"])
    table = pd.DataFrame(
        {
            "text": both["text"] + " " + both["language"],
            "person 1": both["1"].astype(int),
            "gpt-random": rng.integers(0, 2, len(both)),
            "gpt-noisy": noisy.astype(int),
        }
    )
    truth = dict(zip(table["text"], both["2"].astype(int).astype(str), strict=True))
    made = adjudicated(table, truth, tmp_path, criterion="truthful", items=80)
    by = made.set_index("judge")
    assert by.loc["gpt-random", "verdict"] == LESS
    assert by.loc["gpt-noisy", "verdict"] != BETTER
    assert by.loc["gpt-random", "difference"] < by.loc["gpt-noisy", "difference"]
