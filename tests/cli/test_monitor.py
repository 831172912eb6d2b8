"""`metal monitor` and `--exclude-noisy`: who fails the test questions, and what is left without
them.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import Dataset, load_dataset, save_dataset
from metal.data.ratings_files import read_facts, write_facts
from metal.data.records import Output
from metal.genie.gold_questions import NEGATIVE, side_of
from metal.genie.store import read_answers, read_questions
from metal.questions.people.run import Monitor
from tests.cli.forks import Metal, environment
from tests.cli.runs import KEY, snapshot
from tests.cli.small_board import Commands
from tests.genie.people import METAL, TOP, always_best, careful, examined, fill_csv, metal, save
from tests.llm_server import LlmServer
from tests.saying import tells

QUICK = ("--bootstrap", "100", "-v")
NOISY = ["en-2", "sw-1"]
ASKED = {name: METAL[name] for name in ("task_quality", "problematic_content", "hallucinations")}


def always_worst(rater: str, output: str, criterion: str) -> int:
    return TOP[criterion] - always_best(rater, output, criterion)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examined") / "sim"
    return examined(
        folder, {"en-2": always_worst, "sw-1": always_best}, count=12, criteria=ASKED.values()
    )


@pytest.fixture
def sim(template: Path, commands: Commands) -> Commands:
    """`metal` where `sim` has three people in each of two languages; en-2 and sw-1 do not read."""
    shutil.copytree(template, commands.folder / "sim")
    return commands


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / "tables" / f"{name}.parquet")


@pytest.mark.slow
def test_who_is_noisy_is_said_with_the_reason_and_again_in_json(
    sim: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(sim.folder / "sim")
    metal("monitor", "sim", *QUICK, "--out", "first")
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if not line.startswith("Signature")) <= 80
    said = " ".join(shown.split())
    assert "en-2 English 0 of 18 12 of 12" in said
    assert "sw-1 Swahili 18 of 18 0 of 12" in said
    assert re.search(r"sw-1 Negative questions on .+: 0 of 6 right, P above 0\.999;", said)
    assert "Noisy: en-2 and sw-1. " in said
    assert "144 ratings of 2 people would be dropped" in said
    assert "|tests:" in shown

    whole = sim.json("monitor", "sim", *QUICK, "--out", "run")
    assert snapshot(sim.folder / "sim") == before
    run = sim.folder / "run"
    first, second = (snapshot(sim.folder / name) for name in ("first", "run"))
    # with name and time
    assert {name for name in first if first[name] != second[name]} <= {"report.html", "run.toml"}
    about = tomllib.loads((run / "run.toml").read_text())
    assert (about["command"], about["signature"]) == ("monitor", whole["signature"])
    names = {
        "raters",
        "workers",
        "mixtures",
        "questions",
        "behaviour",
        "agreement",
        "panels",
        "exclusions",
        "rounds",
    }
    assert {path.stem for path in (run / "tables").iterdir()} == names
    assert names | {"headline", "signature", "run", "warnings"} == set(whole)
    assert (run / "warnings.txt").read_text(encoding="utf-8").splitlines() == whole["warnings"]
    assert [row["rater"] for row in whole["raters"]] == list(table(run, "raters")["rater"])
    assert sorted(row["rater"] for row in whole["raters"] if row["noisy"]) == NOISY
    assert {row["rater"] for row in whole["exclusions"]} == set(NOISY)
    assert sum(row["ratings"] for row in whole["exclusions"]) == 144
    rounds = table(run, "rounds")
    assert rounds.groupby("round")["rater"].agg(list).to_dict() == {
        1: ["en-1"],
        2: [f"{language}-{number}" for language in ("en", "sw") for number in (1, 2, 3)],
    }
    after = rounds[(rounds["round"] == 2) & (rounds["rater"] == "sw-1")].iloc[0]
    assert (after["positive_right"], after["positive_asked"], after["negative_right"]) == (
        18,
        18,
        0,
    )
    agreement = table(run, "agreement")
    left = agreement[agreement["without_noisy"]].set_index(["language", "criterion"])[
        "percent_agreement"
    ]
    everybody = agreement[~agreement["without_noisy"]].set_index(["language", "criterion"])[
        "percent_agreement"
    ]
    assert (left >= everybody).all()
    read = Monitor.read(run)
    assert sorted(read.noisy) == NOISY
    assert set(read.standing_out) >= {"en-2"}
    assert set(ASKED) == set(read.criteria)
    (run / "tables/workers.parquet").unlink()
    assert "workers" in sim.refused("report", "run")


@pytest.mark.slow
def test_the_signature_knows_model_and_answers(sim: Commands) -> None:
    whole = sim.json("monitor", "sim", *QUICK, "--model", "rate-uniform", "--out", "one")
    assert sorted(row["rater"] for row in whole["raters"] if row["noisy"]) == NOISY
    assert "model:rate-uniform" in whole["signature"]
    answers = read_answers(sim.folder / "sim")
    answers["score"] = answers["score"].where(answers["rater"] != "en-1", 0.0)
    write_facts(answers, sim.folder / "sim/test_questions/ratings.parquet")
    again = sim.json("monitor", "sim", *QUICK, "--model", "rate-uniform", "--out", "two")
    assert again["signature"] != whole["signature"]


def test_an_unknown_model_is_refused_before_anything(sim: Commands) -> None:
    for arguments in (
        ("monitor", "sim", "--model", "rate-lerned"),
        ("audit", "sim", "--exclude-noisy=rate-lerned"),
    ):
        said = sim.refused(*arguments)
        assert "model 'rate-lerned' is not known; did you mean 'rate-learned-2'" in said
    assert not (sim.folder / "runs").exists()


def test_without_test_questions_people_are_still_set_beside_each_other(sim: Commands) -> None:
    shutil.rmtree(sim.folder / "sim/test_questions")
    said = sim("monitor", "sim", *QUICK)
    assert "none of whom was asked" in said
    assert tells(said, "metal annotate export", "sim --to html", "--test-questions")
    assert "The lowest is en-2" in " ".join(said.split())
    assert "tests:" not in said
    refused = sim.refused("audit", "sim", "--exclude-noisy")
    assert tells(refused, "--exclude-noisy", "test question", "of sim")


@pytest.mark.slow
def test_leaks_and_open_answers_and_the_unasked_are_told(sim: Commands) -> None:
    dataset = load_dataset(sim.folder / "sim")
    negative = next(
        one
        for one in read_questions(sim.folder / "sim").values()
        if side_of(one.output) == NEGATIVE
    )
    leak = Output("leak", negative.source, "odd", "en", f" {negative.text}")
    with_leak = replace(dataset, outputs={**dataset.outputs, "leak": leak})
    kept = sim.folder / "kept"
    shutil.copytree(sim.folder / "sim/test_questions", kept)
    shutil.rmtree(sim.folder / "sim")
    save_dataset(with_leak, sim.folder / "sim")
    answers = read_facts(kept / "ratings.parquet")
    answers = answers[answers["rater"] != "en-3"].reset_index(drop=True)
    mine = answers["rater"] == "en-1"
    answers.loc[mine, "score"] = float("nan")
    answers["reason"] = answers["reason"].cat.add_categories(["no answer"])
    answers.loc[mine, "reason"] = "no answer"
    shutil.copytree(kept, sim.folder / "sim/test_questions")
    write_facts(answers, sim.folder / "sim/test_questions/ratings.parquet")
    shown = sim("monitor", "sim", *QUICK, "--out", "run")
    said = (sim.folder / "run/warnings.txt").read_text(encoding="utf-8")
    assert tells(said, "1 outputs", "the first 'leak'")
    assert tells(said, "1 of 6 people", "en-3")
    assert tells(said, "en-1", "30 test questions", "unanswered")
    assert " nan" not in shown
    assert "en-1 English – –" in shown


@pytest.mark.slow
def test_a_criterion_on_which_most_fail_is_doubted_before_the_people(sim: Commands) -> None:
    """`task_quality` as if it looked at the text only: everybody says that golds of other sources
    are good.
    """
    answers = read_answers(sim.folder / "sim")
    negative = answers["output"].astype(str).map(side_of) == NEGATIVE
    answers.loc[negative & (answers["criterion"] == "task_quality"), "score"] = 2.0
    write_facts(answers, sim.folder / "sim/test_questions/ratings.parquet")
    said = "\n".join(sim.json("monitor", "sim", *QUICK, "--out", "one")["warnings"])
    assert tells(said, "3 of 3 people", "negative", "Task quality (English)", "nobody")
    assert tells(said, "of_source = false", "[criteria.task_quality]", "dataset.toml")
    assert "on hallucinations" not in said
    card = sim.folder / "sim/dataset.toml"
    text = card.read_text(encoding="utf-8")
    card.write_text(
        text.replace("[criteria.task_quality]\n", "[criteria.task_quality]\nof_source = false\n"),
        "utf-8",
    )
    whole = sim.json("monitor", "sim", *QUICK, "--out", "two")
    assert "people fail" not in "\n".join(whole["warnings"])
    assert sorted(row["rater"] for row in whole["raters"] if row["noisy"]) == NOISY


def test_one_person_only(commands: Commands) -> None:
    save(Path("sim"), count=6, languages=("en",), criteria=ASKED.values())
    commands(
        "annotate",
        "export",
        "sim",
        "--to",
        "csv",
        "--out",
        "out",
        "--raters",
        "1",
        "--test-questions=50%+50%",
    )
    commands("annotate", "import", "sim", *fill_csv(Path("sim"), Path("out"), careful))
    said = commands("monitor", "sim", *QUICK)
    assert tells(said, "en-1", "nobody to compare with")
    assert "noisy" not in said.replace("P(noisy)", "").replace("--exclude-noisy", "")


@pytest.fixture
def judged(sim: Commands) -> Commands:
    """With a run of two baselines."""
    sim("judge", "sim", "-j", "majority,lexical", "--out", "judges")
    return sim


def unsigned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "signature"} for row in rows]


@pytest.mark.slow
def test_an_audit_without_them_is_an_audit_of_a_dataset_without_them(judged: Commands) -> None:
    whole = judged.json("audit", "sim", "judges", *QUICK, "--exclude-noisy", "--out", "run")
    assert "|without:noisy@rate-learned-2" in whole["signature"]
    lines = [line for line in whole["warnings"] if "is excluded as noisy" in line]
    assert [line.partition(" ")[0] for line in lines] == NOISY
    assert all("72 ratings dropped" in line for line in lines)
    run = judged.folder / "run"
    assert [
        line
        for line in (run / "warnings.txt").read_text().splitlines()
        if "excluded as noisy" in line
    ] == lines
    rows = list(
        csv.DictReader((run / "tables/exclusions.csv").read_text(encoding="utf-8").splitlines())
    )
    assert {(row["rater"], row["language"]) for row in rows} == {("en-2", "en"), ("sw-1", "sw")}
    assert sum(int(row["ratings"]) for row in rows) == 144
    assert all("questions on" in row["why"] for row in rows)

    dataset = load_dataset(judged.folder / "sim")
    kept = dataset.ratings[~dataset.ratings["rater"].isin(NOISY)].reset_index(drop=True)
    raters = {name: rater for name, rater in dataset.raters.items() if name not in NOISY}
    save_dataset(replace(dataset, raters=raters, ratings=kept), judged.folder / "left")
    other = judged.json("audit", "left", "judges", *QUICK, "--out", "other")
    assert unsigned(other["judges"]) == unsigned(whole["judges"])
    assert unsigned(other["people"]) == unsigned(whole["people"])
    page = (run / "report.html").read_text(encoding="utf-8")
    assert '<span class="word">en-2</span> is excluded as noisy' in page


def test_the_flag_is_all_that_changes(judged: Commands) -> None:
    before = [snapshot(judged.folder / name) for name in ("sim", "judges")]
    quick = (*QUICK, "-c", "task_quality")
    first = judged.json("audit", "sim", "judges", *quick, "--out", "one")
    without = judged.json("audit", "sim", "judges", *quick, "--exclude-noisy", "--out", "two")
    assert without["judges"] != first["judges"]
    assert [snapshot(judged.folder / name) for name in ("sim", "judges")] == before
    assert "exclusions" not in first


def test_a_board_without_them(judged: Commands) -> None:
    quick = (*QUICK, "--permutations", "100", "-c", "task_quality")
    whole = judged.json("billboard", "sim", "judges", *quick, "--exclude-noisy", "--out", "run")
    assert "without:noisy@rate-learned-2" in whole["signature"]
    assert [
        line.partition(" ")[0] for line in whole["warnings"] if "is excluded as noisy" in line
    ] == NOISY
    assert sum(row["ratings"] for row in whole["exclusions"]) == 144
    assert (judged.folder / "run/tables/exclusions.csv").is_file()


def test_a_submission_is_ranked_without_them_where_the_board_is(
    sim: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    import metal.boards.board as board

    seen: list[Dataset] = []
    ranked = board.billboard

    def watched(dataset: Dataset, *more: Any, **told: Any) -> Any:
        seen.append(dataset)
        return ranked(dataset, *more, **told)

    monkeypatch.setattr(board, "billboard", watched)
    sim("score", "sim", "--metric", "chrf", "--into")
    quick = (*QUICK, "--permutations", "100", "-c", "task_quality")
    sim("billboard", "sim", *quick, "--exclude-noisy", "--out", "one")
    outputs = load_dataset(sim.folder / "sim").outputs.values()
    texts = {one.source: one.text for one in outputs if one.generator == "bad"}
    sim("submit", "generator", "sim", sim.write_outputs("new.jsonl", texts), "--name", "new")
    assert len(seen) == 2
    assert [set(NOISY) & set(dataset.raters) for dataset in seen] == [set(), set()]


@pytest.mark.slow
def test_where_everybody_fails_nobody_is_left_out(commands: Commands) -> None:
    people = {f"en-{number}": always_best for number in (1, 2, 3)}
    examined(Path("sim"), people, count=12, languages=("en",), criteria=ASKED.values())
    shown = commands("monitor", "sim", *QUICK)
    assert tells(shown, "3 of 3 people", "negative", "Hallucinations (English)", "nobody")
    assert "is noisy" not in shown
    commands("audit", "sim", *QUICK, "-c", "hallucinations", "--exclude-noisy")
    assert table(Path("runs/sim"), "exclusions").empty


@pytest.mark.parametrize("verb", ["audit", "billboard"])
def test_the_flag_before_the_dataset_is_told(sim: Commands, verb: str) -> None:
    said = sim.refused(verb, "--exclude-noisy", "sim")
    assert said.startswith("--exclude-noisy: model 'sim' is not known; known: class-fixed-2, ")
    assert said.endswith("; put --exclude-noisy after sim, or give it a value")


def always(word: str) -> Callable[[str, Any], str]:
    return lambda prompt, body: json.dumps(
        {"score": 2 if word == "best" else 0, "justification": word}
    )


@pytest.mark.slow
def test_an_llm_judge_that_always_says_the_best_is_named(
    template: Path, processes: Metal, tmp_path: Path
) -> None:
    shutil.copytree(template, tmp_path / "sim")
    with LlmServer() as server:
        server.answer = always("best")
        env = environment(tmp_path, OPENAI_BASE_URL=server.openai_url, OPENAI_API_KEY=KEY)
        run = processes.at(tmp_path, env)
        asked = ("judge", "sim", "-j", "openai:gpt-4o", "-c", "task_quality", "--out", "judges")
        run(*asked, "--test-questions=25%+25%", "--limit", "30")
        assert server.requests == 30
        done = run("judge", "--resume", "judges")
        assert server.requests == 48 + 24  # two languages, 24 outputs and 12 questions each
        assert "Next: metal monitor sim judges" in done.said
        assert max(server.counts.values()) == 1
        assert {name: one.text for name, one in read_questions(tmp_path / "judges").items()} == {
            name: one.text for name, one in read_questions(tmp_path / "sim").items()
        }
        ratings, answers = (
            read_facts(tmp_path / "judges/ratings.parquet"),
            read_answers(tmp_path / "judges"),
        )
        assert (len(ratings), len(answers)) == (48, 24)
        assert not any(side_of(str(name)) for name in ratings["output"])
        assert set(answers["output"]) == set(read_questions(tmp_path / "sim"))
        assert set(answers["rater"]) == {"openai:gpt-4o/detailed"}
        said = run("monitor", "sim", "judges", *QUICK, "--out", "people").said
        fail = "en-2, openai:gpt-4o/detailed and sw-1 fail the test questions"
        assert fail in " ".join(said.split())
        workers = table(tmp_path / "people", "workers").set_index(
            ["rater", "language", "criterion"]
        )
        alone = ("openai:gpt-4o/detailed", "sw", "task_quality")
        assert workers.loc[alone, "kind"] == "llm"
        assert workers.loc[alone, "positive_right"] == 6
        # Judges stay in an audit, even noisy ones: they are what it is about.
        audit = run(
            "audit",
            "sim",
            "judges",
            *QUICK,
            "-c",
            "task_quality",
            "--exclude-noisy",
            "--out",
            "audit",
        )
        assert "openai:gpt-4o" in audit.said
        assert set(table(tmp_path / "audit", "exclusions")["rater"]) == set(NOISY)


@pytest.mark.slow
def test_baselines_are_examined_too_and_rate_as_without(sim: Commands) -> None:
    sim("judge", "sim", "-j", "majority,random,lexical", "--out", "plain")
    sim(
        "judge",
        "sim",
        "-j",
        "majority,random,lexical",
        "--test-questions=25%+25%",
        "--out",
        "asked",
    )
    plain, asked = (
        read_facts(sim.folder / name / "ratings.parquet") for name in ("plain", "asked")
    )
    order = ["rater", "criterion", "output"]
    one, other = (
        frame.astype(str).sort_values(order, ignore_index=True) for frame in (plain, asked)
    )
    pd.testing.assert_frame_equal(one, other)
    answers = read_answers(sim.folder / "asked")
    assert set(answers["rater"]) <= {"majority", "random", "lexical"}
    assert len(answers) == 3 * len(ASKED) * 24
    both = sim.json("monitor", "sim", "asked", *QUICK, "--out", "both")
    assert {"majority", "random"} <= {row["rater"] for row in both["raters"] if row["noisy"]}
    alone = sim.json("monitor", "sim", *QUICK, "--out", "alone")
    assert alone["mixtures"] == both["mixtures"]  # learned from people


def test_a_judge_asked_something_else_under_the_same_id_is_told(sim: Commands) -> None:
    sim("judge", "sim", "-j", "majority", "--test-questions=25%+25%", "--out", "asked")
    path = sim.folder / "asked/test_questions/outputs.jsonl"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"text": "', '"text": "other ', 1),
        encoding="utf-8",
    )
    said = sim.refused("monitor", "sim", "asked")
    assert tells(said, "another text", "sim/test_questions")
    assert "judge again with `metal judge --test-questions`" in said


def test_resuming_cannot_change_the_questions(sim: Commands) -> None:
    sim("judge", "sim", "-j", "majority", "--test-questions=25%+25%", "--out", "asked")
    said = sim.refused("judge", "--resume", "asked", "--test-questions=5%+5%")
    assert "to change --test-questions" in said
    assert "test_questions" in sim.refused(
        "judge", "sim", "-j", "majority", "--out", "asked"
    ).replace("-", "_")
