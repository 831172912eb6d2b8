"""Results of other evaluation harnesses, known by their columns: they are named, and nothing in them is guessed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Harness:
    """What the results of a harness are called, and the columns or keys that mark them, all of which must be there.

    answers: the pattern of the columns that hold answers; "" where ratings stand in lists and objects.
    """

    name: str
    marks: frozenset[str]
    answers: str = ""


HARNESSES = (
    Harness("inspect_ai's samples_df", frozenset({"sample_id", "eval_id", "epoch", "input"}), "score_*"),
    Harness("a log of inspect_ai", frozenset({"eval", "plan", "samples"})),
    Harness("results of DeepEval", frozenset({"metrics_data"})),
    Harness("a test run of DeepEval", frozenset({"testCases"})),
    Harness("a test run of DeepEval", frozenset({"metricsData"})),
    Harness("results of promptfoo", frozenset({"evalId", "results"})),
    Harness("results of promptfoo", frozenset({"gradingResult", "promptIdx"})),
    Harness("results of promptfoo", frozenset({"Status", "Score", "Named Scores", "Grader Reason"})),
    Harness("samples of lm-eval", frozenset({"doc", "resps", "filtered_resps"})),
    Harness("events of OpenAI Evals", frozenset({"run_id", "event_id", "type", "data"})),
    Harness("traces of MLflow", frozenset({"trace_id", "assessments"})),
    Harness("scores of Langfuse", frozenset({"traceId", "dataType", "source", "value"})),
    Harness("annotations of Phoenix", frozenset({"annotation_name", "annotator_kind"})),
    Harness("records of Argilla", frozenset({"responses", "suggestions"})),
    Harness("runs of LangSmith", frozenset({"inputs", "outputs", "feedback"}), "feedback.*"),
)


def harness_of(names: Collection[str]) -> Harness | None:
    """The harness whose results have these columns or keys; None where it is none of those."""
    starts = {name.split(".")[0] for name in names}
    every = {*names, *starts}
    return next((harness for harness in HARNESSES if harness.marks <= every), None)
