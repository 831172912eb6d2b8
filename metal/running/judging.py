"""A run of `metal judge`: its request, its parts, and its run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from metal.data.dataset import Dataset
from metal.data.dataset_lines import rater_record
from metal.data.files import write_jsonl
from metal.data.progress import Progress, no_progress
from metal.data.ratings import FACTS, NUMBERS
from metal.data.ratings_files import write_ratings
from metal.data.records import Output, Rating
from metal.data.seen import texts_rated, texts_seen
from metal.data.text import plural
from metal.errors import UsageError
from metal.genie.gold_questions import with_questions
from metal.genie.store import write_tests
from metal.raters.judges.baselines import run_baselines
from metal.raters.judges.collect import CallStatistics, Collected, index_journal
from metal.raters.judges.examples import RatedExample, apart
from metal.raters.judges.functions import JudgeFunction
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.plan import JudgingPlan, asked_as, choose_outputs, rater_name
from metal.running.job import Job, Request
from metal.running.judging_parts import (
    check_without_prompt,
    connect,
    find_criteria,
    find_judges,
    find_prompts,
    find_test_questions,
    judged_outputs,
    notes_on_heads,
    set_examples_apart,
    shown_outputs,
)
from metal.running.prompting import distinct, undescribed, unreviewed
from metal.runs.judges_run import texts_digest
from metal.runs.passport import check, read_passport


@dataclass(frozen=True)
class JudgeRequest(Request):
    """What a run was asked to do: everything that decides which calls it makes. run.toml records
    it.
    """

    LISTS = ("judges", "prompts", "criteria", "languages")
    OPEN = ("criteria", "languages")
    SAME = (
        *(
            "seed",
            "prompt_language",
            "prompt_folders",
            "flip",
            "base_url",
            "orders",
            "probabilities",
            "examples",
        ),
        "question",
    )

    judges: tuple[str, ...]
    prompts: tuple[str, ...] = ("detailed",)
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample: int = 0
    seed: int = 0
    repeat: int = 1
    reask: int = 1
    prompt_language: str = ""
    prompt_folders: tuple[str, ...] = ()
    flip: tuple[str, ...] = ()
    base_url: str = ""
    test_questions: str = ""
    orders: str = "both"
    probabilities: bool = False
    examples: int = 0
    question: str = ""

    def reduced(self, older: JudgeRequest) -> str:
        if self.sample and not (0 < older.sample <= self.sample):
            return "sample"
        if self.repeat < older.repeat:
            return "repeat"
        if older.test_questions not in ("", self.test_questions):
            return "test_questions"
        return ""


@dataclass
class JudgeJob(Job):
    """A request with its parts.

    baselines: the baselines to run. questions: the test questions among the plan's outputs.
    ratings: how many ratings were written. scored: how many of them have a score. unanswered: how
    many answers of baselines are missing, by (baseline, reason).
    """

    command = "judge"
    DESCRIBED = "models"
    wanted = "score"

    request: JudgeRequest
    plan: JudgingPlan
    baselines: tuple[str, ...] = ()
    questions: tuple[Output, ...] = ()
    ratings: int = 0
    scored: int = 0
    unanswered: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def raters(self) -> tuple[str, ...]:
        return self.request.judges

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted({output.language for output in self.plan.outputs}))

    @property
    def answers_itself(self) -> bool:
        return bool(self.baselines)

    def what(self) -> str:
        plan = self.plan
        prompts = ", ".join(filter(None, (prompt.name for prompt in plan.prompts)))
        times = f", {plan.repeat} times" if plan.repeat > 1 else ""
        tests = f" and {len(self.questions):,} test questions" if self.questions else ""
        outputs = f"{plural(len(plan.outputs) - len(self.questions), 'output')}{tests}"
        criteria = plural(len(plan.criteria), "criterion", "criteria")
        return f"{outputs}, {criteria}{prompts and f', prompts {prompts}'}{times}"

    def digests(self) -> dict[str, str]:
        prompts, criteria = self.plan.prompts, self.plan.criteria
        return {
            f"{prompt.name} {name}": prompt.digest(name) for prompt in prompts for name in criteria
        }

    def finish(self, out: Path, progress: Progress = no_progress) -> Mapping[str, CallStatistics]:
        """Write raters.jsonl and ratings.parquet from the journal, and the run's progress to
        run.toml.
        """
        collected = Collected(self.plan, index_journal(self.plan, out / JOURNAL))
        rated = with_questions(self.dataset, self.questions)
        people, facts = run_baselines(rated, self.baselines, seed=self.request.seed)
        raters = [*collected.raters(), *people]
        write_jsonl(out / "raters.jsonl", map(rater_record, raters))
        chosen = {output.output for output in self.plan.outputs}
        baselines = (
            Rating(*row)
            for row in zip(*(facts[name] for name in FACTS), strict=True)
            if row[0] in chosen and row[1] in self.plan.criteria
        )
        answers: list[Rating] = []
        kept = self._kept(chain(collected.ratings(progress), baselines), answers)
        optional = NUMBERS if any(model.gives_probabilities for model in self.plan.models) else ()
        outputs = self.dataset.outputs  # synthetic judges are shown records in their place
        shown = [outputs.get(output.output, output) for output in self.plan.outputs]
        seen = texts_seen(shown, outputs, self.dataset.sources)
        rows = write_ratings(kept, out / "ratings.parquet", optional, texts=seen)
        write_tests(out, self.questions, answers)
        not_asked = sum(each.not_asked for each in collected.index.statistics.values())
        state = {"ratings": rows, "not_asked": not_asked, "complete": not not_asked}
        statistics = collected.index.statistics
        self.write_run(out, raters, statistics, texts=texts_digest(self.dataset), state=state)
        silent = facts[facts["score"].isna()]
        self.ratings, self.unanswered = (
            rows,
            Counter(zip(silent["rater"], silent["reason"], strict=True)),
        )
        return statistics

    def _kept(self, ratings: Iterable[Rating], answers: list[Rating]) -> Iterator[Rating]:
        """The ratings of the dataset's outputs; answers to test questions go into the list
        `answers` instead.
        """
        asked = {question.output for question in self.questions}
        self.scored = 0
        for rating in ratings:
            if rating.output in asked:
                answers.append(rating)
            else:
                self.scored += rating.score is not None
                yield rating


def left_out(run: Path, job: JudgeJob) -> Iterator[str]:
    """Notes on outputs that a resumed run has ratings of, but that are no longer in the plan."""
    rated = texts_rated(run / "ratings.parquet")
    gone = [name for name in rated if name not in {each.output for each in job.plan.outputs}]
    if gone:
        yield (
            f"left out: the ratings of {plural(len(gone), 'output')} that are no longer in the"
            f" data, such as {gone[0]!r}; the replies stay in {JOURNAL}"
        )


def judge_job(
    request: JudgeRequest,
    folder: Path,
    dataset: Dataset,
    *,
    concurrency: int | None = None,
    functions: Mapping[str, JudgeFunction] | None = None,
) -> JudgeJob:
    """Build the job of a request: its models, prompts and rubrics for the dataset in the folder.

    functions: judges that are functions, by name. Raises UsageError, UnknownName or DataError.
    """
    if not dataset.outputs:
        raise UsageError(
            f"{folder} has no outputs to rate yet; `metal.generate` makes some from its sources"
        )
    judges = find_judges(request, dataset, functions or {}, concurrency)
    check_without_prompt(request, judges)
    asked = find_criteria(request, folder, dataset)
    dataset = asked.dataset
    warnings = [*judges.warnings, *asked.notes, *notes_on_heads(judges.heads, asked.criteria)]
    judged = judged_outputs(asked)
    examples: Mapping[str, tuple[RatedExample, ...]] = {}
    if request.examples:
        examples, judged, note = set_examples_apart(request, judges, asked, judged)
        warnings.append(note)
    outputs = choose_outputs(judged, request.languages, request.sample, request.seed)
    languages = {output.language for output in outputs}
    prompts, alike = distinct(find_prompts(request, judges, asked, languages, examples))
    warnings += unreviewed(prompts)
    if not request.question:
        warnings += undescribed(prompts)
    warnings += alike
    shown = shown_outputs(request, judges, asked, outputs)
    questions = find_test_questions(request, folder, dataset, shown, warnings.append)
    if len(apart(questions, dataset, examples)) < len(questions):
        raise UsageError(
            "`test_questions` would be made from sources that are shown as examples; give another"
            " `seed`"
        )
    plan = JudgingPlan(
        judges.models,
        prompts,
        asked.criteria,
        [*shown, *questions],
        dataset.sources,
        request.repeat,
    )
    warnings += missing_texts(plan, folder)
    return JudgeJob(
        request,
        folder,
        dataset,
        plan,
        partial(connect, judges, asked.criteria),
        tuple(warnings),
        concurrency,
        baselines=judges.baselines,
        questions=questions,
    )


def check_allowed(job: JudgeJob, passport: Path) -> None:
    """Raise UsageError or DataError if a passport does not allow everything that a job would ask of
    its judges.
    """
    plan, issued = job.plan, read_passport(passport)
    cells = {(output.language, criterion) for output in plan.outputs for criterion in plan.criteria}
    for baseline in job.baselines:
        check(issued, baseline, {}, cells)
    for model in plan.models:
        for prompt in plan.prompts:
            check(issued, rater_name(model, prompt), asked_as(model, prompt, plan.criteria), cells)


def dataset_of(run: Path, settings: Mapping[str, Any]) -> Path:
    """The dataset on which a run was begun. Raises UsageError if it is no longer in its place."""
    dataset = Path(settings["dataset"])
    if not dataset.exists():
        raise UsageError(
            f"{run} was begun on {dataset}, which is not here; resume it where it was begun"
        )
    return dataset


def missing_texts(plan: JudgingPlan, folder: Path) -> list[str]:
    """Warnings about outputs and sources without a text. Raises UsageError if no output has
    one.
    """
    if plan.models and plan.without_text == len(plan.outputs):
        raise UsageError(
            f"{folder} has ratings but no texts of its outputs; LLM judges need the texts"
        )
    warnings = []
    if plan.without_text:
        warnings.append(f"warning: {plan.without_text:,} outputs have no text and are not judged")
    if plan.models and plan.without_source:
        warnings.append(
            f"warning: {plan.without_source:,} outputs are judged without their source, whose text"
            " is missing"
        )
    if plan.models and plan.without_reference == len(plan.outputs) - plan.without_text:
        if plan.without_reference and not any(prompt.name == "" for prompt in plan.prompts):
            raise UsageError(
                f"{folder} has no references to show to judges; leave out `with_reference`, or add"
                ' them to its sources.jsonl: "references": ["...", ...]'
            )
    elif plan.without_reference:
        warnings.append(
            f"warning: {plan.without_reference:,} outputs are judged without a reference, because"
            " there is none"
        )
    return warnings
