"""`metal judge`: judges rate every output of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from metal.cli import options

# Options that run.toml knows under another name.
SETTLED = ("prompt", "prompts")


class _Judge(click.Command):
    """`metal judge DATASET`, and `metal judge cancel RUN`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["cancel"]:
            return cancel.make_context(f"{info_name} cancel", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=_Judge, short_help="Let judges rate every output.")
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
@options.batch
@options.wait
@options.engine
@options.address
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
    batch: bool,
    wait: bool,
    engine: str | None,
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

    --batch sends the same calls through the provider's batch service: half the price, an answer within a day. Ctrl-C
    leaves the batches with the provider; --resume goes on, and `metal judge cancel RUN` cancels them and keeps what
    they have answered. --engine ray spreads the calls over a cluster.

    --test-questions examines a judge as one would a person: some sources are shown with their own reference, some with
    that of another source, and `metal monitor DATASET RUN` says who fails them.

    \b
    Examples:
      metal judge datasets/demo -j openai:gpt-4o-mini -p simple --dry-run
      metal judge datasets/demo -j openai:gpt-4o,vertex:gemini-2.5-pro
      metal judge datasets/demo -j openai-compatible:qwen3 \\
        --base-url http://127.0.0.1:8000/v1
      metal judge --resume runs/demo-judges
      metal judge datasets/demo -j openai:gpt-4o --batch
      metal judge datasets/demo -j majority,lexical --out runs/baselines
    """
    import gc

    gc.disable()  # loading makes objects that stay; enabled again when the run begins
    from metal.errors import UsageError
    from metal.running.asking import Wish, carry_out
    from metal.running.asking_folder import read_request
    from metal.running.engines import How, engine_of
    from metal.running.judging import Request, dataset_of, warn_of_texts, wire

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
        dataset, out = dataset_of(resume, settings), resume
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
    if batch and engine not in (None, "batch"):
        raise UsageError(f"--batch and --engine {engine}: give one of them")
    out = out or Path("runs") / f"{dataset.resolve().name}-judges"
    wired = wire(request, dataset, concurrency)
    if not dry_run:
        warn_of_texts(wired)
    chosen = engine or ("batch" if batch else engine_of(out) if resume else "local")
    if address and chosen != "ray":
        raise UsageError("--address is of a Ray cluster; add --engine ray")
    if not wait and chosen != "batch":
        raise UsageError("--no-wait is of batches; add --batch")
    carry_out(
        wired, out, Wish(dry_run, max_cost, ask, limit, reuse, force, How(engine=chosen, wait=wait, address=address))
    )


@click.command(short_help="Cancel the open batches of a run.")
@click.argument("run", type=click.Path(path_type=Path))
def cancel(run: Path) -> None:
    """Cancel the open batches of RUN, a run folder of `metal judge --batch`.

    What they have answered by then is paid for, and is kept. The calls that are left can be made with
    `metal judge --resume RUN`.
    """
    from metal.running.asking import Wish, carry_out
    from metal.running.asking_folder import read_request
    from metal.running.engines import How, under_way
    from metal.running.judging import Request, dataset_of, wire
    from metal.show.terminal.console import say

    request, settings = read_request(run, "judge", Request)
    how = How(engine="batch", cancelling=True)
    if not under_way(run, how):
        say(f"{run} has no open batches; nothing to cancel")
        return
    carry_out(wire(request, dataset_of(run, settings)), run, Wish(how=how))
