"""Judges of inspect_ai, DeepEval and ragas, as those packages are: `make test-adapters` installs
each beside METAL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import metal

DEMO = "datasets/demo"


def judged(judge: Any, folder: Path) -> set[tuple[float, str]]:
    """The scores and justifications of five outputs."""
    run = metal.judge(DEMO, judge, name="theirs", criteria="task_quality", out=folder, limit=5)
    answered = run.ratings.dropna(subset="score")
    assert len(answered) == 5
    return set(zip(answered["score"], answered["comment"], strict=True))


def test_an_inspect_ai_scorer(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.scorer import Score, Target, accuracy, scorer
    from inspect_ai.solver import TaskState

    @scorer(metrics=[accuracy()])
    def half() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            assert state.input_text
            return Score(value="P" if state.output.completion else "N", explanation="half right")

        return score

    assert judged(half(), tmp_path / "run") == {(1.0, "0.5 of 0 to 1: half right")}


def test_a_deepeval_metric(tmp_path: Path) -> None:
    pytest.importorskip("deepeval")
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    class Short(BaseMetric):  # type: ignore[misc]
        threshold = 0.5

        def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
            self.score, self.reason = (
                float(len(test_case.actual_output) < len(test_case.input)),
                "shorter",
            )
            return self.score

        async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return True

    assert judged(Short(), tmp_path / "run") == {(2.0, "1 of 0 to 1: shorter")}


def test_a_ragas_metric(tmp_path: Path) -> None:
    pytest.importorskip("ragas")
    from ragas.metrics import StringPresence

    class InTheSource(StringPresence):  # type: ignore[misc]
        def init(self, run_config: Any) -> None: ...

        async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
            assert sample.retrieved_contexts == [sample.user_input]
            return float(bool(sample.response))

    metric = InTheSource()
    metric._required_columns = {}
    assert judged(metric, tmp_path / "run") == {(2.0, "1 of 0 to 1")}
