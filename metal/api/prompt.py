"""`metal.prompt_show`, `metal.prompt_list`: what judges are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Option, PromptFolders, documented
from metal.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from metal.api.inputs import Data
    from metal.data.records import Criterion
    from metal.raters.judges.prompts import Prompt


@dataclass(frozen=True)
class SentPrompt:
    """Exactly what would be sent to a judge. name: of the prompt; digest: of what it says on the criterion."""

    name: str
    digest: str
    system: str
    user: str


@documented
def prompt_list(data: Data | None = None, *, prompt_folders: PromptFolders = ()) -> pd.DataFrame:
    """Prompts and criteria there are, with the content hash of each pair.

    data: a dataset, whose criteria and prompts count; METAL's five without one.

    Returns a table: a row a criterion, a column a prompt.
    """
    import pandas as pd

    from metal.raters.judges.prompts import template_names
    from metal.running.judging import prompt_folders as all_folders

    folders = all_folders(map(str, prompt_folders), _folder(data))
    criteria = _criteria(data)
    prompts = _load(template_names(folders), criteria, map(str, prompt_folders), data)
    rows = [[criterion.name, *(prompt.digest(criterion.name) for prompt in prompts)] for criterion in criteria]
    return pd.DataFrame(rows, columns=["criterion", *(prompt.name for prompt in prompts)])


@documented
def prompt_show(
    data: Data | None = None,
    *,
    criterion: Annotated[str, Option("Criterion, e.g. task_quality.", "-c")],
    prompt: Annotated[str, Option("Prompt: simple, detailed, yours.", "-p")] = "detailed",
    output: Annotated[
        str, Option("Id of the output to show it for. [default: the first; placeholders without a dataset]")
    ] = "",
    prompt_language: Annotated[str, Option("Language of the prompt. [default: English]", metavar="CODE")] = "",
    prompt_folders: PromptFolders = (),
) -> SentPrompt:
    """Print exactly what would be sent to a judge.

    data: a dataset, whose criteria and prompts count; METAL's five without one.

    Returns the two messages. Raises UnknownName for a criterion, a prompt or an output that is not there.
    """
    criteria = {each.name: each for each in _criteria(data)}
    if criterion not in criteria:
        raise UnknownName("criterion", criterion, criteria)
    loaded = _load([prompt], [criteria[criterion]], map(str, prompt_folders), data, prompt_language)[0]
    if data is None:
        if output:
            raise UsageError("`output` is an output of a dataset; give the dataset too")
        message = loaded.write(criterion, "en", "(the source's text)", "(the output's text)")
    else:
        from metal.api.inputs import as_dataset

        dataset = as_dataset(data)
        if output and output not in dataset.outputs:
            raise UnknownName("output", output, dataset.outputs)
        shown = dataset.outputs[output] if output else next(iter(dataset.outputs.values()))
        message = loaded.write(criterion, shown.language, dataset.sources[shown.source].text, shown.text)
    return SentPrompt(loaded.name, loaded.digest(criterion), message.system, message.user)


def _load(
    prompts: Iterable[str],
    criteria: Iterable[Criterion],
    folders: Iterable[str],
    data: Data | None,
    language: str = "",
) -> tuple[Prompt, ...]:
    from metal.running.judging import JudgeRequest, load_prompts, prompt_folders

    request = JudgeRequest((), tuple(prompts), prompt_language=language, prompt_folders=tuple(folders))
    return load_prompts(request, criteria, prompt_folders(request.prompt_folders, _folder(data)))


def _folder(data: Data | None) -> Path | None:
    from metal.api.inputs import as_dataset

    return None if data is None else as_dataset(data).folder


def _criteria(data: Data | None) -> list[Criterion]:
    """The dataset's criteria, or METAL's five."""
    from metal.api.inputs import as_dataset
    from metal.data.formats import METAL_CRITERIA, metal_criterion

    if data is None:
        return [*map(metal_criterion, METAL_CRITERIA)]
    return [*as_dataset(data).criteria.values()]
