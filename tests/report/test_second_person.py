"""One person rated each output: what the page says, and that its commands hand outputs to a second
one.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.data.dataset import load_dataset, save_dataset
from metal.questions.audit.answer import cards, headline
from metal.questions.audit.run import AuditRun
from tests import pages
from tests.report.conftest import written
from tests.saying import tells


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AuditRun:
    """The audit of the demo, of whose people only the first in each language rated."""
    monkeypatch.chdir(tmp_path)
    demo = load_dataset(pages.ROOT / "datasets" / "demo")
    others = [
        name
        for name, rater in demo.raters.items()
        if rater.kind == "human" and not name.endswith("-1")
    ]
    ratings = demo.ratings[~demo.ratings["rater"].isin(others)]
    raters = {name: rater for name, rater in demo.raters.items() if name not in others}
    kept = replace(demo, ratings=ratings, raters=raters)
    save_dataset(kept, Path("datasets/alone"))
    folder = written(
        load_dataset(Path("datasets/alone")), tmp_path / "run", criteria=("task_quality",)
    )
    return AuditRun.read(folder)


def test_no_judge_is_like_a_person_where_one_rated_and_the_command_asks_who_knows(
    alone: AuditRun,
) -> None:
    assert tells(headline(alone), "one person's rating:", "no judge")
    *_, todo = cards(alone)
    assert tells(todo.words, "One person", "somebody who knows", "40 outputs")
    # what the fixture calls the dataset's path
    program, *words = shlex.split(todo.command.replace("made", "datasets/alone"))
    assert program == "metal"
    done = CliRunner().invoke(command_line, [*words, "--out", "plan"])
    assert done.exit_code == 0, done.output
    assert {page.name[:2] for page in Path("plan").glob("*.html")} == {"ar", "en", "es", "hi"}


def test_what_an_audit_of_a_table_and_the_drawing_print_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"q{row},text {row},{row * 37 % 101 / 7:.2f},{row * 71 % 103 / 7:.2f}" for row in range(70)
    ]
    Path("one.csv").write_text(
        "\n".join(["question,answer,human_score,llm_score", *rows]), encoding="utf-8"
    )
    audited = CliRunner().invoke(command_line, ["audit", "one.csv"])
    printed = next(
        line for line in audited.output.splitlines() if "&& metal annotate export" in line
    )
    shown = []
    for command in printed.strip().split(" && "):
        done = CliRunner().invoke(command_line, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        shown.append(done.output)
    assert "nothing says what overall asks" in shown[-1]
    following = next(
        line for line in shown[1].splitlines() if line.startswith("Next: metal annotate")
    )
    again = [*shlex.split(following.removeprefix("Next: "))[1:], "--out", "again"]
    done = CliRunner().invoke(command_line, again)
    assert done.exit_code == 0, done.output


def _rows(language: str, people: str, outputs: int, right: bool = True) -> list[dict[str, object]]:
    """Ratings of a judge and people who are right, or who answer without looking."""
    answers = {
        who: [(place + (0 if right or who == "gpt" else turn)) % 2 for place in range(outputs)]
        for turn, who in enumerate([*people, "gpt"])
    }
    if not right:
        answers |= {
            who: [place // 2 ** (turn + 1) % 2 for place in range(outputs)]
            for turn, who in enumerate(people)
        }
    return [
        {
            "language": language,
            "output": f"{language}{place}",
            "criterion": "quality",
            "rater": who,
            "kind": "llm" if who == "gpt" else "human",
            "score": score,
        }
        for who, scores in answers.items()
        for place, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            _rows("hi", "a", 100) + _rows("ta", "xyz", 25),
            "Each output has one person's rating in Hindi (quality): no judge can be shown to be"
            " like a person there.",
        ),
        (
            _rows("hi", "abc", 96, right=False) + _rows("ta", "xyz", 25) + _rows("ml", "xyz", 25),
            "People disagree on quality in Hindi: no judge can be tested there. In Malayalam and"
            " Tamil (quality) nothing can be said yet: there are too few ratings, or they are too"
            " uncertain.",
        ),
        (
            _rows("hi", "abc", 96, right=False),
            "Nobody can be judged here: people disagree among themselves on quality in Hindi.",
        ),
    ],
)
def test_a_headline_speaks_of_the_languages_it_holds_in(
    rows: list[dict[str, object]], says: str
) -> None:
    assert headline(metal.audit(pd.DataFrame(rows), resamples=100)).startswith(says)
