"""Verdicts that a build requires: `audit.assert_at_least`, `metal audit --require`.

Only *like a person* is better than *informative*. *Undecided* and *people disagree* leave open what
the judge is worth. Both satisfy only the requirement *undecided*, which asks that the judge is not
shown to be *uninformative*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON, UNDECIDED, today
from metal.data.languages import find_language
from metal.data.text import name
from metal.errors import UnknownName, UsageError
from metal.questions.audit.run import AuditRun
from metal.runs.columns import Row
from metal.show.parts import case_of

ANY = "*"
FORM = "JUDGE:LANGUAGE:CRITERION>=VERDICT"
# What can be required, and the verdicts that satisfy it.
SATISFIED_BY = {
    LIKE_A_PERSON: (LIKE_A_PERSON,),
    INFORMATIVE: (LIKE_A_PERSON, INFORMATIVE),
    UNDECIDED: (LIKE_A_PERSON, INFORMATIVE, UNDECIDED, DISAGREE),
}


@dataclass(frozen=True)
class Requirement:
    """The lowest verdict allowed for some judges, languages and criteria; in names, `*` matches any
    text.

    language: by code or name. A judge's name with `*` does not match baselines if there are other
    judges. Raises UsageError for a verdict that cannot be required.
    """

    judge: str
    language: str
    criterion: str
    verdict: str

    def __post_init__(self) -> None:
        if self.verdict not in SATISFIED_BY:
            possible = ", ".join(SATISFIED_BY)
            raise UsageError(f"verdict {self.verdict!r} cannot be required; use one of {possible}")

    def __str__(self) -> str:
        return f"{self.judge}:{self.language}:{self.criterion}>={self.verdict}"

    @classmethod
    def read(cls, text: str) -> Requirement:
        """Read a requirement such as `gpt-4o:hi:*>=informative`; a judge's name may
        contain colons.
        """
        cells, _, verdict = text.rpartition(">=")
        parts = [part.strip() for part in cells.rsplit(":", 2)]
        if len(parts) < 3 or not all(parts):
            raise UsageError(f"{text!r} is not {FORM}; write one like '*:hi:*>=informative'")
        judge, language, criterion = parts
        return cls(judge, language, criterion, verdict.strip())

    def rows(self, run: AuditRun) -> list[Row]:
        """The verdicts to which the requirement applies. Raises UnknownName if there are none."""
        language = find_language(self.language) or self.language
        wanted = {"judge": self.judge, "language": language, "criterion": self.criterion}
        rows: list[Row] = [*(run.judged if ANY in self.judge else run.records("verdicts"))]
        for column, pattern in wanted.items():
            names = dict.fromkeys(str(row[column]) for row in rows)
            form = ".*".join(map(re.escape, pattern.split(ANY)))
            rows = [row for row in rows if re.fullmatch(form, str(row[column]))]
            if not rows:
                raise UnknownName(column, pattern, names, f"Nothing that {self} covers was audited")
        return rows

    def unmet(self, run: AuditRun) -> list[str]:
        """A line for each verdict that does not satisfy the requirement. Raises UnknownName like
        `rows`.
        """
        enough = SATISFIED_BY[self.verdict]
        return [
            f"{name(row['judge'])} on {case_of(run, row)}: {today(row['verdict'])}, not at least"
            f" {self.verdict}: {row['reason']}"
            for row in self.rows(run)
            if today(row["verdict"]) not in enough
        ]


def unmet(run: AuditRun, required: Iterable[Requirement]) -> list[str]:
    """A line for each verdict that does not satisfy one of the requirements that apply to it."""
    return list(dict.fromkeys(line for each in required for line in each.unmet(run)))
