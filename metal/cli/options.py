"""Options that several verbs share, so that they look and behave alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from metal.data.dataset import Dataset

F = TypeVar("F", bound=Callable[..., Any])


def names(*flags: str, what: str) -> Callable[[F], F]:
    """An option that takes names, several at once with commas, or given several times."""
    return click.option(*flags, multiple=True, metavar="NAME[,NAME]", callback=_split, help=what)


def _split(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


seed = click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of all randomness.")
resume = click.option(
    "--resume", type=click.Path(path_type=Path), metavar="RUN", help="Go on with a run that was stopped."
)
dry_run = click.option(
    "--dry-run", is_flag=True, help="Show calls, tokens, cost, time and the first prompt; send nothing."
)
max_cost = click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the run has cost more."
)
ask = click.option("--ask/--yes", default=None, help="Ask before spending. [default: ask in a terminal]")
limit = click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Make at most N calls; resume for the rest."
)
reuse = click.option(
    "--reuse", type=click.Path(path_type=Path), multiple=True, metavar="RUN", help="Take its answers, unpaid."
)
prompts = click.option(
    "--prompts", type=click.Path(path_type=Path), multiple=True, metavar="DIR", help="Your own prompts."
)
base_url = click.option("--base-url", default="", metavar="URL", help="Where openai-compatible: models are.")
concurrency = click.option(
    "--concurrency", type=click.IntRange(1, 1000), metavar="N", help="Calls in flight. [default: 16]"
)
batch = click.option("--batch", is_flag=True, help="Through the providers' batch services: half the price, in a day.")
wait = click.option(
    "--wait/--no-wait", default=True, help="Wait for the batches, or submit and go. [default: wait]", show_default=False
)
engine = click.option(
    "--engine", type=click.Choice(["local", "batch", "ray"]), help="Who makes the calls. [default: local]"
)
address = click.option("--address", default="", metavar="HOST:PORT", help="Ray cluster; default: one of this machine.")
reask = click.option(
    "--reask",
    type=click.IntRange(0, 5),
    default=1,
    show_default=True,
    help="How often to ask again after a reply without an answer.",
)
bootstrap = click.option(
    "--bootstrap",
    "resamples",
    default=2000,
    show_default=True,
    type=click.IntRange(min=100),
    help="Bootstrap resamples for the 95% intervals; whole sources are drawn.",
)


def _optional(check: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """A callback for an option that may go without a value. check: where the function is that reads one.

    It is read with the command line: what an option swallowed by mistake, such as the dataset that stands after it, is
    told before that is missed.
    """

    def read(context: click.Context, option: click.Parameter, value: str) -> str:
        from importlib import import_module
        from operator import attrgetter

        from metal.errors import MetalError, UsageError

        if value:
            module, _, names = check.partition(":")
            try:
                attrgetter(names)(import_module(module))(value)
            except MetalError as error:
                flag = option.opts[0]
                hint = f"; put {flag} after {value}, or give it a value" if Path(value).exists() else ""
                raise UsageError(f"{flag}: {error}{hint}") from None
        return value

    return read


test_questions = click.option(
    "--test-questions",
    is_flag=False,
    flag_value="5%+5%",
    default="",
    callback=_optional("metal.genie.gold_questions:Shares.read"),
    metavar="[=P%+N%]",
    help="Hide questions whose answers are known: P% positive, N% negative. [without a value: 5%+5%]",
)
exclude_noisy = click.option(
    "--exclude-noisy",
    is_flag=False,
    flag_value="rate-learned-2",
    default="",
    callback=_optional("metal.genie.noisy:model_and_beta"),
    metavar="[=MODEL[@BETA]]",
    help="Leave out all ratings of people who fail the test questions (see `metal monitor`). [without a value: "
    "rate-learned-2]",
)
permutations = click.option(
    "--permutations",
    default=1000,
    show_default=True,
    type=click.IntRange(min=100),
    help="Permutations of each test.",
)
force = click.option("--force", is_flag=True, help="Replace the folder given with --out.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
dataset = click.argument("dataset", type=click.Path(path_type=Path))
more_ratings = click.argument("ratings", nargs=-1, type=click.Path(path_type=Path))


def load(folder: Path, runs: tuple[Path, ...] = ()) -> Dataset:
    """The dataset with the ratings of the run folders added."""
    from metal.data.dataset import load_dataset

    return with_runs(load_dataset(folder), runs)


def load_board(folder: Path, runs: tuple[Path, ...] = ()) -> Dataset:
    """The same of a board, with what was submitted to it."""
    from metal.boards.store import open_board

    return with_runs(open_board(folder).dataset, runs)


def with_runs(dataset: Dataset, runs: tuple[Path, ...]) -> Dataset:
    """The dataset with the ratings of run folders added; of an audit's, those that it added."""
    from metal.data.dataset import read_toml, with_ratings

    for run in runs:
        about = read_toml(run / "run.toml") if (run / "run.toml").is_file() else {}
        added = [run]
        if about.get("command") in ("audit", "billboard", "leaderboard") and isinstance(about.get("datasets"), list):
            added = [Path(path) for path in about["datasets"][0].get("more", [])]
        for one in added:
            dataset = with_ratings(dataset, one)
    return dataset
