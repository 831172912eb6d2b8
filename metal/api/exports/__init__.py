"""What `metal export --to` writes, one file for each target.

A target is a `Target` record, offered by an entry point of the group `metal.exports`. To add one,
write its file and one line, here or in a package of your own:

    [project.entry-points."metal.exports"]
    my_target = "my_package.my_target:TARGET"
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.dataset_lines import criterion_record
from metal.data.files import whole_text
from metal.data.holdings import EXPORT_MARK, OF_UNSCORED, REFERENCE, REPEAT_OF
from metal.data.plugins import load_plugin, plugins
from metal.data.progress import Progress
from metal.data.records import Output, Source, with_swapped
from metal.data.text import plural
from metal.errors import UsageError
from metal.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset

GROUP = "metal.exports"
MARK = {EXPORT_MARK: f"metal {__version__}"}  # without it in the first record, nothing is replaced
BLOCK = 2_000  # outputs between two calls of progress


@dataclass(frozen=True)
class RatedOutput:
    """An output with its source and everything that was said about it.

    ratings: {column of the exported table: value}; `score` is None if there is none, and whole
    numbers are integers. A rating by a judge that was asked again also has `repeats`, the judge,
    and `sample`, the number of the time.
    """

    output: Output
    source: Source
    ratings: tuple[Mapping[str, Any], ...]

    @property
    def about(self) -> dict[str, Any]:
        """METAL's ids of the output and the language, as metadata."""
        return {
            "language": self.output.language,
            "generator": self.output.generator,
            "source": self.output.source,
            "output": self.output.output,
        }

    @property
    def reference(self) -> dict[str, str]:
        """The first reference of the source, as metadata; nothing if there is none."""
        return filled_in({REFERENCE: next(iter(self.source.references), None)})

    @property
    def unscored(self) -> list[dict[str, Any]]:
        """What is known of the ratings without a score, as metadata."""
        missing = (rating for rating in self.ratings if rating["score"] is None)
        return [filled_in({name: rating.get(name) for name in OF_UNSCORED}) for rating in missing]


@dataclass(frozen=True)
class Exported:
    """What a target gets to write.

    table: the joined ratings, one per row, with the label of each score; `verdict` and
    `verdict_reason` if an audit's verdicts were asked for, `source_text` and `text` if texts were.
    """

    dataset: Dataset
    table: pd.DataFrame

    @property
    def criteria(self) -> dict[str, dict[str, Any]]:
        """The records of the criteria by name, as dataset.toml has them."""
        criteria = self.dataset.criteria
        return {name: criterion_record(criterion) for name, criterion in criteria.items()}

    def outputs(self, progress: Progress) -> Iterator[RatedOutput]:
        """The rated outputs in the order of the dataset."""
        names = [str(name) for name in self.table.columns]
        outputs = with_swapped(self.dataset.outputs, self.table["output"].unique())
        position = {name: number for number, name in enumerate(outputs)}
        order = self.table["output"].map(position).argsort(kind="stable")
        rows = self.table.iloc[order].itertuples(index=False, name=None)
        total = self.table["output"].nunique()
        by_output = groupby(rows, itemgetter(names.index("output")))
        for number, (name, group) in enumerate(by_output, 1):
            output = outputs[name]
            ratings = tuple(self._rating(names, row) for row in group)
            yield RatedOutput(output, self.dataset.sources[output.source], ratings)
            if number % BLOCK == 0 or number == total:
                progress(number, total)

    def _rating(self, names: list[str], row: tuple[Any, ...]) -> dict[str, Any]:
        rating = {name: plain_number(value) for name, value in zip(names, row, strict=True)}
        noted = self.dataset.raters[rating["rater"]].about
        return rating | {name: noted[name] for name in REPEAT_OF if name in noted}


@dataclass(frozen=True)
class Target:
    """A target of `metal export`.

    summary: what it writes, in a line. write(exported, path, progress): writes the file, or fills
    the folder, and returns notes on what the target cannot hold, with counts. Importing the module
    must be quick, so the function itself imports heavy libraries. folder: whether the path is a
    folder. lacks: names in LACKING of what it has no place for; notes then count it.
    """

    summary: str
    write: Callable[[Exported, Path, Progress], Iterable[str]]
    folder: bool = False
    lacks: tuple[str, ...] = ()


def load_target(name: str) -> Target:
    """The target of that name. Raises UnknownName, and UsageError for an entry point that is not a
    target.
    """
    loaded = load_plugin(GROUP, "target", name)
    if not isinstance(loaded, Target):
        value = plugins(GROUP)[name].value
        raise UsageError(f"target {name} ({value}) is not a metal.api.exports.Target")
    return loaded


def notes_on_lacking(exported: Exported, target: Target) -> Iterator[str]:
    """What these data have and the target has no place for, with counts."""
    for name in target.lacks:
        yield from LACKING[name](exported)


def _note_on_pairs(exported: Exported) -> Iterator[str]:
    outputs = with_swapped(exported.dataset.outputs, exported.table["output"].unique())
    pairs = [output.output for output in outputs.values() if output.is_pair]
    derived = [output.output for output in outputs.values() if output.of and not output.is_pair]
    count = int(exported.table["output"].isin(pairs).sum())
    from_others = int(exported.table["output"].isin(derived).sum())
    if from_others:
        yield (
            f"{plural(from_others, 'rating')} of outputs that were made from others lose from which"
            " one and how, such as by exchanging the two outputs of a pair (csv, jsonl, parquet and"
            " hf keep it)"
        )
    if count:
        yield (
            f"{plural(count, 'comparison')} of pairs lose who wrote the two outputs, where each"
            " text begins and which was shown first: this target holds one text per output (csv,"
            " jsonl, parquet and hf keep them)"
        )


def _note_on_references(exported: Exported) -> Iterator[str]:
    count = sum(bool(source.references) for source in exported.dataset.sources.values())
    if count:
        yield f"the references of {plural(count, 'source')} are left out: this target has none"


def note_on_further_references(exported: Exported) -> Iterator[str]:
    """How many sources have more references than the one that is written."""
    count = sum(len(source.references) > 1 for source in exported.dataset.sources.values())
    if count:
        yield (
            f"{plural(count, 'source')} with several references: only the first is written; every-"
            "eval-ever keeps all"
        )


# {what a target may have no place for: the note on it}
LACKING: Mapping[str, Callable[[Exported], Iterator[str]]] = {
    "pairs": _note_on_pairs,
    "references": _note_on_references,
    "further references": note_on_further_references,
}


def plain_number(value: Any) -> Any:
    """A whole number as an integer, None for NaN, and anything else as it is."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


# ---------------------------------------------------------------- for targets


def named_score(rating: Mapping[str, Any]) -> str:
    """The name of a rating among other scores of its output: `fluency by gpt-4`."""
    return f"{rating['criterion']} by {rating['rater']}"


def json_text(value: Any) -> str:
    """The value as JSON on one line; NaN stays NaN."""
    return whole_text(json.dumps(value, ensure_ascii=False))


def write_list(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSON list, a line for each record."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("[\n")
        for number, record in enumerate(records):
            file.write(f"{',' if number else ''}{json_text(record)}\n")
        file.write("]\n")


def filled_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value; a score of 0 is one."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [], {})}
