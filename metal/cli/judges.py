"""`metal judges`: which models can judge, and whether one answers; `metal prompt`: what judges are
told; `metal criterion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import metal
from metal.api.criteria import criterion_file
from metal.cli.verb import CommandGroup, Other, WithDefault, verb
from metal.data.text import dollars
from metal.show.terminal import console

JUDGES_TOML = """
Without JUDGE: list the models that can judge.

Name a judge as PROVIDER:MODEL, or by your own name in judges.toml, in the working folder or in
~/.config/metal. An entry has a model and whatever else it needs:

\b
  [judges.llama]
  model = "openai-compatible:meta-llama/Llama-3.3-70B-Instruct"
  base_url = "http://127.0.0.1:8000/v1"
  api_key_env = "VLLM_API_KEY"              # where its key is; never the key
  temperature = 0                           # "unset" to send none
  parameters = { seed = 7, max_tokens = 800 }
  structured = "json_schema"                # or json_object, none
  price = { input = 0.2, output = 0.6 }     # dollars per million tokens
  requests_per_minute = 500
  tokens_per_minute = 200000
  concurrency = 32                          # calls in flight
  timeout = 120                             # seconds per call
  headers = { "X-Title" = "metal", "X-Key" = "$MY_VARIABLE" }
  family = "llama"


  [judges.llama.batch]                      # for --batch
  requests = 10000                          # of one batch; bytes, too
  tokens = 90000                            # that wait at the provider
  price = { input = 0.1, output = 0.3 }     # default: half the price
  poll = 60                                 # seconds between two looks
  bucket = "gs://mine/judging"              # for Vertex AI

"""


@verb(metal.judges_list)
def list_() -> None:
    listing = metal.judges_list()
    rows = listing.providers[["name", "state"]].to_numpy().tolist()
    console.table(
        "Providers", ["name", "state"], rows, note=f"With --batch: {', '.join(listing.batch)}."
    )
    if not listing.judges:
        console.say("No judges.toml here or in ~/.config/metal (see metal judges --help).")
        return
    listed = [
        [
            name,
            f"{model.provider}:{model.model}",
            f"{dollars(model.price.input)}/{dollars(model.price.output)}" if model.price else "-",
            str(model.concurrency),
        ]
        for name, model in listing.judges.items()
    ]
    title = f"Judges of {', '.join(map(str, listing.files))}"
    console.table(title, ["judge", "model", "$/M tokens", "in flight"], listed)


@verb(
    metal.judges_test,
    more=JUDGES_TOML,
    examples="""
        metal judges
        metal judges openai:gpt-4o-mini
        metal judges openai-compatible:qwen3 --base-url http://127.0.0.1:8000/v1
    """,
)
def test(judge: str, **options: Any) -> None:
    tried = metal.judges_test(judge, **options)
    rating, statistics, criterion = tried.rating, tried.statistics, tried.criterion
    answer = f"{rating.score:g}" if rating.score is not None else f"no score ({rating.reason})"
    console.say(f"{judge}: {answer} on {criterion.name} ({criterion.scale.describe()})", bold=True)
    console.say(rating.comment)
    for version in statistics.versions:
        console.say(f"answered by {version}")
    latency = statistics.latency(50)
    if latency is not None:
        cost = statistics.cost(tried.model.price)
        shown = dollars(cost) if cost is None or cost >= 0.005 or not cost else f"${cost:.6f}"
        tokens = f"{statistics.tokens_in:,} tokens in, {statistics.tokens_out:,} out"
        console.say(f"{latency:.2f} s, {tokens}, cost {shown}")
    for parameter, why in statistics.rejected.items():
        console.say(f"asked without {parameter}, which the model rejects ({why})")


judges = WithDefault(
    default=test,
    others=(Other(list_, meant=lambda args: not args),),
    short_help="List judges, or try one.",
    name="judges",
)
judges.add_command(test)


@verb(metal.prompt_list)
def prompts(data: Path | None, **options: Any) -> None:
    table = metal.prompt_list(data, **options)
    console.table("Content hashes", list(table.columns), table.to_numpy().tolist())


@verb(
    metal.prompt_show,
    more="""
        Without --criterion: list the templates (prompts/judge) and the criteria's texts
        (prompts/criteria) with their hashes.

        Put your own into a folder that you name with --prompt-folders: judge/NAME.toml,
        criteria/NAME.toml, or criteria/NAME.LANGUAGE.toml for prompts in another language. METAL
        also looks into a dataset's folder `prompts`, and reads METAL's released rubrics
        (simple/NAME.json and detailed/NAME.json) as they are.
    """,
    examples="""
        metal prompt datasets/demo
        metal prompt --criterion task_quality --prompt detailed
        metal prompt datasets/demo --criterion hallucinations --output sw-1/good
    """,
)
def show(data: Path | None, **options: Any) -> None:
    from metal.show.terminal.asking_text import show_message

    sent = metal.prompt_show(data, **options)
    show_message(sent.system, sent.user)
    console.say(f"{sent.name}@{sent.digest}", dim=True)


def _names_no_criterion(args: Sequence[str]) -> bool:
    return not any(arg.split("=")[0] in ("-c", "--criterion") for arg in args)


prompt = WithDefault(
    default=show,
    others=(Other(prompts, meant=_names_no_criterion),),
    short_help="Show what judges are told.",
    name="prompt",
)
prompt.add_command(show)


@click.group(cls=CommandGroup, short_help="Add a criterion in one line.")
def criterion() -> None:
    """Criteria are what outputs are rated on; dataset.toml has a dataset's criteria with their
    levels and questions.
    """


@verb(
    metal.criterion_new,
    examples="""
        metal criterion new helpfulness --scale 1-10 --question "Does the answer help who asked?"
        metal criterion new tone datasets/mine --scale "rude<plain<polite" --question "How polite is it?"
        metal criterion new correctness datasets/mine --template question-answering
    """,  # noqa: E501
)
def new(name: str, data: Path | None, **options: Any) -> None:
    added = metal.criterion_new(name, data, **options)
    path, judge = (
        data or criterion_file(name),
        f"metal judge DATASET --judge MODEL --criteria {name}",
    )
    console.say(f"{path}: {name} ({added.scale.describe()}), {added.direction} is better")
    next_command = (
        f"metal prompt {data} --criterion {name}" if data else f"{judge} --prompt-folders prompts"
    )
    console.say(f"Next: {next_command}", wrap=False)


criterion.add_command(new)
