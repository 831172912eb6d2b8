"""People who saw a judge's answers before they rated: whom its verdicts leave out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.auditing.verdict import Verdict
from metal.data.dataset import Dataset
from metal.data.people import judges_in
from metal.data.text import first_few, within
from metal.errors import nearest


def aided_warnings(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A line for each judge whose verdicts leave out people who saw its answers."""
    aided: dict[str, dict[str, None]] = {}
    for each in verdicts:
        if each.aided:
            aided.setdefault(each.judge, {}).update(dict.fromkeys(each.aided))
    for judge, people in aided.items():
        named = first_few(list(map(within, people)))
        yield f"verdicts on {within(judge)} leave out {named}, who saw its answers"


def misnamed(dataset: Dataset) -> Iterator[str]:
    """A line for each `assisted_by` that names no judge of the data but nearly one; a judge of
    another name may join later.
    """
    judges = judges_in(dataset.raters)
    for rater in dataset.raters.values():
        for name in rater.assisted_by:
            if name not in judges and (nearly := nearest(name, judges)).startswith("did you mean"):
                yield (
                    f"assisted_by of {within(rater.rater)} names {within(name)}, which is no judge"
                    f" here; {nearly}"
                )
