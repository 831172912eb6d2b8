"""A judges' run: what was asked of `metal judge`, its parts, and its run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from metal.data.dataset import Dataset
from metal.data.dataset_lines import rater_record
from metal.data.files import write_jsonl
from metal.data.progress import Progress, no_progress
from metal.data.ratings import FACTS, OPTIONAL
from metal.data.ratings_files import write_ratings
from metal.data.records import COMPARED, SWAPPED, Criterion, Output, Rating
from metal.data.text import listed, plural
from metal.errors import UsageError, check_known
from metal.genie.gold_questions import with_questions
from metal.genie.store import draw_questions, read_questions, write_tests
from metal.raters.judges.baselines import BASELINES, run_baselines
from metal.raters.judges.call import Client
from metal.raters.judges.collect import CallStatistics, Collected, index_journal
from metal.raters.judges.examples import RatedExample, apart, draw_examples
from metal.raters.judges.fake import FAKE, as_synthetic, synthetic_judge, with_records
from metal.raters.judges.functions import (
    FunctionClient,
    JudgeFunction,
    direct_prompt,
    function_model,
    is_function,
    named_function,
    takes_references,
)
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.models import Model, find_model, judges_files, named_models, with_settings
from metal.raters.judges.plan import JudgingPlan, asked_as, choose_outputs, rater_name
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.providers import find_provider, open_client
from metal.raters.judges.rubric import described
from metal.raters.judges.templates import variant
from metal.running.job import Job, Request
from metal.running.prompting import distinct, load_prompts, prompt_folders, undescribed, unreviewed
from metal.runs.judges_run import texts_digest
from metal.runs.passport import check, read_passport


@dataclass(frozen=True)
class JudgeRequest(Request):
    """What a run was asked to do: everything that decides which calls it has. The same in run.toml."""

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

    baselines: those to run. questions: test questions among the plan's outputs. ratings, scored,
    unanswered: how many were written, how many of them have a score, and those of baselines without
    an answer, by (baseline, reason).
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
        """Write raters.jsonl and ratings.parquet from the journal, and how far the run is into
        run.toml.
        """
        collected = Collected(self.plan, index_journal(self.plan, out / JOURNAL))
        rated = with_questions(self.dataset, self.questions)
        people, facts = run_baselines(rated, self.baselines, seed=self.request.seed)
        write_jsonl(out / "raters.jsonl", map(rater_record, chain(collected.raters(), people)))
        chosen = {output.output for output in self.plan.outputs}
        baselines = (
            Rating(*row)
            for row in zip(*(facts[name] for name in FACTS), strict=True)
            if row[0] in chosen and row[1] in self.plan.criteria
        )
        answers: list[Rating] = []
        kept = self._kept(chain(collected.ratings(progress), baselines), answers)
        optional = OPTIONAL if any(model.gives_probabilities for model in self.plan.models) else ()
        rows = write_ratings(kept, out / "ratings.parquet", optional)
        write_tests(out, self.questions, answers)
        not_asked = sum(each.not_asked for each in collected.index.statistics.values())
        state = {"ratings": rows, "not_asked": not_asked, "complete": not not_asked}
        self.write_run(out, texts=texts_digest(self.dataset), state=state)
        silent = facts[facts["score"].isna()]
        self.ratings, self.unanswered = (
            rows,
            Counter(zip(silent["rater"], silent["reason"], strict=True)),
        )
        return collected.index.statistics

    def _kept(self, ratings: Iterable[Rating], answers: list[Rating]) -> Iterator[Rating]:
        """The ratings of the dataset's outputs; answers to test questions go to the list."""
        asked = {question.output for question in self.questions}
        self.scored = 0
        for rating in ratings:
            if rating.output in asked:
                answers.append(rating)
            else:
                self.scored += rating.score is not None
                yield rating


def judge_job(
    request: JudgeRequest,
    folder: Path,
    dataset: Dataset,
    *,
    concurrency: int | None = None,
    functions: Mapping[str, JudgeFunction] | None = None,
) -> JudgeJob:
    """The models, prompts and rubrics of a request over a dataset, which is at the folder.

    functions: judges that are functions, by name. Raises UsageError, UnknownName or DataError.
    """
    if not dataset.outputs:
        raise UsageError(
            f"{folder} has no outputs to rate yet; `metal.generate` makes some from its sources"
        )
    named = named_models(judges_files())
    functions = dict(functions or {})
    for name in request.judges:
        if (
            name not in functions
            and name not in named
            and name not in BASELINES
            and is_function(name)
        ):
            functions[name] = named_function(name)
    baselines = tuple(
        name
        for name in request.judges
        if name in BASELINES and name not in named and name not in functions
    )
    models = tuple(
        (
            function_model(name, functions[name], concurrency)
            if name in functions
            else with_settings(
                find_model(name, named, base_url=request.base_url), concurrency=concurrency
            )
        )
        for name in request.judges
        if name not in baselines
    )
    warnings = []
    if request.probabilities:
        models = tuple(
            model if model.name in functions else model.asked_for_probabilities()
            for model in models
        )
        if silent := [model.name for model in models if not model.gives_probabilities]:
            warnings.append(
                f"warning: no token probabilities, and so no confidence, from {listed(silent)}"
            )
    conditions = {output.condition for output in dataset.outputs.values()}
    synthetic = {
        model.name: synthetic_judge(model, conditions) for model in models if model.provider == FAKE
    }
    if synthetic:
        if len(synthetic) < len(models):
            raise UsageError(
                "synthetic judges (fake:...) get no prompt; give them a run of their own with `out`"
            )
        models, functions = tuple(map(as_synthetic, models)), synthetic
    heads = [
        model
        for model in models
        if model.name not in functions and find_provider(model.provider).direct
    ]
    direct = [*functions, *(head.name for head in heads)]
    if direct and len(direct) < len(models):
        raise UsageError(
            f"functions and score heads ({listed(direct)}) get no prompt; give them a run of their"
            " own with `out`"
        )
    together = any(variant(name, together=True) == name for name in request.prompts)
    prompted = {
        "together": together,
        "prompt_language": request.prompt_language,
        "question": request.question,
    }
    for option, given in prompted.items():
        if direct and given:
            raise UsageError(
                f"{direct[0]} gets no prompt and is asked for one criterion a call; leave out"
                f" `{option}`"
            )
    pairs = bool(dataset.asked) and all(
        criterion.scale.compares for criterion in dataset.asked.values()
    )
    if pairs and request.test_questions:
        raise UsageError("`test_questions` are about single outputs, and these are pairs")
    as_named = (
        each.as_named if each.condition == SWAPPED else each for each in dataset.outputs.values()
    )
    judged = {output.output: output for output in as_named if pairs or not output.is_pair}
    asked = {name: each for name, each in dataset.asked.items() if each.scale.compares == pairs}
    folders = prompt_folders(request.prompt_folders, folder)
    own = {
        name: described(name, folders) for name in request.criteria if name not in dataset.criteria
    }
    filed = {
        name: replace(each, scale=COMPARED) if pairs else each for name, each in own.items() if each
    }
    warnings += [
        f"note: {folder} has no criterion {name}; it is asked as criteria/{name}.toml says"
        for name in filed
    ]
    dataset, asked = replace(dataset, criteria={**dataset.criteria, **filed}), asked | filed
    check_known("criterion", request.criteria, asked)
    criteria = {name: dataset.criteria[name] for name in request.criteria or asked}
    warnings += _notes_on_heads(heads, list(criteria.values()))
    examples: Mapping[str, tuple[RatedExample, ...]] = {}
    if request.examples:
        if direct or pairs or request.prompt_language:
            raise UsageError("`examples` are for prompts in English about single outputs")
        eligible = choose_outputs(judged, request.languages)
        examples = draw_examples(dataset, eligible, criteria, request.examples, request.seed)
        judged = {output.output: output for output in apart(judged.values(), dataset, examples)}
        held = len(eligible) - sum(output.output in judged for output in eligible)
        warnings.append(
            f"note: {held:,} outputs are examples, or share their sources, and are not judged"
        )
    outputs = choose_outputs(judged, request.languages, request.sample, request.seed)
    if direct:
        references = any(map(takes_references, functions.values()))
        prompts: tuple[Prompt, ...] = (
            direct_prompt(criteria.values(), references, request.flip if heads else ()),
        )
    else:
        languages = {output.language for output in outputs}
        prompts = (
            load_prompts(request, criteria.values(), folders, languages, pairs) if models else ()
        )
    if examples:
        prompts = tuple(replace(prompt, examples=examples, _frames={}) for prompt in prompts)
    prompts, alike = distinct(prompts)
    if pairs and request.orders == "both":
        outputs = [shown for pair in outputs for shown in (pair, pair.swapped)]
    if synthetic:
        outputs = with_records(outputs, dataset.extra.get("probes", {}).get("conditions", ()))
    warnings += [*unreviewed(prompts), *(() if request.question else undescribed(prompts)), *alike]
    questions = _questions(request, folder, dataset, outputs, warnings.append)
    if len(apart(questions, dataset, examples)) < len(questions):
        raise UsageError(
            "`test_questions` are made of sources that are shown as examples; give another `seed`"
        )
    plan = JudgingPlan(
        models, prompts, criteria, [*outputs, *questions], dataset.sources, request.repeat
    )

    def connect(model: Model) -> Client:
        if model.name not in functions:
            return open_client(model)
        return FunctionClient(functions[model.name], criteria, tokens=0 if synthetic else None)

    warnings += missing_texts(plan, folder)
    return JudgeJob(
        request,
        folder,
        dataset,
        plan,
        connect,
        tuple(warnings),
        concurrency,
        baselines=baselines,
        questions=questions,
    )


def _notes_on_heads(heads: Sequence[Model], criteria: Sequence[Criterion]) -> Iterator[str]:
    """What is taken for what in the answers of score heads. Raises UsageError for what they cannot
    be asked.
    """
    for head in heads:
        if len(criteria) > 1:
            raise UsageError(
                f"{head.name} gives an output one score; say on which criterion it is, with"
                " `criteria`"
            )
        if criteria[0].scale.compares:
            raise UsageError(f"{head.name} scores single outputs, and these are pairs")
        name, scale = criteria[0].name, criteria[0].scale
        shown = scale.describe()
        if scale.levels and find_provider(head.provider).classes:
            yield (
                f"note: the classes of {head.name} are taken for {shown}, in this order (`flip`"
                " turns it round)"
            )
        elif scale.levels or scale.ends:
            has, or_else = (
                ("levels", "")
                if scale.levels
                else ("ends", ", or take `range` out of dataset.toml")
            )
            raise UsageError(
                f"{head.name} gives numbers of its own unit, and {name} has {has} ({shown}); read"
                " people's ratings as "
                f'numbers without: `metal.read(..., measures={{"{name}": "interval"}})`{or_else}'
            )


def check_allowed(job: JudgeJob, passport: Path) -> None:
    """Raise UsageError or DataError where a passport does not allow all that a job would ask its
    judges.
    """
    plan, issued = job.plan, read_passport(passport)
    cells = {(output.language, criterion) for output in plan.outputs for criterion in plan.criteria}
    for baseline in job.baselines:
        check(issued, baseline, {}, cells)
    for model in plan.models:
        for prompt in plan.prompts:
            check(issued, rater_name(model, prompt), asked_as(model, prompt, plan.criteria), cells)


def dataset_of(run: Path, settings: Mapping[str, Any]) -> Path:
    """The dataset a run was begun over. Raises UsageError when it is not where it was."""
    dataset = Path(settings["dataset"])
    if not dataset.exists():
        raise UsageError(
            f"{run} was begun over {dataset}, which is not here; resume it where it was begun"
        )
    return dataset


def _questions(
    request: JudgeRequest,
    folder: Path,
    dataset: Dataset,
    outputs: Sequence[Output],
    say: Callable[[str], None],
) -> tuple[Output, ...]:
    """The test questions of a request: those that people of these languages were asked, and as many
    as wanted.
    """
    if not request.test_questions:
        return ()
    earlier = read_questions(folder)
    drawn = draw_questions(dataset, outputs, request.test_questions, request.seed, earlier, say)
    languages = {output.language for output in outputs}
    asked = {question.output: question for question in drawn}
    asked |= {
        name: question for name, question in earlier.items() if question.language in languages
    }
    return tuple(asked.values())


def missing_texts(plan: JudgingPlan, folder: Path) -> list[str]:
    """Warnings about outputs and sources without a text. Raises UsageError when no output has one."""
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
            f"warning: {plan.without_reference:,} outputs are judged without a reference: there is"
            " none"
        )
    return warnings
