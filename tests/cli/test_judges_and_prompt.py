"""`metal judges` and `metal prompt`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import metal as metal_api
from metal.data.dataset import load_dataset, with_ratings
from metal.errors import UsageError
from metal.raters.judges.rubric import rubrics_for
from tests.cli.forks import Metal
from tests.cli.runs import KEY
from tests.cli.test_commands import DEMO, metal
from tests.llm_server import Fault, LlmServer, always, rejects_parameters
from tests.saying import tells


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in (
        "AZURE_OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
    ):
        monkeypatch.delenv(name, raising=False)


def test_prompt_show_prints_what_is_sent(
    tmp_path: Path, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        metal(
            "judge",
            DEMO,
            "-j",
            "openai:m",
            "-p",
            "detailed",
            "-c",
            "hallucinations",
            "-l",
            "sw",
            cwd=tmp_path,
        )
        sent = [message["content"] for body in server.bodies for message in body["messages"]]
    shown = metal(
        "prompt", "show", DEMO, "-c", "hallucinations", "--output", "sw-1/good", cwd=tmp_path
    ).out
    system, user = (
        shown.removeprefix("[system]\n").rsplit("\n\ndetailed@", 1)[0].split("\n\n[user]\n")
    )
    assert system in sent
    assert user.rstrip("\n") in sent


def test_prompt_list_and_placeholders(tmp_path: Path) -> None:
    listed = metal("prompt", "list", cwd=tmp_path).out
    shown = metal("prompt", "show", "-c", "task_quality", "-p", "simple", cwd=tmp_path).out
    digest = shown.strip().rsplit("simple@", 1)[1]
    assert digest in listed
    assert "(the output's text)" in shown


def test_own_prompts_come_first(tmp_path: Path) -> None:
    (tmp_path / "mine" / "judge").mkdir(parents=True)
    (tmp_path / "mine" / "judge" / "short.toml").write_text(
        'system = ""\nuser = "{{ criterion.label }}? {{ output }} Answer {{ values }}."\n'
    )
    shown = metal(
        "prompt",
        "show",
        "-c",
        "task_quality",
        "-p",
        "short",
        "--prompt-folders",
        "mine",
        cwd=tmp_path,
    ).out
    assert shown.startswith("[user]\nTask quality? ----- OUTPUT ")
    assert "Answer 0, 1 or 2." in shown


WRONG = [
    (["prompt", "show", "-c", "task_qualty"], "did you mean 'task_quality'"),
    (["prompt", "show", "-c", "task_quality", "-p", "detialed"], "did you mean 'detailed'"),
    (
        ["prompt", "show", "-c", "task_quality", "--prompt-folders", "nowhere"],
        "nowhere: no such folder; --prompt-folders hold judge/NAME.toml",
    ),
    (["prompt", "show", "-c", "task_quality", "--output", "x"], "give the dataset too"),
    (
        ["prompt", "show", str(DEMO), "-c", "task_quality", "--output", "sw-1/gud"],
        "did you mean 'sw-1/good'",
    ),
    (
        ["prompt", "show", "-c", "task_quality", "--prompt-language", "sw"],
        "criteria/task_quality.sw.toml",
    ),
    (["judges", "test", "opnai:gpt-4o"], "did you mean 'openai'"),
    (["judges", "test", "openai-compatible:llama"], "Pass --base-url"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), WRONG, ids=lambda value: " ".join(value)[:40] if value else ""
)
def test_mistakes_are_answered_in_one_line(
    tmp_path: Path, environment: None, arguments: list[str], said: str
) -> None:
    done = metal(*arguments, cwd=tmp_path, expect=2)
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_judges_list(tmp_path: Path, environment: None) -> None:
    (tmp_path / "judges.toml").write_text(
        '[judges.llama]\nmodel = "openai-compatible:llama"\nbase_url = "http://127.0.0.1:1/v1"\n'
        "price = { input = 0.2, output = 0.6 }\nconcurrency = 3\n"
    )
    shown = metal("judges", "list", cwd=tmp_path).out
    assert "set AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT" in shown
    assert "$0.20/$0.60" in shown
    assert KEY not in shown


def test_judges_test_shows_a_small_call(
    tmp_path: Path, environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        server.faults = rejects_parameters("temperature")
        shown = metal("judges", "test", "openai:gpt-4o-mini", cwd=tmp_path).out
        assert server.requests == 2
        assert "on linguistic_acceptability (0 Bad, 1 Medium, 2 Good)" in shown
        assert "answered by gpt-4o-mini-2026-01-01 fp_1" in shown
        assert "cost $0.0000" in shown
        assert "asked without temperature" in shown
        server.faults = always(Fault("unauthorized"))
        done = metal("judges", "test", "openai:gpt-4o-mini", cwd=tmp_path, expect=2)
    assert "key in OPENAI_API_KEY" in done.err
    assert KEY not in done.err
    assert len(done.err.splitlines()) == 1


def test_a_criterion_in_one_line(people: Metal, tmp_path: Path) -> None:
    added = people(
        "criterion", "new", "helpfulness", "mine", "--scale", "1-5", "--question", "Does it help?"
    )
    assert "mine: helpfulness (1, 2, 3, 4, 5), higher is better" in added.said
    people(
        "criterion",
        "new",
        "tone",
        "mine",
        "--scale",
        "0-100",
        "--question",
        "How rude?",
        "--direction",
        "lower",
    )
    criteria = load_dataset(tmp_path / "mine").criteria
    assert (criteria["tone"].scale.measure, criteria["tone"].direction) == ("interval", "lower")
    assert criteria["helpfulness"].question == "Does it help?"
    people("criterion", "new", "correctness", "mine", "--template", "question-answering")
    assert load_dataset(tmp_path / "mine").criteria["correctness"].scale.values == (1, 2, 3, 4, 5)
    own = metal_api.Criterion("depth", metal_api.Scale.of("1-7"), question="How deep?")
    assert (
        metal_api.criterion_new(own, tmp_path / "mine")
        == load_dataset(tmp_path / "mine").criteria["depth"]
        == own
    )
    shown = people("prompt", "show", "mine", "--criterion", "helpfulness").said
    assert "Question: Does it help?" in shown
    for arguments, message in (
        (("tone", "--scale", "1-5", "--question", "x"), "has a criterion tone (0 to 100) already"),
        (("ton", "--scale", "a", "--question", "x"), "'a' is not a range"),
        (("to ne", "--scale", "1-5", "--question", "x"), "e.g. 'to_ne'"),
        (("ton", "--scale", "1-5", "--question", " "), "--question is empty"),
        (("ton", "--question", "Loud?"), "--scale is not given"),
        (("ton", "--template", "question-answering"), "correctness"),
        (
            ("ton", "--template", "question-answering", "--scale", "1-5"),
            "--template defines it completely",
        ),
    ):
        assert message in people.refused("criterion", "new", arguments[0], "mine", *arguments[1:])


def test_a_criterion_without_a_dataset_is_a_file_that_every_verb_takes(
    people: Metal, tmp_path: Path
) -> None:
    line = ("criterion", "new", "helpfulness", "--scale", "1-10", "--question", "Does it help?")
    added = people(*line).said
    assert (
        "prompts/criteria/helpfulness.toml: helpfulness (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), higher is"
        " better" in added
    )
    assert tells(
        added,
        "metal judge DATASET",
        "--judge MODEL",
        "--criteria helpfulness",
        "--prompt-folders prompts",
    )
    assert "prompts/criteria/helpfulness.toml exists" in people.refused(*line)
    named = ("-c", "helpfulness", "--prompt-folders", "prompts")
    assert "Question: Does it help?" in people("prompt", "show", *named).said
    assert "criterion 'helpfulness' is not known" in people.refused(
        "judge", "mine", "-j", "random", *named[:2]
    )
    judged = people(
        "judge", "mine", "-j", "fake:random", *named, "--out", "run", "--limit", "2"
    ).said
    assert tells(judged, "note: mine has no criterion", "helpfulness", "criteria/helpfulness.toml")
    people("judge", "--resume", "run")
    own = metal_api.Criterion(
        "helpfulness", metal_api.Scale.of("1-10"), label="Helpfulness", question="Does it help?"
    )
    assert (
        with_ratings(load_dataset(tmp_path / "mine"), tmp_path / "run").criteria["helpfulness"]
        == own
    )
    assert "lacks the criterion helpfulness. Pass --add-criteria" in people.refused(
        "annotate", "html", "mine", *named
    )
    people("annotate", "html", "mine", *named, "--add-criteria")
    assert load_dataset(tmp_path / "mine").criteria["helpfulness"] == own
    table = pd.DataFrame({"id": ["a", "a"], "annotator": ["A1", "A2"], "helpfulness": [3, 7]})
    read = metal_api.read(table, language="en", prompt_folders=[tmp_path / "prompts"])
    assert (read.criteria["helpfulness"], read.ratings["score"].tolist()) == (own, [3, 7])
    unasked = replace(own, question="")  # as a table brings it
    assert (
        rubrics_for([unasked], [tmp_path / "prompts"], needed=["detailed"])["helpfulness"].criterion
        == own
    )
    with pytest.raises(UsageError, match=r"no detailed description.*metal\.criterion_new"):
        rubrics_for([unasked], [], needed=["detailed"])
    assert "name the dataset" in people.refused(
        "criterion", "new", "correctness", "--template", "question-answering"
    )


def test_a_folder_of_prompts_that_is_not_there_is_refused_when_ratings_are_read() -> None:
    with pytest.raises(UsageError, match="no such folder"):
        metal_api.read(DEMO, prompt_folders="prompts")
