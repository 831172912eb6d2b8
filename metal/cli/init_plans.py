"""The questions of `metal init`, and the commands that follow from the answers. Each question can
be answered with Enter.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.at_hand import AtHand, has_outputs, kinds
from metal.cli.dialogue import prompt
from metal.cli.import_asked import Words
from metal.data.text import without_ending
from metal.errors import MetalError
from metal.show.commands import next_command
from metal.show.terminal import console

ALONE = (
    "`metal init` asks in a terminal, and nothing was typed; type instead `metal import PATH -i`, "
    "`metal judge DATASET --judge MODEL` or `metal sample --source SOURCE --out DATASET`"
)
MODEL = "openai:gpt-4o-mini"


@dataclass(frozen=True)
class Plan:
    """Commands to run now, and commands for later.

    why: what has to be done before the later commands.
    """

    now: list[Words]
    later: tuple[Words, ...] = ()
    why: str = ""


def ask(question: str, **settings: Any) -> Any:
    return prompt(question, instead=ALONE, **settings)


# ---------------------------------------------------------------- what somebody has


def _ratings(here: AtHand) -> Plan:
    default = str(here.tables[0]) if here.tables else None
    exists = click.Path(exists=True, path_type=Path)
    path = ask("Table or release with the ratings", type=exists, default=default)
    data = _free(Path("datasets") / without_ending(path.name))
    read = ["import", str(path), "-i", "--out", str(data)]
    try:
        with console.progress("reading") as advance:
            dataset = metal.read(path, progress=advance)
    except MetalError:  # the import asks for what it does not see by itself
        return Plan([read, ["audit", str(data)]])
    rated_by = {rater.kind for rater in dataset.raters.values()}
    if rated_by == {"human"}:
        console.say("Nobody but people rated it: a judge comes next.")
        asked = _unasked(list(dataset.criteria.values()), None)
        return _joined(read, _judged(data, asked))
    return Plan([read, shlex.split(next_command(data, rated_by))[1:]])


def _judge(here: AtHand) -> Plan:
    rated = [path for path in here.datasets if "human" in kinds(path)]
    default = str(rated[0]) if rated else None
    data = Path(
        ask("Dataset that people have rated", default=default, type=click.Path(exists=True))
    )
    from metal.data.dataset import load_dataset

    criteria = (
        list(load_dataset(data).criteria.values()) if (data / "dataset.toml").is_file() else []
    )
    return _judged(data, _unasked(criteria, data))


def _people(here: AtHand) -> Plan:
    unrated = [path for path in here.datasets if "human" not in kinds(path)]
    default = str(unrated[0]) if unrated else None
    data = Path(
        ask(
            "Dataset whose outputs people are to rate",
            default=default,
            type=click.Path(exists=True),
        )
    )
    return _handed_out(data) if has_outputs(data) else _written(data)


def _dataset(here: AtHand) -> Plan:
    from metal.data.formats.passages import find_passages

    source = ask("Passages: xlsum, a folder or file, or hf:NAME", default=here.passages or "xlsum")
    own = Path(source).exists()
    default = "en,sw"
    if own:
        try:
            named = find_passages(source).languages
        except MetalError:  # no name there tells a language
            named = ("en",)
        default = "all" if len(named) > 1 else named[0]
    languages = ask("Languages, by code or name, with commas", default=default)
    data = Path("datasets") / ask("Name of the dataset", default=_free(Path("datasets/mine")).name)
    chosen = [] if languages == "all" else ["--languages", languages]
    sample = ["sample", "--source", source, *chosen, "--out", str(data)]
    if own:  # somebody's own texts are as many as they are; `sample` warns of too few
        sample.append("--allow-fewer")
    return _joined(sample, _written(data))


def _demo(here: AtHand) -> Plan:
    return Plan([["demo"]])


HAVE = {
    "ratings": ("ratings by people, perhaps also by judges: read the table and audit it", _ratings),
    "judge": ("ratings by people: let a judge rate the same outputs, then audit it", _judge),
    "people": ("texts that nobody has rated: hand them out to people", _people),
    "dataset": (
        "nothing to rate yet: choose passages, have summaries written and rated",
        _dataset,
    ),
    "demo": ("nothing yet: see what METAL says about the data that come with it", _demo),
}


def likeliest(here: AtHand) -> str:
    """The most likely starting point for somebody with this folder."""
    rated_by = list(map(kinds, here.datasets))
    if any("human" in each for each in rated_by):
        return "judge"
    if here.datasets:
        return "people"
    if here.tables:
        return "ratings"
    return "dataset" if here.passages else "demo"


# ---------------------------------------------------------------- commands


def _judged(data: Path, asked: Words) -> Plan:
    """The plan for a judge that rates the dataset and is then audited.

    asked: options for the judge's question.
    """
    model, options, lacking = _model("Judge, as PROVIDER:MODEL (`metal judges` shows them)")
    run = str(_free(Path("runs") / f"{data.resolve().name}-judges"))
    judge = ["judge", str(data), "--judge", model, *options, *asked, "--out", run]
    return _waiting(judge, [["audit", str(data), run]], lacking)


def _written(data: Path) -> Plan:
    """The plan for a model that writes the outputs of a dataset, and for people who rate them."""
    model, options, lacking = _model("Model that writes the summaries")
    run = _free(Path("runs") / f"{data.name}-generate")
    generate = ["generate", str(data), "--model", model, *options]
    generate += ["--out", str(run)] if run.name != f"{data.name}-generate" else []
    return _waiting(generate, _handed_out(data).now, lacking)


def _handed_out(data: Path) -> Plan:
    """The plan for people who rate the outputs of a dataset; first, each criterion without a
    question gets one.
    """
    raters = ask("People who rate each text", type=click.IntRange(1), default=3)
    people = ask("People in all, per language", type=click.IntRange(raters), default=raters)
    out = _free(Path("runs") / f"{data.resolve().name}-html")
    export = ["annotate", "export", str(data), "--to", "html", "--raters", str(raters)]
    export += ["--people", str(people)] if people != raters else []
    export += ["--out", str(out)] if out.name != f"{data.resolve().name}-html" else []
    described = [*_described(data)] if (data / "dataset.toml").is_file() else []
    return Plan([*described, [*export, *(["--prompt-folders", "prompts"] if described else [])]])


def _described(data: Path) -> Iterator[Words]:
    """Commands that give a question to each criterion without one."""
    from metal.api.criteria import criterion_file
    from metal.data.dataset import load_dataset
    from metal.data.records import Scale
    from metal.running.prompting import unexplained

    criteria = load_dataset(data).criteria
    for name in unexplained(criteria.values(), data):
        scale = criteria[name].scale
        levels = ",".join(f"{level.value:g}={level.label}" for level in scale.levels)
        if not criterion_file(name).exists() and levels and Scale.of(levels) == scale:
            question = ask(f"Question to people about {name}", default=_guess(name))
            yield ["criterion", "new", name, "--scale", levels, "--question", question]


def _model(question: str) -> tuple[str, Words, str]:
    """Ask the user for a model. Returns it, the options with its address, and what has to be done
    before it can be used.
    """
    from metal.raters.judges.providers import find_provider, provider_names

    model = ask(question, default=MODEL)
    name = model.partition(":")[0]
    if name not in provider_names():
        return model, [], ""  # a baseline, a function or a name of judges.toml
    provider = find_provider(name)
    options = []
    if provider.needs_url and not os.environ.get(provider.url_variable):
        options = ["--base-url", ask("Where it is (base URL)", default="http://127.0.0.1:8000/v1")]
    return model, options, "" if provider.state == "ready" else provider.state


def _waiting(asking: Words, after: list[Words], lacking: str) -> Plan:
    """The plan for a command that asks a model, and for the commands after it; while something is
    missing, it only estimates the cost.
    """
    if not lacking:
        return Plan([asking, *after])
    return Plan([[*asking, "--dry-run"]], (asking, *after), lacking)


def _unasked(criteria: list[Any], data: Path | None) -> Words:
    """Options that give a question to a criterion without one; empty if all criteria have one."""
    from metal.running.prompting import unexplained

    bare = unexplained(criteria, data)
    if not bare:
        return []
    name = bare[0]
    if len(bare) > 1:
        name = ask("Criterion that the judge rates first", type=click.Choice(bare), default=bare[0])
    question = ask(f"Question to the judge about {name}", default=_guess(name))
    return [*(["--criteria", name] if len(criteria) > 1 else []), "--question", question]


def _guess(criterion: str) -> str:
    """A question that may suit a criterion, guessed from its name alone."""
    if criterion == "overall":
        return "How good is the text overall?"
    return f"How good is the text's {criterion.replace('_', ' ')}?"


def _joined(first: Words, plan: Plan) -> Plan:
    return Plan([first, *plan.now], plan.later, plan.why)


def _free(path: Path) -> Path:
    """The path, with a number added if it exists already."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
