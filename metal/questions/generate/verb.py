"""`metal.generate`: have models write texts to be rated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.judging import FREE, check_resumed
from metal.api.options import (
    BaseUrl,
    Concurrency,
    DryRun,
    Force,
    Languages,
    Limit,
    MaxCost,
    Names,
    Option,
    PromptFolders,
    Reask,
    Resume,
    Reuse,
    StrPath,
    documented,
    names,
    settings_of,
    synchronous,
)
from metal.data.files import recover
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.questions.generate.run import Generating
    from metal.running.asking import Callbacks


@documented
async def generate_async(
    data: StrPath | None = None,
    model: Annotated[
        Names, Option("Model that writes, e.g. openai:gpt-4o, or a name in judges.toml.", "-m")
    ] = (),
    *,
    quality: Annotated[
        Names,
        Option("good, bad, answer, bad-answer, reference, or your own. [default: good,bad]", "-q"),
    ] = (
        "good",
        "bad",
    ),
    languages: Languages = (),
    out: Annotated[StrPath | None, Option("Run folder. [default: runs/DATASET-generate]")] = None,
    resume: Resume = None,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    limit: Limit = None,
    choose: Annotated[
        Literal["one", "all"] | None,
        Option(
            "Which outputs of each passage to have rated: one at random, or all. [default: one]",
            choices=("one", "all"),
            rare=True,
        ),
    ] = None,
    keep_flagged: Annotated[bool, Option("Also choose flagged outputs.", rare=True)] = False,
    reask: Reask = 1,
    reuse: Reuse = (),
    prompt_folders: PromptFolders = (),
    base_url: BaseUrl = "",
    concurrency: Concurrency = None,
    seed: Annotated[int | None, Option("Random seed. [default: 0]", least=0, rare=True)] = None,
    force: Force = False,
    callbacks: Callbacks | None = None,
) -> Generating:
    """Have models write a good and a bad summary of every passage of `data`, and choose one of the
    two at random.

    Good summaries are written at temperature 0, to get high ratings on the dataset's criteria; bad
    ones at temperature 1, in an adversarial role. Both come with a justification (METAL 3.1.2). All
    texts are kept; people and judges rate the chosen ones. Texts that decline (in English), copy
    the passage or are in another language are flagged, counted, and not chosen.

    `quality="answer,bad-answer"` writes answers to questions in the same way;
    `quality="translation"` writes translations.

    `quality="reference"` adds the summaries written by people. Use several models, so that a judge
    does not rate only texts of its own family. For your own quality, put generate/NAME.toml into a
    folder given with `prompt_folders`. guidance:openai:gpt-4o generates the text through the
    guidance library.

    Every reply is written to disk before it counts; `resume` continues an interrupted run.

    Args:
        data: A dataset folder; the outputs are added to it.
        callbacks: How progress is shown, and who is asked before a call is paid for; see
            `metal.judge`.

    Returns:
        The run: its folder, the outputs, and the statistics of the answers.

    Raises:
        UsageError: For options that do not fit each other or the data.
        UnknownName: For a criterion, language, prompt or provider that does not exist.
        DataError: For the first fault in the data.

    Example:
        run = await metal.generate_async("datasets/news", "openai:gpt-4o")
    """
    from metal.api.asked import default_callbacks
    from metal.questions.generate.run import GeneratedTexts, Generating
    from metal.raters.judges.models import check_base_url
    from metal.running.asking import Terms, carry_out, with_kept_limit
    from metal.running.generating import GenerateRequest, generate_job
    from metal.running.job import read_request
    from metal.running.judging import dataset_of
    from metal.runs.summarizing import summarize

    if resume is not None:
        check_resumed(
            generate_async, resume, locals(), free=(*FREE, "choose", "keep_flagged", "seed")
        )
        run = Path(resume)
        request, settings = read_request(run, "generate", GenerateRequest)
        request = replace(
            request,
            choose=choose or request.choose,
            keep_flagged=keep_flagged or request.keep_flagged,
            seed=request.seed if seed is None else seed,
        )
        recover(Path(settings["dataset"]))
        folder = dataset_of(run, settings)
        concurrency = concurrency or settings.get("concurrency")
    else:
        if data is None:
            raise UsageError(
                'give a dataset, e.g. `metal.generate("datasets/mine", model="openai:gpt-4o")`'
            )
        folder = Path(data)
        request = settings_of(
            GenerateRequest,
            locals(),
            models=names(model),
            quality=names(quality) or ("good", "bad"),
            prompt_folders=tuple(map(str, prompt_folders)),
            choose=choose or "one",
            seed=seed or 0,
        )
        run = Path(out) if out else Path("runs") / f"{folder.resolve().name}-generate"
    if run.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            f'`out="{run}"` is inside the dataset, which is rewritten as a whole; give another'
        )
    job = generate_job(request, folder, concurrency)
    check_base_url(base_url, job.plan.models)
    callbacks = callbacks or default_callbacks()
    for warning in job.warnings:
        callbacks.say(warning)
    terms = Terms(dry_run, max_cost, limit, tuple(map(Path, reuse)), force)
    terms = with_kept_limit(run, terms, callbacks.say)
    outcome = await carry_out(job, run, terms, callbacks)
    if outcome.dry_run:
        return Generating(run, job, terms, outcome)
    texts = GeneratedTexts.read(run)
    texts.report(run)
    summarize(run, texts)
    return Generating(run, job, terms, outcome, texts)


generate = synchronous(generate_async, "generate")
