"""`metal.judge`: models rate every output of a dataset."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from metal.api.options import (
    BaseUrl,
    Concurrency,
    DryRun,
    Force,
    JudgeFunction,
    Languages,
    Limit,
    MaxCost,
    Names,
    Option,
    PromptFolders,
    Question,
    Reask,
    Resume,
    Reuse,
    Seed,
    StrPath,
    TestQuestions,
    documented,
    names,
    settings_of,
    synchronous,
)
from metal.api.read import Inputs, load, reading_of
from metal.api.reading import ReadingOptions
from metal.api.reading import given as given_options
from metal.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    from metal.api.asked import Judging
    from metal.api.read import Data
    from metal.running.asking import Callbacks
    from metal.running.judging import JudgeRequest


def check_resumed(
    function: Callable[..., Any],
    resume: object,
    arguments: Mapping[str, Any],
    *,
    free: Collection[str],
) -> None:
    """Raise UsageError if a call that resumes a run also gives options that the run already has.

    arguments: the arguments of the call by name; empty and default values count as not given. free:
    the arguments that may change.
    """
    for name, parameter in inspect.signature(function).parameters.items():
        value = arguments[name]
        if parameter.kind is parameter.VAR_KEYWORD:  # how a table is read
            name, value = next(iter(given_options(value).items()), (name, None))
        if name in ("resume", *free) or value is None:
            continue
        if isinstance(value, str | int | tuple | list) and value in (parameter.default, "", (), []):
            continue
        if name == "data":
            raise UsageError(f'`resume="{resume}"` keeps its dataset; leave `data` out')
        if name in ("judge", "model", "out", "force"):
            why = "keeps its dataset and models; to add others"
        else:
            why = f"keeps the options of that run; to change `{name}`"
        raise UsageError(f'`resume="{resume}"` {why}, name all with `out="{resume}"`')


Repeat = Annotated[
    int,
    Option(
        "Ask K times, to measure how often a judge agrees with itself.",
        metavar="K",
        least=1,
        most=50,
        rare=True,
    ),
]
Sample = Annotated[
    int | None,
    Option("Judge N outputs, drawn evenly by language.", metavar="N", least=1, rare=True),
]
RunFolder = Annotated[StrPath | None, Option("Run folder. [default: runs/DATASET-judges]")]
Engine = Annotated[
    str | None,
    Option("Who makes the calls: local, batch or ray. [default: local]", metavar="NAME", rare=True),
]
Batch = Annotated[bool, Option("Use the providers' batch services: half the price, within a day.")]
Wait = Annotated[
    bool, Option("Wait for the batches, or submit them and exit. [default: wait]", rare=True)
]
Address = Annotated[
    str,
    Option(
        "Address of a Ray cluster. [default: one on this machine]", metavar="HOST:PORT", rare=True
    ),
]
OwnName = Annotated[str, Option("Name of a judge that is a function.")]


# What may be given again with `resume`: how the run is carried out.
FREE = ("dry_run", "max_cost", "limit", "reuse", "require", "concurrency", "callbacks")


@documented
async def judge_async(
    data: Data | None = None,
    judge: Annotated[
        Names | JudgeFunction,
        Option(
            "Judge to run or, with `resume`, to add: openai:gpt-4o, module:function, or a"
            " name in judges.toml.",
            "-j",
        ),
    ] = (),
    *,
    prompt: Annotated[
        Names, Option("Prompt: simple, detailed, a task's, or your own. [default: detailed]", "-p")
    ] = "detailed",
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    question: Question = "",
    languages: Languages = (),
    name: OwnName = "",
    out: RunFolder = None,
    resume: Resume = None,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    limit: Limit = None,
    sample: Sample = None,
    repeat: Repeat = 1,
    test_questions: TestQuestions = "",
    pairs: Annotated[
        str,
        Option(
            "Compare outputs in pairs: all of a source, swiss, random:N, a generator, languages.",
            metavar="WHICH",
        ),
    ] = "",
    orders: Annotated[
        Literal["both", "one"],
        Option("Show each pair in both orders, or in one.", choices=("both", "one"), rare=True),
    ] = "both",
    reask: Reask = 1,
    reuse: Reuse = (),
    prompt_folders: PromptFolders = (),
    prompt_language: Annotated[
        str,
        Option(
            "Language of the prompts, or `text` for the language of each output. [default: "
            "English]",
            metavar="CODE",
            rare=True,
        ),
    ] = "",
    with_reference: Annotated[
        bool, Option("Show judges the source's references (prompt NAME-reference).", rare=True)
    ] = False,
    together: Annotated[
        bool,
        Option("Ask for all criteria of an output in one call (prompt NAME-together).", rare=True),
    ] = False,
    probabilities: Annotated[
        bool,
        Option(
            "Also get token probabilities, as confidence (OpenAI, vLLM, Gemini).",
            rare=True,
        ),
    ] = False,
    examples: Annotated[
        int,
        Option(
            "Show judges N rated outputs as examples; do not judge their sources.",
            metavar="N",
            rare=True,
        ),
    ] = 0,
    flip: Annotated[
        Names,
        Option("Criteria whose rubric runs opposite to the dataset's scale.", rare=True),
    ] = (),
    base_url: BaseUrl = "",
    concurrency: Concurrency = None,
    batch: Batch = False,
    wait: Wait = True,
    engine: Engine = None,
    address: Address = "",
    seed: Seed = 0,
    require: Annotated[
        StrPath | None,
        Option(
            "Refuse uses that this passport (see `metal.passport`) does not allow.",
            metavar="PASSPORT",
        ),
    ] = None,
    force: Force = False,
    callbacks: Callbacks | None = None,
    **reading: Unpack[ReadingOptions],
) -> Judging:
    """Have judges rate every output of `data` on every criterion, at temperature 0; one call each
    unless `together`.

    A judge is a model and a prompt. Models are named PROVIDER:MODEL; `metal.judges_list` shows
    providers, the keys they need and the judges of your judges.toml. METAL's prompts are `simple`
    and `detailed` (`metal.prompt_show`). Baselines need no network: majority, random, lexical.
    Classifiers, cross-encoders and reward models on vLLM (`vllm-classify:`, `vllm-score:`,
    `vllm-reward:`) get the texts without a prompt, and return numbers.

    Every reply is written to disk before it counts. If Ctrl-C or a power cut stops a run, `resume`
    continues it; at most the calls in flight are paid for again. `resume` with `judge` adds a judge
    to the run. The same call with more judges, prompts, criteria or languages asks only what is
    new. `metal.audit(DATASET, RUN)` compares the judges with people.

    `batch` sends the same calls through the provider's batch service: half the price, an answer
    within a day. Ctrl-C leaves the batches with the provider; `resume` continues, and
    `metal.judge_cancel(RUN)` cancels them and keeps the answers so far. `engine="ray"` spreads the
    calls over a cluster.

    `test_questions` tests a judge the way people are tested: some sources are shown with their own
    reference, others with that of another source. `metal.monitor(DATASET, RUN)` shows who fails
    them.

    Some tasks have a prompt that names their texts properly: `question-answering`, `summarization`,
    `translation`, `chat`, `open-generation`. `with_reference` also shows the references of each
    source; `detailed-reason-first` and `detailed-no-reason` ask for the justification before the
    score, or for none. `together` asks for all criteria of an output in one call
    (`detailed-together`), so the texts are paid for once; if you use both prompts, `metal.audit`
    shows what that changes. All of METAL's prompts have these variants.

    `probabilities` stores the probability of the answered level as the rating's `confidence` (see
    `metal.select`). If all levels are among the twenty likeliest tokens, it also stores the mean of
    the levels, weighted by probability, as `expected` (see `metal.billboard`). It needs OpenAI's
    protocol or Gemini, a model that returns probabilities, and levels of one token each.

    `question` sets a criterion's question in one line. Together with the scale it is all that
    judges are told about the criterion.

    `examples` shows judges outputs that people rated, in each language, with ratings as varied as
    possible. Outputs that share a source, its content or its text with an example are not judged in
    this run.

    `pairs` asks which of two outputs of one source is better, showing each pair in both orders.
    Data whose outputs are pairs need no such option. The pairs, with preferences derived from
    people's scores, become a dataset next to the run (RUN-pairs): audit it with
    `metal.audit(RUN-pairs, RUN)`. `pairs="languages"` compares one content in two languages, for
    `metal.bias_language(RUN-pairs, RUN)`.

    `require` takes a passport. Before any call, METAL refuses every judge, model, prompt, language
    or criterion that the passport does not allow, and any passport that has expired or was changed
    by accident (its hash does not stop a forger).

    Args:
        data: A dataset folder, a table of ratings with texts, or a dataset from `metal.read`.
        judge: Names, or any function of (source, output, criterion), sync or async, that returns a
            score, a score and a justification, or the text of a reply; it is called and recorded
            like a model. `module:function` names one in a module of the working folder or an
            installed one; LangChain runnables, inspect_ai scorers, DeepEval and ragas metrics are
            accepted as they are.
        callbacks: How progress is shown, and who is asked before a call is paid for. By default,
            terminals and notebooks show a progress bar and nobody is asked; `max_cost` limits what
            a run may cost.

    Returns:
        The run: its folder, ratings, and the statistics of the answers. `outcome.stopped` says why
        a judge could not go on, or that none of its replies has a score; such replies may have been
        paid for and are kept. The function works inside a running event loop too; there
        `await metal.judge_async(...)` leaves the loop free.

    Raises:
        UsageError: For options that do not fit each other or the data.
        UnknownName: For a criterion, language, prompt or provider that does not exist.
        DataError: For the first fault in the data.
        JudgeStopped: If no call of a new run was answered; nothing of that run is kept.

    Example:
        run = await metal.judge_async("datasets/news", "openai:gpt-4o")
    """
    options = dict(locals())
    from metal.api.asked import Judging, default_callbacks
    from metal.raters.judges.engine import EngineOptions
    from metal.raters.judges.models import check_base_url
    from metal.running.asking import Terms, carry_out, with_kept_limit
    from metal.running.judging import check_allowed, judge_job, left_out

    functions = _functions(judge, name)
    named: Names = judge if isinstance(judge, str | Sequence) else ()
    if resume is not None:
        added = names(named)
        free = (*FREE, "batch", "wait", "engine", "address", *(["judge"] if added else []))
        check_resumed(judge_async, resume, options, free=free)
        run = Path(resume)
        request, inputs, begun_with = _begun(run, added)
        concurrency = concurrency or begun_with
    elif data is None or not (functions or judge):
        raise UsageError(
            'give a dataset and `judge`, e.g. `metal.judge("datasets/demo",'
            ' judge="openai:gpt-4o-mini")`'
        )
    else:
        request = _asked_for(options, tuple(functions) or names(named))
        inputs = load(data, (), reading)
        run = Path(out or f"runs/{inputs.name}-{next(iter(functions), 'judges')}")
        if pairs:
            inputs = _of_pairs(inputs, pairs, seed, run.with_name(f"{run.name}-pairs"), dry_run)
    how = EngineOptions(
        engine=_engine(engine, batch, resume, address, wait), wait=wait, address=address
    )
    job = judge_job(
        request, inputs.path, inputs.dataset, concurrency=concurrency, functions=functions
    )
    check_base_url(base_url, job.plan.models)
    if require is not None:
        check_allowed(job, Path(require))
    callbacks = callbacks or default_callbacks()
    for warning in (*job.warnings, *(left_out(run, job) if resume else ())):
        callbacks.say(warning)
    terms = Terms(dry_run, max_cost, limit, tuple(map(Path, reuse)), force, how)
    terms = with_kept_limit(run, terms, callbacks.say)
    return Judging(run, job, terms, await carry_out(job, run, terms, callbacks))


def _functions(judge: Names | JudgeFunction, name: str) -> dict[str, JudgeFunction]:
    """The judge by name, if it is a function; empty if judges are given by name."""
    from metal.raters.judges.adapters import adapted

    if not isinstance(judge, str | Sequence):
        called = name or getattr(judge, "__name__", "").strip("<>") or "function"
        return {called: adapted(judge)}
    if name:
        raise UsageError(
            f'`name="{name}"` is for a judge that is a function; models have names of their own'
        )
    return {}


def _begun(run: Path, added: Sequence[str]) -> tuple[JudgeRequest, Inputs, int | None]:
    """What is needed to resume a run: its request including added judges, its data, and its
    concurrency.

    Raises UsageError if its judge is a function that cannot be loaded by name.
    """
    from metal.raters.judges.functions import PROVIDER as FUNCTION
    from metal.raters.judges.functions import is_function
    from metal.running.job import read_request
    from metal.running.judging import JudgeRequest, dataset_of

    request, settings = read_request(run, "judge", JudgeRequest)
    for judge, model in settings.get("models", {}).items():
        if model.get("asked", "").startswith(f"{FUNCTION}:") and not is_function(judge):
            raise UsageError(
                f"{run} is a run of a function; to continue it, repeat the original call"
            )
    request = replace(request, judges=tuple(dict.fromkeys((*request.judges, *added))))
    inputs = load(dataset_of(run, settings), (), reading_of(run))
    return request, inputs, settings.get("concurrency")


def _asked_for(options: Mapping[str, Any], judges: tuple[str, ...]) -> JudgeRequest:
    """The request of a call that begins a run.

    options: the arguments of the call by name.
    """
    from metal.raters.judges.templates import variant
    from metal.running.judging import JudgeRequest

    references, together = options["with_reference"], options["together"]
    asked_by = {}
    for prompt in names(options["prompt"]) or ("detailed",):
        asked_by[prompt] = variant(prompt, references=references, together=together)
    for prompt, asked in asked_by.items():
        if prompt != asked and asked in asked_by:
            option = "together" if together else "with_reference"
            raise UsageError(
                f"`{option}` makes {prompt} and {asked} both `{asked}`; leave `{option}` out"
            )
    return settings_of(
        JudgeRequest,
        options,
        judges=judges,
        prompts=tuple(asked_by.values()),
        sample=options["sample"] or 0,
        prompt_folders=tuple(map(str, options["prompt_folders"])),
    )


def _engine(
    engine: str | None, batch: bool, resume: StrPath | None, address: str, wait: bool
) -> str:
    """The engine that makes the calls: the named one, or that of a resumed run. Raises UsageError
    for options that the engine does not have.
    """
    from metal.running.job import engine_of

    if batch and engine not in (None, "batch"):
        raise UsageError(f'`batch=True` and `engine="{engine}"`: give one of them')
    if not engine:
        engine = "local"
        if batch:
            engine = "batch"
        elif resume:
            engine = engine_of(Path(resume))
    if address and engine != "ray":
        raise UsageError('`address` needs a Ray cluster; add `engine="ray"`')
    if not wait and engine != "batch":
        raise UsageError("`wait=False` needs batches; add `batch=True`")
    return engine


def _of_pairs(inputs: Inputs, which: str, seed: int, folder: Path, dry_run: bool) -> Inputs:
    """Turn the data into pairs of outputs, which are saved in the folder. Raises UsageError if the
    folder has other pairs.
    """
    from metal.building.pairs import compared
    from metal.data.dataset import load_dataset, save_dataset

    dataset = compared(inputs.dataset, which, seed=seed)
    if dry_run:
        return replace(inputs, dataset=dataset)
    if not folder.exists():
        save_dataset(dataset, folder)
    elif load_dataset(folder).digest != dataset.digest:
        raise UsageError(
            f'{folder} holds pairs other than `pairs="{which}"` of these data; give another `out`'
        )
    return replace(inputs, dataset=dataset, folder=folder)


judge = synchronous(judge_async, "judge")


@documented
def judge_cancel(run: StrPath, *, callbacks: Callbacks | None = None) -> Judging:
    """Cancel the open batches of `run`, a run folder of `metal.judge(..., batch=True)`.

    Answers received by then are paid for and kept. To make the remaining calls, use
    `metal.judge(resume=RUN)`.

    Args:
        run: The run folder.
        callbacks: As in `metal.judge`.

    Returns:
        The run after the cancellation.

    Raises:
        NothingToDo: If it has no open batches (a UsageError).

    Example:
        metal.judge_cancel("runs/news-judges")
    """
    from metal.api.asked import Judging, default_callbacks
    from metal.raters.judges.engine import EngineOptions
    from metal.running.asking import Terms, carry_out, run_to_end, with_kept_limit
    from metal.running.job import read_request, under_way
    from metal.running.judging import JudgeRequest, dataset_of, judge_job

    folder = Path(run)
    request, settings = read_request(folder, "judge", JudgeRequest)
    how = EngineOptions(engine="batch", cancelling=True)
    if not under_way(folder, how):
        raise NothingToDo(f"{folder} has no open batches; nothing to cancel")
    path = dataset_of(folder, settings)
    dataset = load(path, (), reading_of(folder)).dataset
    job = judge_job(request, path, dataset, concurrency=settings.get("concurrency"))
    terms = with_kept_limit(folder, Terms(how=how), lambda line: None)
    return Judging(
        folder,
        job,
        terms,
        run_to_end(carry_out(job, folder, terms, callbacks or default_callbacks())),
    )
