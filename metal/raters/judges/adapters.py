"""Use judges of other packages in METAL: LangChain runnables, inspect_ai scorers, DeepEval and
ragas metrics.

An object of another package is recognized by its class, so METAL need not import the package. The
object becomes a function of source, output and criterion (`metal.raters.judges.functions`). Each
kind of object gets:

- LangChain: a dict with source, output, language, criterion (its name), question, levels and
  references. It returns a text, a message, a score, or an object with `score` and `justification`.
- inspect_ai: a TaskState with the source as input, the output as completion and the references as
  target. Its letters C, P and I become the best score, the middle and the worst; N means no answer;
  a number is a score on the scale.
- DeepEval: an LLMTestCase with input, actual_output, the first reference as expected_output, and
  the source as context and retrieval_context.
- ragas: a SingleTurnSample with user_input, response, the first reference, and the source as
  retrieved_contexts.

Scores of DeepEval and ragas run from 0 (worst) to 1 (best). They are stretched over the criterion's
scale; on a scale with levels, the nearest level is taken. The justification begins with the
original score.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

from metal.data.records import Criterion
from metal.errors import UsageError

# The module and class of what is recognized; a scorer of inspect_ai is a function that its registry
# knows.
_CLASSES = (
    ("langchain_core.runnables", "Runnable", "_langchain"),
    ("deepeval.metrics", "BaseMetric", "_deepeval"),
    ("ragas.metrics", "SingleTurnMetric", "_ragas"),
)
_INSPECT_SCORES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": math.nan}


def adapted(judge: Any) -> Callable[..., Any]:
    """The function that METAL calls as a judge: the given function, or a function that asks an
    object of another package.

    Raises UsageError if `judge` is neither a function nor such an object.
    """
    ancestors = [(kind.__module__, kind.__name__) for kind in type(judge).__mro__]
    for module, name, adapter in _CLASSES:
        if any(origin.startswith(module) and kind == name for origin, kind in ancestors):
            function: Callable[..., Any] = globals()[adapter](judge)
            return function
    registered = getattr(judge, "__registry_info__", None)
    if getattr(registered, "type", "") == "scorer":
        return _inspect(judge)
    if not callable(judge) or isinstance(judge, type):
        raise UsageError(
            "a judge is a function, a LangChain runnable, an inspect_ai scorer, or a DeepEval or"
            " ragas metric of a single turn, not"
            f" {'the class ' + judge.__name__ if isinstance(judge, type) else type(judge).__name__}"
        )
    if registered is not None:
        raise UsageError(
            "a function of inspect_ai that is not a scorer, but may return one; pass the result"
            " of calling it: scorer()"
        )
    taken: Callable[..., Any] = judge
    return taken


def stretched(share: float, criterion: Criterion) -> float:
    """Convert a score from 0 (worst) to 1 (best) to the criterion's scale; on levels, to the
    nearest level.

    Raises ValueError if the share is outside 0 to 1, or if the scale has no worst and best end.
    """
    scale = criterion.scale
    if scale.ends is None:
        raise ValueError(
            f"{criterion.name} has no worst and best score, so a score from 0 to 1 means nothing"
            " on it"
        )
    if not 0 <= share <= 1:
        raise ValueError(f"{share:g} is not between 0 and 1")
    worst, best = scale.ends if criterion.direction == "higher" else scale.ends[::-1]
    score = worst + share * (best - worst)
    return min(scale.values, key=lambda value: abs(value - score)) if scale.levels else score


def _with_reason(share: Any, reason: Any, criterion: Criterion) -> tuple[float, str] | None:
    """Make an answer from a score from 0 to 1 and its reason; None if there is no score."""
    if share is None or math.isnan(float(share)):
        return None
    return (
        stretched(float(share), criterion),
        f"{float(share):.3g} of 0 to 1{f': {reason}' if reason else ''}",
    )


def _langchain(runnable: Any) -> Callable[..., Any]:
    async def judge(
        source: str, output: Any, criterion: Criterion, language: str, references: list[str]
    ) -> Any:
        levels = [f"{level.value:g} = {level.label}" for level in criterion.scale.levels]
        asked = {
            "source": source,
            "output": output,
            "language": language,
            "criterion": criterion.name,
        }
        asked |= {
            "question": criterion.wording,
            "levels": "\n".join(levels),
            "references": "\n\n".join(references),
        }
        answer = await runnable.ainvoke(asked)
        if hasattr(answer, "model_dump") and not hasattr(answer, "content"):
            return answer.model_dump()
        content = getattr(answer, "text", getattr(answer, "content", answer))
        return str(content) if hasattr(answer, "content") else content

    return judge


def _inspect(scorer: Any) -> Callable[..., Any]:
    async def judge(source: str, output: str, criterion: Criterion, references: list[str]) -> Any:
        from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelName, ModelOutput
        from inspect_ai.scorer import Target
        from inspect_ai.solver import TaskState

        state = TaskState(
            model=ModelName("none/none"),
            sample_id=0,
            epoch=1,
            input=source,
            messages=[ChatMessageUser(content=source), ChatMessageAssistant(content=output)],
            output=ModelOutput.from_content("none", output),
        )
        score = await scorer(state, Target(references))
        if isinstance(score.value, str) and score.value in _INSPECT_SCORES:
            return _with_reason(_INSPECT_SCORES[score.value], score.explanation, criterion)
        if isinstance(score.value, Mapping):
            raise ValueError(
                f"several scores ({', '.join(score.value)}); a judge must return one per criterion"
            )
        return float(score.value), score.explanation or ""

    return judge


def _deepeval(metric: Any) -> Callable[..., Any]:
    def judge(source: str, output: str, criterion: Criterion, references: list[str]) -> Any:
        from deepeval.test_case import LLMTestCase

        expected = references[0] if references else None
        texts = {"expected_output": expected, "context": [source], "retrieval_context": [source]}
        case = LLMTestCase(input=source, actual_output=output, **texts)
        own = copy.copy(metric)  # it keeps its score in itself
        own.measure(case, _show_indicator=False)
        return _with_reason(own.score, own.reason, criterion)

    return judge


def _ragas(metric: Any) -> Callable[..., Any]:
    async def judge(source: str, output: str, criterion: Criterion, references: list[str]) -> Any:
        from ragas import SingleTurnSample

        reference = references[0] if references else None
        sample = SingleTurnSample(
            user_input=source, response=output, reference=reference, retrieved_contexts=[source]
        )
        return _with_reason(await metric.single_turn_ascore(sample), "", criterion)

    return judge
