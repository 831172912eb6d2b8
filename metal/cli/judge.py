"""`metal judge`: judges rate every output of a dataset."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from metal.cli import options

# Options that run.toml knows under another name.
SETTLED = ("prompt", "prompts")


@click.command(short_help="Let judges rate every output.")
@click.argument("dataset", type=click.Path(path_type=Path), required=False)
@options.names("--judge", "-j", what="Judge to run, e.g. openai:gpt-4o, a name of judges.toml, or a baseline.")
@options.names("--prompt", "-p", what="Prompt: simple, detailed, or your own. [default: detailed]")
@options.names("--criteria", "-c", what="Criteria; default all.")
@options.names("--languages", "-l", what="Languages; default all.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. [default: runs/DATASET-judges]")
@options.resume
@options.dry_run
@options.max_cost
@options.ask
@options.limit
@click.option(
    "--sample", type=click.IntRange(min=1), default=None, metavar="N", help="Judge N outputs, drawn evenly by language."
)
@click.option("--repeat", type=click.IntRange(1, 50), default=1, metavar="K", help="Ask K times, for self-agreement.")
@options.test_questions
@options.reask
@options.reuse
@options.prompts
@click.option("--prompt-language", default="", metavar="CODE", help="Language of the prompts. [default: English]")
@options.names("--flip", what="Criteria whose rubric scores the other way round than the dataset.")
@options.base_url
@options.concurrency
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Who asks: this process, or workers on a Ray cluster. [default: local]",
)
@click.option(
    "--address", default="", metavar="HOST:PORT", help="Ray cluster to use, or auto. [default: start one here]"
)
@options.seed
@options.force
def judge(
    dataset: Path | None,
    judge: tuple[str, ...],
    prompt: tuple[str, ...],
    criteria: tuple[str, ...],
    languages: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    dry_run: bool,
    max_cost: float | None,
    ask: bool | None,
    limit: int | None,
    sample: int | None,
    repeat: int,
    test_questions: str,
    reask: int,
    reuse: tuple[Path, ...],
    prompts: tuple[Path, ...],
    prompt_language: str,
    flip: tuple[str, ...],
    base_url: str,
    concurrency: int | None,
    engine: str,
    address: str,
    seed: int,
    force: bool,
) -> None:
    """Let judges rate every output of DATASET on every criterion, one call each, at temperature 0.

    A judge is a model and a prompt. Models are named PROVIDER:MODEL; `metal judges list` shows providers, the keys
    they need and the judges of your judges.toml. METAL's prompts are `simple` and `detailed` (`metal prompt show`).
    Baselines need no network: majority, random, lexical.

    Every reply is on disk before it counts. A run that was stopped, by Ctrl-C or by a power cut, goes on with
    --resume and pays for nothing twice; the same command with more judges, prompts, criteria or languages asks only
    what is new. `metal audit DATASET RUN` puts the judges beside the people.

    --test-questions examines a judge as one would a person: some sources are shown with their own reference, some with
    that of another source, and `metal monitor DATASET RUN` says who fails them.

    \b
    Examples:
      metal judge datasets/demo -j openai:gpt-4o-mini -p simple --dry-run
      metal judge datasets/demo -j openai:gpt-4o,vertex:gemini-2.5-pro
      metal judge datasets/demo -j openai-compatible:qwen3 \\
        --base-url http://127.0.0.1:8000/v1
      metal judge --resume runs/demo-judges
      metal judge datasets/demo -j majority,lexical --out runs/baselines
    """
    import gc

    gc.disable()  # loading makes objects that stay; enabled again when the run begins
    from metal.cli.asking import Wish, carry_out
    from metal.cli.asking_folder import read_request
    from metal.cli.judge_folder import Request, warn_of_texts, wire
    from metal.errors import UsageError

    if resume:
        if dataset or judge or out or force:
            raise UsageError(f"--resume {resume} knows its dataset and judges; to add some, name all with --out")
        context = click.get_current_context()
        given = (name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
        settled = next((name for name in given if name in Request.__dataclass_fields__ or name in SETTLED), "")
        if settled:
            raise UsageError(
                f"--resume {resume} goes on with what was asked for; to change --{settled.replace('_', '-')}, name all "
                f"with --out {resume}"
            )
        request, settings = read_request(resume, "judge", Request)
        dataset, out = Path(settings["dataset"]), resume
        if not dataset.is_dir():
            raise UsageError(f"{resume} was begun over {dataset}, which is not here; resume it where it was begun")
    else:
        if not dataset or not judge:
            raise UsageError("give a dataset and --judge, e.g. metal judge datasets/demo --judge openai:gpt-4o-mini")
        request = Request(
            judges=tuple(dict.fromkeys(judge)),
            prompts=tuple(dict.fromkeys(prompt)) or ("detailed",),
            criteria=tuple(dict.fromkeys(criteria)),
            languages=tuple(dict.fromkeys(languages)),
            sample=sample or 0,
            seed=seed,
            repeat=repeat,
            reask=reask,
            prompt_language=prompt_language,
            prompt_folders=tuple(map(str, prompts)),
            flip=tuple(dict.fromkeys(flip)),
            base_url=base_url,
            test_questions=test_questions,
        )
    out = out or Path("runs") / f"{dataset.resolve().name}-judges"
    if address and engine != "ray":
        raise UsageError("--address is of a Ray cluster; give --engine ray too")
    wired = wire(request, dataset, concurrency)
    if not dry_run:
        warn_of_texts(wired)
    carry_out(wired, out, Wish(dry_run, max_cost, ask, limit, reuse, force, engine, address))
