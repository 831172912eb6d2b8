"""Which outputs are handed out: chosen ones with a text, of some generators, a fixed sample, or those in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.records import Output


def generators_named(dataset: Dataset, named: tuple[str, ...]) -> tuple[str, ...]:
    """The generators of --generators: each name as it stands, or several with commas. Raises UnknownName."""
    from metal.errors import UnknownName

    known = sorted({output.generator for output in dataset.outputs.values()})
    parts = [part for text in named for part in ([text] if text in known else text.split(","))]
    found = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    for name in found:
        if name not in known:
            raise UnknownName("generator", name, known)
    return found


def sampled(dataset: Dataset, number: int | None, seed: int) -> frozenset[str] | None:
    """The sources of --sample; None for all."""
    from metal.genie.leaderboard.subsample import sources_chosen

    return None if number is None else sources_chosen(dataset.sources.values(), number, seed)


def outputs_to_rate(
    dataset: Dataset,
    folder: Path,
    languages: tuple[str, ...],
    only: Path | None,
    generators: tuple[str, ...] = (),
    sources: frozenset[str] | None = None,
) -> list[Output]:
    """The chosen outputs that have a text, of these generators and sources. Raises UsageError when there are none."""
    from metal.errors import UnknownName, UsageError
    from metal.show.terminal import console as show
    from metal.show.terminal.annotation_text import counted

    for language in languages:
        if language not in dataset.languages:
            raise UnknownName("language", language, dataset.languages)
    if not dataset.outputs:
        raise UsageError(f"{folder} has no outputs to rate yet; `metal generate` makes some from its sources")
    found = [one for one in dataset.outputs.values() if not languages or one.language in languages]
    found = [one for one in found if not generators or one.generator in generators]
    found = [one for one in found if sources is None or one.source in sources]
    if only:
        wanted = _wanted(only, dataset)
        found = [one for one in found if one.output in wanted]
    chosen = [one for one in found if one.chosen]
    usable = [one for one in chosen if one.text.strip()]
    if not usable:
        where = [f"in {only}"] if only else []
        where += [f"by {', '.join(generators)}"] if generators else []
        where += ["in the sample"] if sources is not None else []
        raise UsageError(" ".join([f"{folder}: no chosen output with a text to rate", *where]))
    missing = sum(not dataset.sources[one.source].text.strip() for one in usable)
    for count, what in (
        (len(found) - len(chosen) if only else 0, "not handed out: not chosen"),
        (len(chosen) - len(usable), "not handed out: without a text"),
        (missing, "handed out without the source, whose text is missing"),
    ):
        if count:
            show.say(f"warning: {counted(count, 'output')} {what}")
    return usable


def _wanted(only: Path, dataset: Dataset) -> set[str]:
    """The outputs that a CSV names. Ids stay as they stand there: `007` is no number."""
    from metal.building.forms.csv_sheet import csv_rows
    from metal.building.forms.rows import filled_rows, listed, unguarded
    from metal.errors import DataError

    rows = filled_rows(csv_rows(str(only), only.read_bytes()))
    head = rows[0][1] if rows else []
    if "output" not in head:
        raise DataError(only, f"no column 'output' (columns found: {listed(head)})", "Name one output a row")
    place, wanted = head.index("output"), set()
    for number, row in rows[1:]:
        cell = row[place] if place < len(row) else ""
        output = cell if cell in dataset.outputs else unguarded(cell)
        if output and output not in dataset.outputs:
            raise DataError(
                f"{only} row {number}", f"output {output!r} is none of this dataset's", "Give ids of outputs.jsonl"
            )
        wanted.add(output)
    return wanted
