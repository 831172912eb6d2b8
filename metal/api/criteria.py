"""`metal.criterion_new`: a criterion in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import Option, StrPath, documented
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.data.records import Criterion, Scale

MOST_LEVELS = 11  # of a scale given by its ends; a longer one is a line of scores


@documented
def criterion_new(
    name: str,
    data: StrPath,
    *,
    scale: Annotated[
        str, Option("1-10, 0-100, Bad<Medium<Good, 0=No,1=Yes, or labels without an order: a,b,c.", metavar="SCALE")
    ],
    question: Annotated[str, Option("What is asked, of people and of judges.", metavar="TEXT")],
    label: Annotated[str, Option("Its name for people. [default: NAME in words]", metavar="TEXT")] = "",
    direction: Annotated[
        Literal["higher", "lower"], Option("Which scores are better.", choices=("higher", "lower"))
    ] = "higher",
) -> Criterion:
    """Add the criterion NAME to the dataset DATA, to be rated by people and judges.

    Question and levels are all that prompts and forms need; `metal prompt show DATA --criterion NAME` shows what judges
    are told. Thorough descriptions, for the prompt `detailed`, go into prompts/criteria/NAME.toml.

    name: as in commands and tables: letters, digits, `_` and `-`. data: a dataset folder, which is changed. scale: two
    whole numbers at most ten apart are levels, others the ends of a line of scores.

    Returns the criterion. Raises UsageError for a name that is taken or a scale that is none.
    """
    from pathlib import Path

    from metal.data.dataset import dataset_to_change, update_dataset, with_parts
    from metal.data.records import Criterion

    if not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"criterion {name!r}: a name has letters, digits, `_` and `-` only, e.g. {_as_name(name)!r}")
    if not question.strip():
        raise UsageError(f'criterion {name}: `question` is empty; ask something, e.g. "Is the answer helpful?"')
    words = label or name.replace("_", " ").capitalize()
    criterion = Criterion(name, _scale(scale), direction, label=words, question=question.strip())
    with dataset_to_change(Path(data)) as dataset:
        if name in dataset.criteria:
            shown = dataset.criteria[name].scale.describe()
            raise UsageError(f"{data} has a criterion {name} ({shown}) already; give this one another name")
        update_dataset(with_parts(dataset, criteria=[*dataset.criteria.values(), criterion]), data)
    return criterion


def _as_name(text: str) -> str:
    return re.sub(r"\W+", "_", text.strip()).strip("_").lower() or "helpfulness"


def _scale(text: str) -> Scale:
    from metal.data.records import Level, Scale
    from metal.data.tables.scales import ends_of, levels_from

    if "<" in text or "=" in text:
        return Scale("ordinal", levels_from(text))
    if "," in text:
        labels = [label.strip() for label in text.split(",")]
        return Scale("nominal", tuple(Level(float(place), label) for place, label in enumerate(labels)))
    low, high = ends_of(text)
    if low.is_integer() and high.is_integer() and high - low < MOST_LEVELS:
        values = range(int(low), int(high) + 1)
        return Scale("ordinal", tuple(Level(float(value), str(value)) for value in values))
    return Scale("interval", low=low, high=high)
