"""The parts of a judges' run, in the order in which they are determined.

They are the judges, the criteria, the outputs, the examples, the prompts and the test questions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.dataset import Dataset
from metal.data.records import COMPARED, SWAPPED, Criterion, Output
from metal.data.text import listed
from metal.errors import UsageError, check_known
from metal.genie.store import draw_questions, read_questions
from metal.raters.judges.baselines import BASELINES
from metal.raters.judges.call import Client
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
from metal.raters.judges.models import Model, find_model, judges_files, named_models, with_settings
from metal.raters.judges.plan import choose_outputs
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.providers import find_provider, open_client
from metal.raters.judges.rubric import described
from metal.raters.judges.templates import variant
from metal.running.prompting import load_prompts, prompt_folders

if TYPE_CHECKING:
    from metal.running.judging import JudgeRequest


@dataclass(frozen=True)
class Judges:
    """The judges that a run asks.

    models: all judges but baselines, including functions. functions: the functions that answer in
    place of a provider, by the model's name. heads: models that give numbers without a prompt.
    synthetic: whether the functions are METAL's synthetic judges, which read an output's record.
    """

    models: tuple[Model, ...]
    baselines: tuple[str, ...]
    functions: Mapping[str, JudgeFunction]
    heads: tuple[Model, ...]
    synthetic: bool
    warnings: tuple[str, ...] = ()

    @property
    def direct(self) -> list[str]:
        """The judges that get no prompt."""
        return [*self.functions, *(head.name for head in self.heads)]


@dataclass(frozen=True)
class AskedCriteria:
    """What a run asks about: the dataset with criteria from files, the criteria to ask, and whether
    outputs are compared in pairs.
    """

    dataset: Dataset
    criteria: Mapping[str, Criterion]
    pairs: bool
    folders: list[Path]
    notes: tuple[str, ...]


def find_judges(
    request: JudgeRequest,
    dataset: Dataset,
    by_name: Mapping[str, JudgeFunction],
    concurrency: int | None,
) -> Judges:
    """The judges of a request. Raises UsageError or UnknownName.

    by_name: the judges that are functions.
    """
    named = named_models(judges_files())
    functions = dict(by_name)
    baselines = []
    for name in request.judges:
        if name in functions or name in named:
            continue
        if name in BASELINES:
            baselines.append(name)
        elif is_function(name):
            functions[name] = named_function(name)
    models = []
    for name in request.judges:
        if name in functions:
            models.append(function_model(name, functions[name], concurrency))
        elif name not in baselines:
            model = find_model(name, named, base_url=request.base_url)
            models.append(with_settings(model, concurrency=concurrency))
    warnings = _ask_for_probabilities(models, functions) if request.probabilities else []
    synthetic = _synthetic(models, dataset)
    if synthetic:
        models, functions = list(map(as_synthetic, models)), synthetic
    heads = []
    for model in models:
        if model.name not in functions and find_provider(model.provider).direct:
            heads.append(model)
    return Judges(
        tuple(models),
        tuple(baselines),
        functions,
        tuple(heads),
        bool(synthetic),
        tuple(warnings),
    )


def _ask_for_probabilities(models: list[Model], functions: Container[str]) -> list[str]:
    """Set the models to return token probabilities; return a warning about models that cannot."""
    for position, model in enumerate(models):
        if model.name not in functions:
            models[position] = model.asked_for_probabilities()
    silent = [model.name for model in models if not model.gives_probabilities]
    if not silent:
        return []
    return [
        f"warning: {listed(silent)} cannot return token probabilities, so these answers have no"
        " confidence"
    ]


def _synthetic(models: Sequence[Model], dataset: Dataset) -> dict[str, JudgeFunction]:
    """The synthetic judges as functions. Raises UsageError if they are asked together with
    others.
    """
    conditions = {output.condition for output in dataset.outputs.values()}
    functions = {
        model.name: synthetic_judge(model, conditions) for model in models if model.provider == FAKE
    }
    if functions and len(functions) < len(models):
        raise UsageError(
            "synthetic judges (fake:...) get no prompt; give them a run of their own with `out`"
        )
    return functions


def check_without_prompt(request: JudgeRequest, judges: Judges) -> None:
    """Raise UsageError if judges without a prompt are asked together with others, or for something
    that needs a prompt.
    """
    direct = judges.direct
    if not direct:
        return
    if len(direct) < len(judges.models):
        raise UsageError(
            f"functions and score heads ({listed(direct)}) get no prompt; give them a run of their"
            " own with `out`"
        )
    prompted = {
        "together": any(variant(name, together=True) == name for name in request.prompts),
        "prompt_language": request.prompt_language,
        "question": request.question,
    }
    for option, value in prompted.items():
        if value:
            raise UsageError(
                f"{direct[0]} gets no prompt and is asked for one criterion per call; leave out"
                f" `{option}`"
            )


def connect(judges: Judges, criteria: Mapping[str, Criterion], model: Model) -> Client:
    """The client that answers for a model: its provider, or a function."""
    if model.name not in judges.functions:
        return open_client(model)
    tokens = 0 if judges.synthetic else None
    return FunctionClient(judges.functions[model.name], criteria, tokens=tokens)


def find_criteria(request: JudgeRequest, folder: Path, dataset: Dataset) -> AskedCriteria:
    """The criteria of a request: the dataset's, and those that criteria/NAME.toml declares.

    Raises UsageError or UnknownName.
    """
    pairs = bool(dataset.asked) and all(each.scale.compares for each in dataset.asked.values())
    if pairs and request.test_questions:
        raise UsageError("`test_questions` are about single outputs, but these outputs are pairs")
    folders = prompt_folders(request.prompt_folders, folder)
    filed = {}
    for name in request.criteria:
        criterion = None if name in dataset.criteria else described(name, folders)
        if criterion:
            filed[name] = replace(criterion, scale=COMPARED) if pairs else criterion
    notes = tuple(
        f"note: {folder} has no criterion {name}; the question comes from criteria/{name}.toml"
        for name in filed
    )
    available = {name: each for name, each in dataset.asked.items() if each.scale.compares == pairs}
    available |= filed
    check_known("criterion", request.criteria, available)
    dataset = replace(dataset, criteria={**dataset.criteria, **filed})
    criteria = {name: dataset.criteria[name] for name in request.criteria or available}
    return AskedCriteria(dataset, criteria, pairs, folders, notes)


def notes_on_heads(heads: Sequence[Model], criteria: Mapping[str, Criterion]) -> Iterator[str]:
    """Notes on how the answers of score heads are read. Raises UsageError for questions that score
    heads cannot answer.
    """
    for head in heads:
        if len(criteria) > 1:
            raise UsageError(
                f"{head.name} gives an output one score; name its criterion with `criteria`"
            )
        criterion = next(iter(criteria.values()))
        name, scale = criterion.name, criterion.scale
        if scale.compares:
            raise UsageError(f"{head.name} scores single outputs, but these outputs are pairs")
        shown = scale.describe()
        if scale.levels and find_provider(head.provider).classes:
            yield (
                f"note: the classes of {head.name} are read as {shown}, in this order (`flip`"
                " reverses it)"
            )
        elif scale.levels or scale.ends:
            has, or_else = "levels", ""
            if not scale.levels:
                has, or_else = "ends", ", or take `range` out of dataset.toml"
            raise UsageError(
                f"{head.name} gives numbers in a unit of its own, but {name} has {has} ({shown});"
                " read people's ratings as "
                f'numbers without {has}: `metal.read(..., measures={{"{name}": "interval"}})`'
                f"{or_else}"
            )


def judged_outputs(asked: AskedCriteria) -> dict[str, Output]:
    """The outputs that can be judged, by name; if pairs are compared, only pairs, sorted
    by name.
    """
    judged = {}
    for output in asked.dataset.outputs.values():
        named = output.as_named if output.condition == SWAPPED else output
        if asked.pairs or not named.is_pair:
            judged[named.output] = named
    return judged


def set_examples_apart(
    request: JudgeRequest, judges: Judges, asked: AskedCriteria, judged: Mapping[str, Output]
) -> tuple[Mapping[str, tuple[RatedExample, ...]], dict[str, Output], str]:
    """The examples by language, the outputs that remain to be judged, and a note on how many are
    left out.

    Raises UsageError if no examples can be shown.
    """
    if judges.direct or asked.pairs or request.prompt_language:
        raise UsageError("`examples` are for prompts in English about single outputs")
    eligible = choose_outputs(judged, request.languages)
    examples = draw_examples(
        asked.dataset, eligible, asked.criteria, request.examples, request.seed
    )
    left = {output.output: output for output in apart(judged.values(), asked.dataset, examples)}
    held = len(eligible) - sum(output.output in left for output in eligible)
    note = (
        f"note: {held:,} outputs are not judged, because they, or other outputs of their source, "
        "are examples"
    )
    return examples, left, note


def find_prompts(
    request: JudgeRequest,
    judges: Judges,
    asked: AskedCriteria,
    languages: Set[str],
    examples: Mapping[str, tuple[RatedExample, ...]],
) -> tuple[Prompt, ...]:
    """The prompts of a request; for judges without a prompt, one that only hands them the texts.

    languages: the languages of the outputs.
    """
    criteria = asked.criteria.values()
    if judges.direct:
        references = any(map(takes_references, judges.functions.values()))
        return (direct_prompt(criteria, references, request.flip if judges.heads else ()),)
    if not judges.models:
        return ()
    prompts = load_prompts(request, criteria, asked.folders, languages, asked.pairs)
    if examples:
        prompts = tuple(replace(prompt, examples=examples, _frames={}) for prompt in prompts)
    return prompts


def shown_outputs(
    request: JudgeRequest, judges: Judges, asked: AskedCriteria, outputs: Sequence[Output]
) -> Sequence[Output]:
    """The outputs in the form in which they are shown: pairs in both orders, and whole records for
    synthetic judges.
    """
    if asked.pairs and request.orders == "both":
        outputs = [shown for pair in outputs for shown in (pair, pair.swapped)]
    if judges.synthetic:
        declared = asked.dataset.extra.get("probes", {}).get("conditions", ())
        outputs = with_records(outputs, declared)
    return outputs


def find_test_questions(
    request: JudgeRequest,
    folder: Path,
    dataset: Dataset,
    outputs: Sequence[Output],
    say: Callable[[str], None],
) -> tuple[Output, ...]:
    """The test questions of a request: those that people of these languages were asked, and others
    up to the wanted number.
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
