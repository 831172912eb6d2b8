"""Doubts about how a dataset was read from a table; its audits repeat them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metal.data.dataset import Dataset
from metal.data.text import first_few

OWN_SOURCES = "every output is its own source"
# below it an audit gives no verdict, so that what was taken for sources decides
ENOUGH_SOURCES = 20
SHOWN = 5  # how many names a message lists


@dataclass(frozen=True)
class Finding:
    """A problem, with a stable code for programs and a sentence for people."""

    code: str
    message: str


def as_read(dataset: Dataset) -> Iterator[Finding]:
    """Findings about sources, columns that were not read, directions, and people known only by
    their position in a list.
    """
    yield from _own_sources(dataset)
    yield from _sources_by_text(dataset)
    yield from _unread(dataset)
    yield from _directions(dataset)
    yield from _places_in_lists(dataset)


def _own_sources(dataset: Dataset) -> Iterator[Finding]:
    """A finding if every output is its own source, as when a table has no column for sources;
    none if their texts are known and differ, so that no two outputs answer one prompt, or if an
    exported table named them.
    """
    if dataset.extra.get("reading", {}).get("sources_named"):
        return
    texts = [source.text for source in dataset.sources.values()]
    if all(texts) and len({*texts}) == len(texts):
        return
    if len(dataset.outputs) > 1 and all(
        output.source == output.output for output in dataset.outputs.values()
    ):
        yield Finding(
            "own-sources",
            f"{OWN_SOURCES}: if several answer one prompt, intervals are too narrow; import with"
            ' `metal.read(..., columns={"source": COLUMN})`',
        )


def _sources_by_text(dataset: Dataset) -> Iterator[Finding]:
    """A finding if there are few sources, told apart by their texts, which may be instructions
    rather than inputs.
    """
    column = dataset.extra.get("reading", {}).get("sources_by")
    if column and len(dataset.sources) < ENOUGH_SOURCES:
        yield Finding(
            "sources-by-text",
            f"{len(dataset.sources)} sources, told apart by the texts in {column!r}: if these are"
            ' instructions and the inputs differ, import with `metal.read(..., columns={"source":'
            " COLUMN})`",
        )


def _unread(dataset: Dataset) -> Iterator[Finding]:
    """A finding about columns that hold answers, or differ between ratings of one output, but were
    not read.
    """
    columns = dataset.extra.get("reading", {}).get("unread", ())
    if columns:
        listed = first_few(list(map(repr, columns)), SHOWN)
        yield Finding(
            "unread-columns",
            f"ratings differ by columns that were not read: {listed}; if one names a rater, a"
            ' criterion or a round, import with `metal.read(..., columns={"ROLE": COLUMN})` or'
            " `wide`",
        )


def _directions(dataset: Dataset) -> Iterator[Finding]:
    """A finding about penalties or school grades of which it is unknown whether low or high values
    are good.
    """
    for name in dataset.extra.get("reading", {}).get("doubtful_directions", ()):
        direction = dataset.criteria[name].direction if name in dataset.criteria else "lower"
        if direction == "higher":  # else it was declared since
            lower = {name: "lower"}
            yield Finding(
                "doubtful-direction",
                f"{name}: METAL assumes that higher is better; if 1 is the best grade, or more"
                f" points are worse, import with `metal.read(..., directions={lower})`",
            )


def _places_in_lists(dataset: Dataset) -> Iterator[Finding]:
    """A finding about people known only by their position in a list, each of whom may be several
    persons.
    """
    places = [
        rater.rater
        for rater in dataset.raters.values()
        if rater.about.get("named_by") == "place in a list"
    ]
    if places:
        yield Finding(
            "places-in-lists",
            f"{', '.join(places[:SHOWN])} are places in an output's list of ratings, and the"
            " same place may hold different people: figures of single people, and intervals that"
            " leave one person out, are really about places",
        )
