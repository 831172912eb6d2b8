"""Synthetic judges: the scores that they were asked for, by the way that models' answers go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.data.records import Criterion, Level, Output, Scale
from metal.errors import MetalError, UnknownName, UsageError
from metal.raters.judges.fake import synthetic_judge, with_records
from metal.raters.judges.models import find_model

FIVE = Criterion(
    "task_quality", Scale("ordinal", tuple(Level(value, str(value)) for value in range(1, 6)))
)
DECLARED = [
    {"condition": "swapped output", "falls": ["task_quality"]},
    {"condition": "bold type", "falls": []},
    {"condition": "authority in English", "falls": []},
]


def scores(
    name: str, how: str = "", language: str = "hi", criterion: Criterion = FIVE, **more: str
) -> np.ndarray:
    """What the judge gives 400 outputs."""
    made = {f"o{number}{how}": f"o{number}" if how else "" for number in range(400)}
    outputs = [
        Output(name, "s", "g", language, "text", of=of, condition=how, **more)
        for name, of in made.items()
    ]
    judge = synthetic_judge(find_model(name, {}))
    return np.array(
        [
            asyncio.run(judge("", record.text, criterion))
            for record in with_records(outputs, DECLARED)
        ]
    )


def test_a_known_d() -> None:
    clean, changed = scores("fake:sensitive?d=1"), scores("fake:sensitive?d=1", "swapped output")
    assert np.bincount(clean.astype(int), minlength=6)[1:].min() > 50  # even over the scale
    noticed = ((clean > changed) + (clean == changed) / 2).mean()
    # latents apart by 1 and cut at the quintiles: P(clean > changed) + P(tie) / 2
    below = [0.0, 0.5633, 0.7725, 0.8949, 0.9672, 1.0]
    truth = sum((below[k + 1] - below[k]) * (1 - (k + 0.5) / 5) for k in range(5))
    assert noticed == pytest.approx(truth, abs=0.05)
    assert scores("fake:sensitive?d=1", "bold type").mean() == pytest.approx(clean.mean(), abs=0.25)
    assert (scores("fake:sensitive?d=1") == clean).all()


def test_what_each_does() -> None:
    assert scores("fake:blind?language=yo", "swapped output", "yo").mean() == pytest.approx(
        3, abs=0.25
    )
    assert scores("fake:blind?language=yo", "swapped output", "hi").mean() < 1.3
    # half of the outputs one level higher, where there is one: 3 + 0.5 * 4 / 5
    assert scores("fake:lenient?language=eu&shift=.5", language="eu").mean() == pytest.approx(
        3.4, abs=0.2
    )
    assert scores("fake:lenient?language=eu&shift=.5").mean() == pytest.approx(3, abs=0.25)
    assert (scores("fake:swayed?by=order&shift=4", "order in English") == 5).all()
    praised = "authority in English"
    assert scores("fake:swayed?by=authority&shift=.5", praised).mean() == pytest.approx(
        3.4, abs=0.2
    )
    assert scores("fake:swayed?by=authority&shift=.5", "bold type").mean() == pytest.approx(
        3, abs=0.25
    )
    assert (scores("fake:copycat", "swapped output") == scores("fake:copycat")).all()
    assert set(scores("fake:length")) == {1}  # four letters
    pair = Criterion(
        "better", Scale("nominal", (Level(0, "first"), Level(1, "second"), Level(2, "tie")))
    )
    assert set(scores("fake:position", criterion=pair, first="a", second="b")) == {0}
    first = scores("fake:position?shift=1&language=hi", criterion=pair, first="a", second="b")
    assert 1 - first.mean() == pytest.approx(0.73, abs=0.06)  # 1 / (1 + exp(-1))
    assert set(first) == {0, 1}
    worse = Criterion(
        "hallucinations", Scale("nominal", (Level(0, "Absent"), Level(1, "Present"))), "lower"
    )
    # undeclared: everything falls
    assert scores("fake:sensitive?d=9", "truncated", criterion=worse).mean() > 0.95
    share = Criterion("task_quality", Scale("interval", (), 0, 100))
    assert 45 < scores("fake:random", criterion=share).mean() < 55


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fake:rondom", "did you mean 'random'"),
        ("fake:blind?lang=yo", "did you mean 'language'"),
        ("fake:swayed?shift=1", "e.g. fake:swayed"),
        ("fake:sensitive?d=much", "Write a number, e.g. d=1.5"),
        ("fake:blind?language=klingonese", "is not known. Did you mean 'tlh'"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        find_model(name, {})


def test_what_sways_is_a_probe_or_a_condition_of_the_outputs() -> None:
    nope, authority = (
        find_model(f"fake:swayed?by={change}", {}) for change in ("nope", "authority")
    )
    with pytest.raises(UnknownName, match="change 'nope' is not known"):
        synthetic_judge(nope, ["retold"])
    assert synthetic_judge(nope, ["nope twice"])
    assert synthetic_judge(authority)


def test_through_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    about = {"language": "hi", "output_text": "same", "rater": "A1"}
    rows = [{"source": f"q{n}", "overall": n % 3, **about} for n in range(30)]
    metal.read(pd.DataFrame(rows), levels={"*": "0 < 1 < 2"}).save("data")
    first = metal.judge("data", "fake:random,fake:blind?language=hi", out="run", limit=10)
    assert not first.complete
    run = metal.judge(resume="run")
    assert run.complete
    assert len(run.ratings) == 60
    assert run.ratings["score"].nunique() == 3  # equal texts are outputs of their own
    assert all(estimate.cost == 0 for estimate in run.outcome.estimates)
    lines = (tmp_path / "run" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if json.loads(line)["kind"] == "verdict"]) == 60
    audit = metal.audit("data", "run")
    made_up = "fake:random, fake:blind?language=hi: synthetic judges"
    assert any(warning.startswith(made_up) for warning in audit.warnings)
    assert ("fake:NAME?SETTING=VALUE", "ready") in set(
        metal.judges_list().providers[["name", "state"]].itertuples(index=False, name=None)
    )
    with pytest.raises(UsageError, match="a run of their own"):
        metal.judge("data", "fake:random,openai:gpt-4o", out="other")
    with pytest.raises(UsageError, match="`engine` and `batch`"):
        metal.judge("data", "fake:random", out="other", batch=True)
    with pytest.raises(UsageError, match="outputs of a dataset"):
        metal.judges_test("fake:random")
