"""Which outputs are handed out: chosen ones with a text, of some generators, of some sources, or listed in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from metal.building.forms.csv_files import csv_rows
from metal.building.forms.rows import filled_rows, listed, unguarded
from metal.data.dataset import Dataset
from metal.data.records import Output
from metal.data.text import plural
from metal.errors import DataError, UnknownName, UsageError


def generators_named(dataset: Dataset, names: Iterable[str]) -> tuple[str, ...]:
    """The generators of these names; a name that is none itself may be several with commas. Raises UnknownName."""
    generators = sorted({output.generator for output in dataset.outputs.values()})
    parts = [part for text in names for part in ([text] if text in generators else text.split(","))]
    chosen = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    for name in chosen:
        if name not in generators:
            raise UnknownName("generator", name, generators)
    return chosen


def outputs_to_rate(
    dataset: Dataset,
    folder: Path,
    *,
    languages: Iterable[str] = (),
    only: Path | None = None,
    generators: Iterable[str] = (),
    sources: frozenset[str] | None = None,
    say: Callable[[str], None],
) -> list[Output]:
    """The chosen outputs that have a text.

    languages, generators, sources: limit the outputs to these. only: a CSV that names the outputs. say: told what is
    left out, and why. Raises UsageError if no output is left, UnknownName for an unknown language.
    """
    for language in languages:
        if language not in dataset.languages:
            raise UnknownName("language", language, dataset.languages)
    if not dataset.outputs:
        raise UsageError(f"{folder} has no outputs to rate yet; `metal.generate(...)` makes some from its sources")
    listed_outputs = _listed_in(only, dataset) if only else set(dataset.outputs)
    selected = [
        output
        for output in dataset.outputs.values()
        if (not languages or output.language in languages)
        and (not generators or output.generator in generators)
        and (sources is None or output.source in sources)
        and output.output in listed_outputs
    ]
    chosen = [output for output in selected if output.chosen]
    usable = [output for output in chosen if output.text.strip()]
    if not usable:
        where = [f"in {only}"] if only else []
        where += [f"by {', '.join(generators)}"] if generators else []
        where += ["in the sample"] if sources is not None else []
        raise UsageError(" ".join([f"{folder}: no chosen output with a text to rate", *where]))
    for count, what in (
        (len(selected) - len(chosen) if only else 0, "not handed out: not chosen"),
        (len(chosen) - len(usable), "not handed out: without a text"),
        (
            sum(not dataset.sources[output.source].text.strip() for output in usable),
            "handed out without the source, whose text is missing",
        ),
    ):
        if count:
            say(f"warning: {plural(count, 'output')} {what}")
    return usable


def _listed_in(file: Path, dataset: Dataset) -> set[str]:
    """The outputs that a CSV names. Ids are text: `007` is not a number."""
    rows = filled_rows(csv_rows(str(file), file.read_bytes()))
    head = rows[0][1] if rows else []
    if "output" not in head:
        raise DataError(file, f"no column 'output' (columns found: {listed(head)})", "Name one output a row")
    place, outputs = head.index("output"), set()
    for number, row in rows[1:]:
        cell = row[place] if place < len(row) else ""
        output = cell if cell in dataset.outputs else unguarded(cell)
        if output and output not in dataset.outputs:
            raise DataError(
                f"{file} row {number}", f"output {output!r} is none of this dataset's", "Give ids of outputs.jsonl"
            )
        outputs.add(output)
    return outputs
