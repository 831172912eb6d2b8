"""`metal.check`: who rated what in a dataset, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metal.api.options import documented

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.inputs import Data, Ratings
    from metal.auditing.check import Finding
    from metal.data.dataset import Dataset


@dataclass(frozen=True, repr=False)
class Check:
    """What a dataset holds. tables: ratings, raters, labels. findings: what is doubtful in the data.

    test_questions: warnings about test questions that leaked, or that judges fail.
    """

    dataset: Dataset
    tables: dict[str, pd.DataFrame]
    findings: tuple[Finding, ...] = ()
    test_questions: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that makes figures doubtful, in words."""
        return (*self.test_questions, *(finding.message for finding in self.findings))

    def __repr__(self) -> str:
        return f"<check of {self.dataset.identity}: {len(self.warnings)} warnings>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        from metal.runs.parts import records

        plain: dict[str, Any] = {"dataset": self.dataset.card.name, "identity": self.dataset.identity}
        if self.dataset.ratings.empty:
            return plain | {"sources": len(self.dataset.sources), "outputs": len(self.dataset.outputs), "ratings": 0}
        plain |= {name: records(table) for name, table in self.tables.items()}
        plain["test_questions"] = list(self.test_questions)
        return plain | {"warnings": [vars(finding) for finding in self.findings]}


@documented
def check(data: Data, *ratings: Ratings) -> Check:
    """Check `data` and show who rated what.

    Faults that make the data unusable (unknown ids, duplicates, off-scale scores, ...) are errors. Problems
    that make figures doubtful are warnings: raters who use one label only, identical score vectors under two
    names, judges and people who never rate the same output, missing answers. `ratings` are run folders.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.

    Returns tables and warnings. Raises DataError for the first fault.
    """
    from metal.api.inputs import load
    from metal.auditing.check import lint, profile
    from metal.genie.excluding import warnings_of_tests

    inputs = load(data, ratings)
    if inputs.dataset.ratings.empty:
        return Check(inputs.dataset, {})
    tests = warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    return Check(inputs.dataset, profile(inputs.dataset), tuple(lint(inputs.dataset)), tuple(tests))
