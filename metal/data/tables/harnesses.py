"""Results of other evaluation harnesses, recognized by their columns. Those with a format are read
by it (metal.data.formats.harnesses); of the others METAL names the harness and guesses nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from metal.errors import DataError

A_ROW_A_RATING = "Write a row for each rating: output, rater, criterion, score, language"


@dataclass(frozen=True)
class Harness:
    """The name of a harness's results, and the columns or keys that mark them, all of which must
    exist; * means any letters. In JSON, `eval.task_id` is a key in an object or in a list of them;
    of a zip, the marks are names of its members.

    remedy: what to do about them. format: the format of METAL that reads them, if there is one.
    """

    name: str
    marks: frozenset[str]
    remedy: str = A_ROW_A_RATING
    format: str = ""


HARNESSES = (
    Harness(
        "inspect_ai's samples_df",
        frozenset({"sample_id", "eval_id", "epoch", "input"}),
        format="inspect",
    ),
    Harness("a log of inspect_ai", frozenset({"eval", "plan", "samples"}), format="inspect"),
    Harness(
        "a log of inspect_ai", frozenset({"eval.task_id", "eval.model", "eval"}), format="inspect"
    ),
    Harness("a log of inspect_ai", frozenset({"_journal/start.json"}), format="inspect"),
    Harness("a log of inspect_ai", frozenset({"header.json", "samples/*"}), format="inspect"),
    Harness(
        "score edits of inspect_ai",
        frozenset({"sample_id", "score_name", "edit"}),
        "Apply them to their log with inspect_ai's edit_score, and give METAL the log",
    ),
    Harness("results of DeepEval", frozenset({"metrics_data"}), format="deepeval"),
    Harness("results of DeepEval", frozenset({"test_results.metrics_data"}), format="deepeval"),
    Harness("a test run of DeepEval", frozenset({"testCases"}), format="deepeval"),
    Harness("a test run of DeepEval", frozenset({"metricsData"}), format="deepeval"),
    Harness(
        "goldens of DeepEval with METAL's ratings",
        frozenset(f"additional_metadata.{name}" for name in ("generator", "output", "ratings")),
        format="deepeval",
    ),
    Harness("results of promptfoo", frozenset({"evalId", "results"}), format="promptfoo"),
    Harness(
        "results of promptfoo",
        frozenset({"config", "results.results", "results.stats"}),
        format="promptfoo",
    ),
    Harness("results of promptfoo", frozenset({"gradingResult", "promptIdx"}), format="promptfoo"),
    Harness(
        "results of promptfoo",
        frozenset({"Status", "Score", "Grader Reason"}),
        format="promptfoo",
    ),
    Harness("samples of lm-eval", frozenset({"doc", "resps", "filtered_resps"}), format="lm-eval"),
    Harness("results of lm-eval", frozenset({"results", "configs", "n-shot"}), format="lm-eval"),
    Harness(
        "events of OpenAI Evals",
        frozenset({"run_id", "event_id", "type", "data"}),
        format="openai-evals",
    ),
    Harness("traces of MLflow", frozenset({"trace_id", "assessments"}), format="mlflow"),
    Harness("traces of MLflow", frozenset({"request_id", "assessments"}), format="mlflow"),
    Harness("traces of MLflow", frozenset({"info.trace_id", "info.assessments"}), format="mlflow"),
    Harness("traces of MLflow", frozenset({"traces.info", "traces.data"}), format="mlflow"),
    Harness(
        "traces of MLflow", frozenset({"traces.trace_id", "traces.assessments"}), format="mlflow"
    ),
    Harness(
        "scores of Langfuse",
        frozenset({"traceId", "dataType", "source", "value"}),
        format="langfuse",
    ),
    Harness(
        "scores of Langfuse",
        frozenset({"trace_id", "data_type", "source", "value"}),
        format="langfuse",
    ),
    Harness(
        "scores of Langfuse",
        frozenset({"traceId", "observationId", "source", "name", "value"}),
        format="langfuse",
    ),
    Harness(
        "scores of Langfuse",
        frozenset({"trace_id", "observation_id", "source", "name", "value"}),
        format="langfuse",
    ),
    Harness(
        "scores of Langfuse",
        frozenset({"data.dataType", "data.source", "data.value"}),
        format="langfuse",
    ),
    Harness(
        "annotations of Phoenix",
        frozenset({"annotation_name", "annotator_kind"}),
        format="phoenix",
    ),
    Harness(
        "annotations of Phoenix",
        frozenset({"data.annotator_kind", "data.result"}),
        format="phoenix",
    ),
    Harness(
        "records of Argilla", frozenset({"fields", "responses", "suggestions"}), format="argilla"
    ),
    Harness(
        "records of Argilla", frozenset({"*.responses", "*.responses.users"}), format="argilla"
    ),
    Harness(
        "records of Argilla", frozenset({"*-suggestion", "*-suggestion-metadata"}), format="argilla"
    ),
    Harness(
        "annotations of AlpacaEval",
        frozenset({"instruction", "output_1", "output_2", "preference"}),
        format="alpaca-eval",
    ),
    Harness(
        "votes of Chatbot Arena",
        frozenset({"winner_model_a", "winner_model_b", "winner_tie"}),
        format="arena",
    ),
    Harness(
        "votes of Chatbot Arena",
        frozenset({"model_a", "model_b", "winner", "evaluation_session_id"}),
        format="arena",
    ),
    Harness(
        "FastChat's judgments of pairs",
        frozenset({"g1_winner", "g2_winner", "model_1", "model_2"}),
        format="arena",
    ),
    Harness(
        "samples of Every Eval Ever",
        frozenset({"evaluation_id", "interaction_type", "answer_attribution"}),
        format="every-eval-ever",
    ),
    Harness(
        "records of Every Eval Ever",
        frozenset({"evaluation_id", "eval_library", "evaluation_results"}),
        format="every-eval-ever",
    ),
    *(
        Harness("a JSON export of Label Studio", frozenset(marks), format="label-studio")
        for marks in (
            ("annotations", "data", "predictions"),
            ("annotations", "data", "project"),
            ("annotations.result", "data"),
            ("predictions.result", "data"),
        )
    ),
    Harness(
        "errors marked by MQM",
        frozenset({"system", "category", "severity", "rater"}),
        format="mqm-errors",
    ),
    Harness(
        "runs of LangSmith", frozenset({"inputs.*", "outputs.*", "feedback.*"}), format="langsmith"
    ),
    Harness(
        "runs of LangSmith", frozenset({"inputs", "outputs", "feedback_stats"}), format="langsmith"
    ),
    Harness(
        "feedback of LangSmith",
        frozenset({"key", "score", "run_id", "feedback_source*"}),
        format="langsmith",
    ),
)


def harness_of(names: Collection[str]) -> Harness | None:
    """The harness whose results have these columns or keys; None if they are no known harness's."""
    starts = {name.split(".")[0] for name in names}
    every = {*names, *starts}
    return next((harness for harness in HARNESSES if are_marked(every, harness.marks)), None)


def refusal(harness: Harness, file: object) -> DataError:
    """The error for a harness's results if they would be read as an ordinary table."""
    problem = f"looks like {harness.name}, which METAL does not read"
    if harness.format:
        problem = f"looks like {harness.name}, not a table of ratings"
        return DataError(file, problem, f'Read it as that: `format="{harness.format}"`')
    return DataError(file, problem, harness.remedy)


def marks_of(format: str) -> tuple[frozenset[str], ...]:
    """The marks of all files that the format reads."""
    return tuple(harness.marks for harness in HARNESSES if harness.format == format)


def are_marked(names: Collection[str], marks: Collection[str]) -> bool:
    """Whether the marks are all among the names; * in a mark means any letters."""
    patterns = [mark for mark in marks if "*" in mark]
    if not {*marks} - {*patterns} <= {*names}:
        return False
    return all(any(fnmatchcase(name, pattern) for name in names) for pattern in patterns)
