"""`metal prompt`: what judges are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metal.data.records import Criterion


@click.group(short_help="Show what judges are told.")
def prompt() -> None:
    """What judges are told: prompts/judge has the templates, prompts/criteria the criteria's texts.

    Your own go into a folder given with --prompts: judge/NAME.toml, criteria/NAME.toml; for prompts in another
    language criteria/NAME.LANGUAGE.toml. A folder `prompts` in a dataset is looked into as well, and METAL's
    released rubrics (simple/NAME.json and detailed/NAME.json) are read as they are.
    """


_prompts = click.option("--prompts", type=click.Path(path_type=Path), multiple=True, metavar="DIR", help="Your own.")


@prompt.command("list")
@click.argument("dataset", type=click.Path(path_type=Path), required=False)
@_prompts
def list_(dataset: Path | None, prompts: tuple[Path, ...]) -> None:
    """Prompts and criteria there are, with the content hash of each pair."""
    from metal.raters.judges.prompts import template_names
    from metal.running.judging import Request, load_prompts, prompt_folders
    from metal.show.terminal import console as show

    folders = prompt_folders(map(str, prompts), dataset)
    criteria = _criteria(dataset)
    names = template_names(folders)
    loaded = load_prompts(Request((), tuple(names)), criteria, folders)
    rows = [[one.name, *(found.digest(one.name) for found in loaded)] for one in criteria]
    show.table("Content hashes", ["criterion", *names], rows)


@prompt.command("show")
@click.argument("dataset", type=click.Path(path_type=Path), required=False)
@click.option("--criterion", "-c", required=True, help="Criterion, e.g. task_quality.")
@click.option("--prompt", "-p", "name", default="detailed", show_default=True, help="Prompt: simple, detailed, yours.")
@click.option("--output", help="Id of the output to show it for. [default: the first; placeholders without a dataset]")
@click.option("--prompt-language", default="", metavar="CODE", help="Language of the prompt. [default: English]")
@_prompts
def show_(
    dataset: Path | None,
    criterion: str,
    name: str,
    output: str | None,
    prompt_language: str,
    prompts: tuple[Path, ...],
) -> None:
    """Print exactly what would be sent to a judge.

    \b
    Examples:
      metal prompt show --criterion task_quality --prompt detailed
      metal prompt show datasets/demo --criterion hallucinations --output sw-1/good
    """
    from metal.errors import UnknownName, UsageError
    from metal.running.judging import Request, load_prompts, prompt_folders
    from metal.show.terminal import console as show
    from metal.show.terminal.asking_text import show_message

    known = {one.name: one for one in _criteria(dataset)}
    if criterion not in known:
        raise UnknownName("criterion", criterion, known)
    request = Request((), (name,), prompt_language=prompt_language, prompt_folders=tuple(map(str, prompts)))
    folders = prompt_folders(request.prompt_folders, dataset)
    found = load_prompts(request, [known[criterion]], folders)[0]
    if dataset is None:
        if output:
            raise UsageError("--output is an output of a dataset; give the dataset too")
        message = found.write(criterion, "en", "(the source's text)", "(the output's text)")
    else:
        from metal.data.dataset import load_dataset

        loaded = load_dataset(dataset)
        if output and output not in loaded.outputs:
            raise UnknownName("output", output, loaded.outputs)
        one = loaded.outputs[output] if output else next(iter(loaded.outputs.values()))
        message = found.write(criterion, one.language, loaded.sources[one.source].text, one.text)
    show_message(message.system, message.user)
    show.say(f"{found.name}@{found.digest(criterion)}", dim=True)


def _criteria(dataset: Path | None) -> list[Criterion]:
    """The dataset's criteria, or METAL's five."""
    from metal.data.dataset import load_dataset
    from metal.data.formats.criteria import METAL_CRITERIA, metal_criterion

    return [*load_dataset(dataset).criteria.values()] if dataset else [*map(metal_criterion, METAL_CRITERIA)]
