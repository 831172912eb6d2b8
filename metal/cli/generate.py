"""`metal generate`: summaries of several qualities for the passages of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from metal.cli import options

# What may be given again with --resume: how the run is carried out, and how outputs are chosen.
FREE = ("resume", "dry_run", "max_cost", "ask", "limit", "reuse", "concurrency", "choose", "keep_flagged", "seed")


@click.command(short_help="Write good and bad summaries.")
@click.argument("dataset", type=click.Path(path_type=Path), required=False)
@options.names("--model", "-m", what="Model that writes, e.g. openai:gpt-4o, or a name of judges.toml.")
@options.names("--quality", "-q", what="good, bad, reference, or your own. [default: good,bad]")
@options.names("--languages", "-l", what="Languages; default all.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. [default: runs/DATASET-generate]")
@options.resume
@options.dry_run
@options.max_cost
@options.ask
@options.limit
@click.option(
    "--choose",
    type=click.Choice(["one", "all"]),
    default="one",
    show_default=True,
    help="Outputs of each passage that are to be rated: one at random, or all.",
)
@click.option("--keep-flagged", is_flag=True, help="Flagged outputs may be chosen too.")
@options.reask
@options.reuse
@options.prompts
@options.base_url
@options.concurrency
@options.seed
@options.force
def generate(
    dataset: Path | None,
    model: tuple[str, ...],
    quality: tuple[str, ...],
    languages: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    dry_run: bool,
    max_cost: float | None,
    ask: bool | None,
    limit: int | None,
    choose: str,
    keep_flagged: bool,
    reask: int,
    reuse: tuple[Path, ...],
    prompts: tuple[Path, ...],
    base_url: str,
    concurrency: int | None,
    seed: int,
    force: bool,
) -> None:
    """Let models write a good and a bad summary of every passage of DATASET, and choose one of them at random.

    Good ones are written at temperature 0 for high ratings on the dataset's criteria, bad ones at
    temperature 1 in an adversarial role, both with a justification (METAL 3.1.2). All are kept; the chosen
    ones are what people and judges rate. Texts that decline (in English), copy the passage or are in another
    language are flagged, counted, and not chosen.

    --quality reference adds the summaries that people wrote; several --model keep a judge from rating its
    own family's texts only. A quality of your own is a file generate/NAME.toml in a folder given with
    --prompts. With guidance:openai:gpt-4o the text is generated through the guidance library.

    Every reply is on disk before it counts, and a run that was stopped goes on with --resume.

    \b
    Examples:
      metal generate datasets/mine -m openai:gpt-4o --dry-run
      metal generate datasets/mine -m openai:gpt-4o,gemini:gemini-2.5-pro \\
        -q good,bad,reference --max-cost 20
      metal generate --resume runs/mine-generate
    """
    from dataclasses import replace

    from metal.data.folders import recover
    from metal.errors import UsageError
    from metal.running.asking import Wish, carry_out
    from metal.running.asking_folder import read_request
    from metal.running.generating import Request, wire

    context = click.get_current_context()
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if resume:
        if dataset or out or force:
            raise UsageError(
                f"--resume {resume} knows its dataset and models; to add some, name all with --out {resume}"
            )
        settled = sorted(given - set(FREE))
        if settled:
            raise UsageError(
                f"--resume {resume} goes on with what was asked for; to change --{settled[0].replace('_', '-')}, name "
                f"all with --out {resume}"
            )
        request, settings = read_request(resume, "generate", Request)
        again: dict[str, Any] = {"choose": choose, "keep_flagged": keep_flagged, "seed": seed}
        request = replace(request, **{name: value for name, value in again.items() if name in given})
        dataset, out = Path(settings["dataset"]), resume
        recover(dataset)
        if not dataset.is_dir():
            raise UsageError(f"{resume} was begun over {dataset}, which is not here; resume it where it was begun")
    else:
        if not dataset:
            raise UsageError("give a dataset, e.g. metal generate datasets/mine --model openai:gpt-4o")
        request = Request(
            models=tuple(dict.fromkeys(model)),
            quality=tuple(dict.fromkeys(quality)) or ("good", "bad"),
            languages=tuple(dict.fromkeys(languages)),
            reask=reask,
            prompt_folders=tuple(map(str, prompts)),
            base_url=base_url,
            choose=choose,
            keep_flagged=keep_flagged,
            seed=seed,
        )
    out = out or Path("runs") / f"{dataset.resolve().name}-generate"
    if out.resolve().is_relative_to(dataset.resolve()):
        raise UsageError(f"--out {out} is inside the dataset, which is written anew as a whole; give another")
    carry_out(wire(request, dataset, concurrency), out, Wish(dry_run, max_cost, ask, limit, reuse, force))
