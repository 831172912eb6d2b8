"""An audit in Python: figures by judge, language and criterion, disagreements, charts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metal.auditing.disagreements import RATING
from metal.data.languages import check_languages, find_language
from metal.data.records import Estimate
from metal.errors import check_known
from metal.questions.audit.required import Requirement
from metal.questions.audit.run import ITEMS_OF, AuditRun
from metal.show.result import Plots, Result

if TYPE_CHECKING:
    from metal.show.view import Chart


class AuditPlots(Plots):
    """The charts of an audit."""

    _run: AuditRun

    def verdicts(self) -> Chart:
        """The chart of verdicts: judges and criteria by language."""
        from metal.questions.audit.matrix import verdicts_matrix

        return verdicts_matrix(self._run)


class JudgeCell:
    """What an audit says about one judge on one criterion in one language.

    Every figure of `audit.judges` is an attribute, an Estimate: `cell.kappa`, `cell.weighted_f1`,
    ...
    """

    def __init__(
        self, judge: str, language: str, criterion: str, figures: pd.Series, verdict: pd.Series
    ) -> None:
        self.judge, self.language, self.criterion = judge, language, criterion
        self.verdict, self.reason = str(verdict["verdict"]), str(verdict["reason"])
        self._figures = figures

    def __getattr__(self, name: str) -> Estimate:
        if name.startswith("_") or not isinstance(self._figures.get(name), int | float | np.number):
            raise AttributeError(f"no figure {name!r}; there are {', '.join(self.figures)}")
        row = self._figures
        reasons = dict(
            part.split(": ", 1) for part in str(row["undefined"]).split("; ") if ": " in part
        )
        counts = (part.rsplit(" ", 1) for part in str(row["dropped"]).split(", ") if " " in part)
        dropped = {reason: int(count) for reason, count in counts if count.isdigit()}
        n = int(row.get(ITEMS_OF.get(name, ""), row["answered"]))
        if pd.isna(row[name]):
            return Estimate.undefined(reasons.get(name, "undefined"), n, dropped)
        low, high = (row.get(f"{name}{end}", np.nan) for end in ("_low", "_high"))
        if pd.isna(low):
            return Estimate(float(row[name]), n=n, dropped=dropped, reason=reasons.get(name, ""))
        return Estimate(float(row[name]), float(low), float(high), n=n, dropped=dropped)

    @property
    def figures(self) -> list[str]:
        """The names of the figures."""
        return [
            str(name)
            for name, value in self._figures.items()
            if isinstance(value, int | float | np.number)
            and not str(name).endswith(("_low", "_high"))
        ]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.figures]

    def __repr__(self) -> str:
        return f"<{self.judge} on {self.criterion} in {self.language}: {self.verdict}>"


def _check(column: str, name: str, rows: pd.DataFrame) -> None:
    """Raise UnknownName if a name does not occur in the column of a table."""
    names = list(dict.fromkeys(map(str, rows[column]))) if len(rows) else []
    if column == "language":
        check_languages([name], names)
    check_known(column, [name], names)


class Audit(Result, AuditRun):
    """An audit of judges against people, by language and criterion. `audit["gpt-4", "hi",
    "task_quality"].kappa`.
    """

    shown = "verdicts"

    def __repr__(self) -> str:
        return self._answer

    @cached_property
    def _answer(self) -> str:
        """What `metal audit` prints, 80 columns wide."""
        from metal.show.pages import screen
        from metal.show.terminal.console import as_text

        return as_text(screen(self))

    def _repr_html_(self) -> str:
        from metal.questions.audit.notebook import in_notebook

        return in_notebook(self)

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per judge, language and criterion: the verdict and its reason."""
        return self.tables["verdicts"].copy()

    @property
    def judges(self) -> pd.DataFrame:
        """One row per judge, language and criterion: agreement with the people, each figure with
        its interval.
        """
        return self.tables["judges"].copy()

    @property
    def people(self) -> pd.DataFrame:
        """One row per language and criterion: agreement among the people."""
        return self.tables["people"].copy()

    def __getitem__(self, case: tuple[str, str, str]) -> JudgeCell:
        """The figures of (judge, language, criterion). Raises UnknownName for a case that was not
        audited.
        """
        judge, language, criterion = case
        language = find_language(language) or language
        row = self._row("judges", judge, language, criterion)
        return JudgeCell(
            judge, language, criterion, row, self._row("verdicts", judge, language, criterion)
        )

    def _row(self, table: str, judge: str, language: str, criterion: str) -> pd.Series:
        rows = self.tables[table]
        for column, value in (("judge", judge), ("language", language), ("criterion", criterion)):
            _check(column, value, rows)
            rows = rows[rows[column] == value]
        return rows.iloc[0]

    def disagreements(
        self, language: str = "", criterion: str = "", judge: str = ""
    ) -> pd.DataFrame:
        """The ratings, with texts and comments, of outputs on which judges and people differ; one
        row per rating.

        language: by code or name. judge: only outputs on which this judge differs. Rows are not
        sorted by size of the difference: sort by `judge_difference`. Raises UnknownName for a name
        that was not audited.
        """
        rows: pd.DataFrame = self.disagreement_table.to_pandas()
        language = find_language(language) or language
        for column, value, table in (
            ("language", language, "people"),
            ("criterion", criterion, "people"),
            ("judge", judge, "verdicts"),
        ):
            if value:
                _check(column, value, self.tables[table])
        for column, value in (("language", language), ("criterion", criterion)):
            rows = rows[rows[column] == value] if value else rows
        if judge:
            rows = rows[[judge in differing for differing in rows["judges_differing"]]]
        rows = rows.explode("ratings", ignore_index=True)
        ratings = pd.DataFrame(rows.pop("ratings").tolist(), columns=RATING.names, index=rows.index)
        return pd.concat([rows, ratings], axis=1)

    def assert_at_least(
        self, verdict: str, *, judge: str = "*", language: str = "*", criterion: str = "*"
    ) -> None:
        """Raise AssertionError, with a line for each verdict that is worse than required: for tests
        and CI.

        Only like a person is better than informative; undecided and people disagree both count as
        undecided.

        Args:
            verdict: The lowest verdict that passes: like a person, informative or undecided.
            judge: By name; `*` matches any text, but no baselines if there are other judges.
            language: By code or name, or with `*`.
            criterion: By name, or with `*`.

        Raises:
            AssertionError: If a verdict is worse.
            UnknownName: If no audited case fits the names.
            UsageError: For a verdict that cannot be required.

        Example:
            audit.assert_at_least("informative", language="hi")
        """
        lines = Requirement(judge, language, criterion, verdict).unmet(self)
        if lines:
            raise AssertionError("\n".join(lines))

    @property
    def plot(self) -> AuditPlots:
        """The charts: `plot.verdicts()`, `plot.names()`, `plot(name)`."""
        return AuditPlots(self)
