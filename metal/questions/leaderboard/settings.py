"""The settings of a leaderboard, and the signature of its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from metal.data.option import ExcludeNoisy, Option, Permutations, Seed, check_options
from metal.data.text import signature_line
from metal.version import __version__


@dataclass(frozen=True)
class LeaderboardSettings:
    """The settings of a leaderboard. Empty tuples mean all.

    reference: the people whose ratings count (people.py). criteria: the criteria that count, also
    for overall. aggregate: how several labels of one output become its score: by their mean, or as
    the label given most often (if there are several, their mean); scores without levels are always
    averaged. sample: how many sources of each language to score (`sources_chosen`); None for all.
    with_judges: whether to show LLM judges next to people, like metrics. permutations: the number
    of permutations of each test. exclude_noisy: the model (metal.genie.noisy) that decides whom to
    leave out; "" for none. corrected: the judge whose ratings give the corrected means shown with
    the scores; "" for none.
    """

    reference: Annotated[
        str,
        Option(
            "Whose ratings count: group=crowd, or rater=A1,A2. [default: all people]",
            metavar="PEOPLE",
        ),
    ] = ""
    criteria: Annotated[
        tuple[str, ...],
        Option("Criteria that count, also for overall. [default: all but nominal ones]", "-c"),
    ] = ()
    languages: Annotated[
        tuple[str, ...], Option("Languages. [default: all together, and each alone]", "-l")
    ] = ()
    aggregate: Annotated[
        Literal["mean", "majority"],
        Option(
            "How to combine several labels of one output.",
            choices=("mean", "majority"),
            rare=True,
        ),
    ] = "mean"
    sample: Annotated[
        int | None,
        Option(
            "Score N random sources per language (by `seed`), the same for every generator."
            " [default: all]",
            metavar="N",
            least=1,
        ),
    ] = None
    with_judges: Annotated[bool, Option("Show LLM judges next to people, like metrics.")] = False
    permutations: Permutations = 1000
    seed: Seed = 0
    exclude_noisy: ExcludeNoisy = ""
    corrected: Annotated[
        str,
        Option("Also show people's means corrected by this judge's ratings (see `metal.correct`)."),
    ] = ""

    def __post_init__(self) -> None:
        check_options(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without settings that are not set."""
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
        return {key: value for key, value in plain.items() if value not in (None, [], "")}


def signature(data: str, settings: LeaderboardSettings) -> str:
    """A line with the program, the data, and every setting that affects a figure.

    data: Dataset.identity.
    """
    without = f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else ""
    return signature_line(
        {
            "metal": __version__,
            "data": data,
            "board": "people",
            "ref": settings.reference or "all-people",
            "without": without,
            "crit": "+".join(settings.criteria),
            "langs": "+".join(settings.languages),
            "agg": settings.aggregate,
            "sample": settings.sample,
            "judges": "yes" if settings.with_judges else "",
            "corrected": settings.corrected,
            "perm": settings.permutations,
            "seed": settings.seed,
        }
    )
