"""Token probabilities: the confidence of a rating and its expected score, from raw replies and
through a whole run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metal
from metal.api.read import with_runs
from metal.boards.cells import board_cells
from metal.boards.settings import BoardSettings
from metal.data.dataset import load_dataset
from metal.data.ratings_files import read_facts
from metal.errors import DataError
from metal.raters.judges.probabilities import (
    MAYBE_SPLIT,
    MISSING,
    NO_LEVELS,
    PLACE,
    SPLIT,
    level_probabilities,
    slim,
)
from tests.llm_server import LlmServer, rejects_parameters
from tests.saying import tells

DEMO = Path("datasets/demo")
ASK: dict[str, Any] = {"criteria": "task_quality,hallucinations", "languages": "en", "sample": 8}
LEVELS = {"0": 0.0, "1": 1.0, "2": 2.0}


def reply(*tokens: str | dict[str, float], form: str = "openai") -> dict[str, Any]:
    """A raw reply of these tokens; a mapping is a token's alternatives with probabilities, the
    first is the token.
    """
    steps = [{token: 1.0} if isinstance(token, str) else token for token in tokens]
    named = "logprob" if form == "openai" else "logProbability"
    made = [
        [{"token": token, named: math.log(chance)} for token, chance in step.items()]
        for step in steps
    ]
    if form == "openai":
        content = [{**step[0], "bytes": [1], "top_logprobs": step} for step in made]
        return {
            "choices": [{"logprobs": {"content": content}, "message": {"content": "not looked at"}}]
        }
    top = [{"candidates": step[1:]} for step in made]  # the chosen one need not be among them
    result = {"chosenCandidates": [step[0] for step in made], "topCandidates": top}
    return {"candidates": [{"logprobsResult": result}]}


FIELD = ('{"', "score", '":')
REST = (",", ' "', "justification", '": "', "2", " of", " 3", '"}')


@pytest.mark.parametrize("form", ["openai", "gemini"])
def test_the_probability_of_the_answered_level(form: str) -> None:
    whole = reply(*FIELD, {" 2": 0.5, "2": 0.1, " 1": 0.3, "0": 0.02, "{": 0.01}, *REST, form=form)
    for raw in (whole, json.loads(slim(json.dumps(whole).encode()))):
        given = level_probabilities(raw, 2.0, LEVELS)
        assert given.confidence == pytest.approx(0.6)
        assert given.by_level == pytest.approx({2.0: 0.6, 1.0: 0.3, 0.0: 0.02})


def test_what_is_kept_of_a_reply_is_what_may_be_a_verdict() -> None:
    whole = reply(*FIELD, {"2": 0.9, "1": 0.1}, *[{" word": 0.5, " other": 0.5}] * 100)
    kept = slim(json.dumps(whole).encode())
    steps = json.loads(kept)["choices"][0]["logprobs"]["content"]
    assert [len(step["top_logprobs"]) for step in steps[:4]] == [0, 0, 0, 2]
    assert not any(step["top_logprobs"] for step in steps[4:])
    assert b"bytes" not in kept
    assert json.loads(kept)["choices"][0]["message"] == {"content": "not looked at"}


TEN = {str(level): float(level) for level in range(1, 11)}


@pytest.mark.parametrize(
    ("raw", "answered", "levels", "why"),
    [
        ({"choices": [{"logprobs": None}]}, 2.0, LEVELS, MISSING),
        ({"choices": [{"logprobs": {"content": [7, {"token": 3}]}}]}, 2.0, LEVELS, PLACE),
        ("text that is no object", 2.0, LEVELS, MISSING),
        (reply("I", " give", " 2"), 2.0, LEVELS, PLACE),
        (reply(*FIELD, "1", "0", "}"), 10.0, TEN, SPLIT),
        (reply(*FIELD, "2,"), 2.0, LEVELS, SPLIT),
        # 1 may be the beginning of 10
        (reply(*FIELD, {"1": 0.7, "2": 0.3}, "}"), 1.0, TEN, MAYBE_SPLIT),
        (reply(*FIELD, "50", "}"), 50.0, {}, NO_LEVELS),
    ],
)
def test_where_there_is_none_there_is_a_reason(
    raw: object, answered: float, levels: dict[str, float], why: str
) -> None:
    given = level_probabilities(raw, answered, levels)
    assert (given.confidence, given.by_level, given.why) == (None, {}, why)


def test_ten_is_a_level_where_it_is_one_token() -> None:
    assert level_probabilities(
        reply(*FIELD, {"1": 0.7, "10": 0.3}, "}"), 1.0, TEN
    ).confidence == pytest.approx(0.7)
    assert level_probabilities(reply("10"), 10.0, TEN).confidence == 1.0
    assert level_probabilities(
        reply(*FIELD, {"7": 0.7}, "}"), 7.0, TEN
    ).confidence == pytest.approx(0.7)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer() as server:
        for name, value in {
            "OPENAI_BASE_URL": server.openai_url,
            "OPENAI_API_KEY": "sk-test",
            "GOOGLE_GEMINI_BASE_URL": server.url,
            "GEMINI_API_KEY": "key",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_run_keeps_them_with_its_ratings(server: LlmServer, tmp_path: Path) -> None:
    judges = "openai:gpt-4o,gemini:gemini-2.5-flash,random"
    run = metal.judge(DEMO, judges, probabilities=True, out=tmp_path / "run", **ASK)
    ratings = read_facts(run.folder / "ratings.parquet").set_index("rater")
    assert ratings.loc["random", "confidence"].isna().all()
    answers = ratings.drop("random")
    assert answers["confidence"].between(0.6, 1).all()
    # The server gives the other levels equal shares, so the mean follows from the score and its
    # probability.
    levels = answers["criterion"].map({"task_quality": 3, "hallucinations": 2}).astype(float)
    others = (levels * (levels - 1) / 2 - answers["score"]) / (levels - 1)
    expected = answers["confidence"] * answers["score"] + (1 - answers["confidence"]) * others
    assert np.allclose(answers["expected"], expected)

    about = run.job.plan.models[0].described()
    assert about["parameters"] == {"logprobs": True, "top_logprobs": 20, "temperature": 0}
    plain = metal.judge(DEMO, "openai:gpt-4o", out=tmp_path / "plain", dry_run=True, **ASK).job.plan
    keys = {question.key for question in plan_questions(run.job.plan)} & {
        q.key for q in plan_questions(plain)
    }
    assert not keys  # another judge: it was asked otherwise

    selection = metal.select(DEMO, run, confidence="rating", resamples=100)
    assert "rating" in set(selection.tables["calibration"]["confidence"])
    rated = with_runs(load_dataset(DEMO), [run.folder])
    plain_cells, cells = (
        board_cells(rated, BoardSettings(expected=each)) for each in (False, True)
    )
    moved = {
        rater.name
        for before, after in zip(plain_cells, cells, strict=True)
        for rater, scores, means in zip(before.raters, before.scores, after.scores, strict=True)
        if not np.array_equal(scores, means, equal_nan=True)
    }
    assert moved == {"openai:gpt-4o/detailed", "gemini:gemini-2.5-flash/detailed"}


def test_a_criterion_without_levels_has_none_and_keeps_its_scores(
    server: LlmServer, tmp_path: Path
) -> None:
    asked = ASK | {"criteria": "overall_quality"}
    run = metal.judge(DEMO, "openai:gpt-4o", probabilities=True, out=tmp_path / "run", **asked)
    assert run.ratings["score"].notna().any()
    assert not {"confidence", "expected"} & set(
        read_facts(run.folder / "ratings.parquet").dropna(axis=1, how="all")
    )


def plan_questions(plan: Any) -> list[Any]:
    return [question for model in plan.models for question in plan.questions(model)]


def test_a_model_that_gives_none_is_asked_without(
    server: LlmServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from metal.show.terminal.asking_text import oddities

    server.faults = rejects_parameters("top_logprobs", code="unsupported_parameter")
    run = metal.judge(DEMO, "openai:o3", probabilities=True, out=tmp_path / "run", **ASK)
    assert "confidence" not in read_facts(run.folder / "ratings.parquet")
    assert run.ratings["score"].notna().all()
    name, statistics = next(iter(run.outcome.statistics.items()))
    said = "\n".join(oddities(name, statistics))
    assert tells(said, "without logprobs", "model rejects")
    assert tells(said, f"{len(run.ratings)} answers", MISSING)
    assert not {"logprobs", "top_logprobs"} & server.bodies[-1].keys()


def test_a_provider_that_gives_none_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    def judge(source: str, output: str, criterion: metal.Criterion) -> float:
        return 0.0

    run = metal.judge(
        DEMO, judge, name="mine", probabilities=True, out=tmp_path / "run", dry_run=True, **ASK
    )
    assert tells(run.job.warnings, "mine", "token probabilities")


def test_an_expected_score_off_the_scale_is_refused(tmp_path: Path) -> None:
    rows = [
        {"output": name, "criterion": "task_quality", "rater": "r", "score": 2, "expected": 2.5}
        for name in list(load_dataset(DEMO).outputs)[:1]
    ]
    (tmp_path / "raters.jsonl").write_text('{"rater": "r", "kind": "llm"}\n')
    (tmp_path / "ratings.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match=r"expected 2\.5 is not on the scale"):
        metal.audit(DEMO, tmp_path)
