"""`metal.judges_list`, `judges_test`: the models that can judge; `metal.prompt_list`,
`prompt_show`: the prompts that they get.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import BaseUrl, Option, PromptFolders, Question, StrPath, documented
from metal.api.read import as_dataset
from metal.data.files import bundled
from metal.errors import UnknownName, UsageError, check_known

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from metal.api.read import Data
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion, Rating
    from metal.raters.judges.collect import CallStatistics
    from metal.raters.judges.models import Model
    from metal.raters.judges.prompts import Message, Prompt


@dataclass(frozen=True, repr=False)
class KnownJudges:
    """The models that can judge.

    providers: one row per provider, with how its models are named, what it is, and whether it is
    ready or what it lacks. batch: the providers that have a batch service. judges: the judges that
    `files` (your judges.toml) declare, by name.
    """

    providers: pd.DataFrame
    batch: tuple[str, ...]
    judges: Mapping[str, Model]
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        return f"<{len(self.providers)} providers, {len(self.judges)} judges of judges.toml>"

    def _repr_html_(self) -> str:
        html: str = self.providers.to_html(index=False)
        return html


@dataclass(frozen=True)
class Tried:
    """A judge's answer to one small question.

    statistics: latency, tokens, versions and cost of the call.
    """

    model: Model
    criterion: Criterion
    rating: Rating
    statistics: CallStatistics


@documented
def judges_list() -> KnownJudges:
    """List providers with the keys they need, and the judges of judges.toml.

    Returns:
        The providers and the judges.

    Raises:
        DataError: For a judges.toml that cannot be read.

    Example:
        judges = metal.judges_list()
    """
    import pandas as pd

    from metal.raters.judges.models import judges_files, named_models
    from metal.raters.judges.providers import batch_providers, provider_states

    files = judges_files()
    providers = pd.DataFrame(provider_states(), columns=["name", "summary", "state"])
    return KnownJudges(providers, tuple(batch_providers()), named_models(files), tuple(files))


@documented
def judges_test(judge: str, *, base_url: BaseUrl = "") -> Tried:
    """Ask `judge` one small question; show latency, tokens, cost and the score METAL reads.

    Args:
        judge: PROVIDER:MODEL, or a name of judges.toml.

    Returns:
        The rating, and the statistics of the call.

    Raises:
        UsageError: For a name that is not a judge, or a key that is not set.
        JudgeStopped: If the judge cannot be asked.

    Example:
        metal.judges_test("openai:gpt-4o-mini")
    """
    import tempfile

    from metal.data.metal_criteria import metal_criterion
    from metal.data.records import Output, Scale, Source
    from metal.raters.judges.call import JudgeStopped
    from metal.raters.judges.collect import Collected, index_journal
    from metal.raters.judges.engine import Rules, Session
    from metal.raters.judges.functions import direct_prompt
    from metal.raters.judges.journal import Answered, Journal
    from metal.raters.judges.models import check_base_url, find_model, judges_files, named_models
    from metal.raters.judges.plan import JudgingPlan, rater_name
    from metal.raters.judges.prompts import Prompt
    from metal.raters.judges.providers import find_provider
    from metal.raters.judges.rubric import rubrics_for
    from metal.raters.judges.runner import LocalRun
    from metal.raters.judges.secrets import Secrets
    from metal.raters.judges.templates import load_template
    from metal.running.asking import run_to_end

    model = find_model(judge, named_models(judges_files()), base_url=base_url)
    check_base_url(base_url, [model])
    criterion, folders = metal_criterion("linguistic_acceptability"), [bundled("prompts")]
    prompt = Prompt(load_template("simple", folders), rubrics_for([criterion], folders))
    if (provider := find_provider(model.provider)).direct:
        criterion = criterion if provider.classes else replace(criterion, scale=Scale("interval"))
        prompt = direct_prompt([criterion])
    source = Source(
        "try", "en", "The ferry to the island runs again from Monday, the harbour office said."
    )
    output = Output(
        "try", "try", "nobody", "en", "From Monday the ferry to the island is running again."
    )
    plan = JudgingPlan(
        (model,), (prompt,), {criterion.name: criterion}, (output,), {source.source: source}
    )

    async def ask(folder: Path) -> LocalRun:
        journal = Journal(folder / "journal.jsonl")
        try:
            rules = Rules(reasks=0, attempts=1)
            run = LocalRun(Session(plan, journal, Answered(), rules, Secrets.of([model]), folder))
            await run.go()
        finally:
            await journal.close()
        return run

    with tempfile.TemporaryDirectory() as folder:
        run = run_to_end(ask(Path(folder)))
        index = index_journal(plan, Path(folder) / "journal.jsonl")
        ratings = list(Collected(plan, index).ratings())
    if run.progress[0].stopped:
        raise JudgeStopped(f"{judge}: {run.progress[0].stopped}")
    return Tried(model, criterion, ratings[0], index.statistics[rater_name(model, prompt)])


@dataclass(frozen=True)
class SentPrompt:
    """Exactly what would be sent to a judge.

    name: the name of the prompt. digest: a hash of what the prompt says about the criterion.
    """

    name: str
    digest: str
    system: str
    user: str


@documented
def prompt_list(data: Data | None = None, *, prompt_folders: PromptFolders = ()) -> pd.DataFrame:
    """List prompts and criteria, with the content hash of each pair.

    Args:
        data: A dataset whose criteria and prompts to use; without one, METAL's five criteria.

    Returns:
        A table: one row per criterion, one column per prompt.

    Raises:
        UnknownName, DataError: For a dataset, prompt or criterion that cannot be used.

    Example:
        metal.prompt_list("datasets/news")
    """
    import pandas as pd

    from metal.raters.judges.templates import template_names
    from metal.running.judging import JudgeRequest
    from metal.running.prompting import load_prompts

    criteria, folders = _criteria_and_folders(data, prompt_folders)
    prompts = load_prompts(JudgeRequest((), tuple(template_names(folders))), criteria, folders)
    rows = [
        [criterion.name, *(prompt.digest(criterion.name) for prompt in prompts)]
        for criterion in criteria
    ]
    return pd.DataFrame(rows, columns=["criterion", *(prompt.name for prompt in prompts)])


@documented
def prompt_show(
    data: Data | None = None,
    *,
    criterion: Annotated[str, Option("Criterion, e.g. task_quality.", "-c")],
    prompt: Annotated[str, Option("Prompt: simple, detailed, or your own.", "-p")] = "detailed",
    question: Question = "",
    output: Annotated[
        str,
        Option(
            "Output to fill the prompt with. [default: the first; placeholders without a dataset]"
        ),
    ] = "",
    prompt_language: Annotated[
        str, Option("Language of the prompt. [default: English]", metavar="CODE")
    ] = "",
    prompt_folders: PromptFolders = (),
) -> SentPrompt:
    """Print exactly what would be sent to a judge.

    Args:
        data: A dataset whose criteria and prompts to use; without one, METAL's five criteria.

    Returns:
        The two messages.

    Raises:
        UnknownName: For a criterion, a prompt or an output that does not exist.

    Example:
        print(metal.prompt_show("datasets/news", criterion="task_quality").user)
    """
    from metal.raters.judges.rubric import described
    from metal.raters.judges.templates import variant
    from metal.running.judging import JudgeRequest
    from metal.running.prompting import load_prompts

    known_criteria, folders = _criteria_and_folders(data, prompt_folders)
    criteria = {each.name: each for each in known_criteria}
    if criterion not in criteria and (own := described(criterion, folders)):
        criteria[criterion] = own
    check_known("criterion", [criterion], criteria)
    request = JudgeRequest((), (prompt,), prompt_language=prompt_language, question=question)
    shown_in = (
        {each.language for each in as_dataset(data).outputs.values()} if data is not None else set()
    )
    pairs = criteria[criterion].scale.compares
    together = variant(prompt, together=True) == prompt
    beside = [each for each in known_criteria if together and each.scale.compares == pairs]
    [loaded] = load_prompts(request, beside or [criteria[criterion]], folders, shown_in, pairs)
    if data is not None:
        message = _message_about(as_dataset(data), output, loaded, criterion)
    elif output:
        raise UsageError("`output` is an output of a dataset; give the dataset too")
    else:
        references = ("(a reference's text)",) if loaded.template.shows_references else ()
        message = loaded.write(
            criterion, "en", "(the source's text)", "(the output's text)", references=references
        )
    return SentPrompt(loaded.name, loaded.digest(criterion), message.system, message.user)


def _message_about(dataset: Dataset, output: str, prompt: Prompt, criterion: str) -> Message:
    """What a judge is sent about an output, by default the first. Raises UnknownName."""
    if output and output not in dataset.outputs:
        raise UnknownName("output", output, dataset.outputs)
    shown = dataset.outputs[output] if output else next(iter(dataset.outputs.values()))
    texts = shown.shown if shown.is_pair == prompt.template.pairs else prompt.template.slots
    source = dataset.sources[shown.source]
    references = source.references if prompt.template.shows_references else ()
    return prompt.write(criterion, shown.language, source.text, *texts, references=references)


def _criteria_and_folders(
    data: Data | None, folders: Iterable[StrPath]
) -> tuple[list[Criterion], list[Path]]:
    """The criteria of the dataset, or METAL's five, and the folders in which prompts are
    looked up.
    """
    from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
    from metal.running.prompting import prompt_folders

    if data is None:
        return [*map(metal_criterion, METAL_CRITERIA)], prompt_folders(map(str, folders), None)
    dataset = as_dataset(data)
    return [*dataset.criteria.values()], prompt_folders(map(str, folders), dataset.folder)
