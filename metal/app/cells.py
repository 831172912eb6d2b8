"""A cell of an audit, and what its reader can do next: the verdict, what would settle it, and the
outputs on which judge and people differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request

from metal.api.answer_table import DIFFERS, Choice
from metal.app.jobs import RUNNING, Jobs
from metal.app.library import HERE, Library, NoSuchPage
from metal.app.naming import free_name
from metal.app.opening import answers_of
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
    today,
)
from metal.data.languages import language_name
from metal.data.run_toml import named_by
from metal.data.text import known, name, rounded
from metal.errors import UsageError
from metal.questions.audit.confirmed import beside_words
from metal.questions.audit.verdicts import VerdictCell, sentence, verdict_of
from metal.show.commands import in_commands, of_run
from metal.show.parts import case_of, path_of

if TYPE_CHECKING:
    import pandas as pd

    from metal.questions.audit.run import AuditRun

NAMES = ("language", "criterion", "judge")
# What would settle a verdict, and the way to it (a key of metal.app.ways.WAYS).
SETTLES = {
    LIKE_A_PERSON: (
        "The judge agrees with these people about as well as they agree with each other. Only"
        " somebody who knows can say whether it is right where it differs from them.",
        "adjudicate",
    ),
    INFORMATIVE: (
        "Somebody who knows can say who is right where judge and people differ. Another prompt may"
        " bring the judge closer to the people.",
        "adjudicate",
    ),
    UNINFORMATIVE: (
        "More ratings are unlikely to change this verdict. Another prompt or another judge may do"
        " better.",
        "ask",
    ),
    DISAGREE: (
        "These people agree too little with each other to test a judge by their ratings. Somebody"
        " who knows can decide the outputs on which they differ from the judge.",
        "adjudicate",
    ),
    UNDECIDED: ("More rated outputs would settle it. A plan says how many.", "plan"),
}


@dataclass(frozen=True)
class OpenedCell:
    """A judge on a criterion in a language, in an audit.

    jobs: the commands that were started. key: the audit's key in the library.
    """

    jobs: Jobs
    key: str
    run: AuditRun
    language: str
    criterion: str
    judge: str
    verdict: VerdictCell
    differing: pd.DataFrame

    @property
    def root(self) -> Path:
        """The app's folder, in which commands run."""
        return self.jobs.root

    @property
    def query(self) -> dict[str, str]:
        """The parameters that name the cell in an address."""
        return {"language": self.language, "criterion": self.criterion, "judge": self.judge}

    @property
    def case(self) -> str:
        """The criterion and the language, as in the middle of a sentence."""
        return case_of(self.run, self.verdict.row)

    @property
    def data_name(self) -> str:
        """The name of the audited data."""
        return str(self.run.data.get("name") or self.run.name)

    @property
    def on_levels(self) -> bool:
        """Whether the criterion has levels, so that an answer can be right or wrong."""
        return bool(self.run.criteria[self.criterion].scale.levels)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in sentences with options as they are typed."""
        row = self.verdict.row
        sentences = map(sentence, [row["reason"], *beside_words(self.run, row)])
        return in_commands(" ".join(sentences), of_run(self.run))

    @property
    def settles(self) -> tuple[str, str]:
        """A sentence on what would settle the verdict, and the key of the way that leads to it."""
        row = self.verdict.row
        verdict = today(row["verdict"])
        advice, way = SETTLES[verdict]
        needed = row["items_needed"]
        if verdict == UNDECIDED and known(needed) and needed > row["items"]:
            advice = (
                f"About {rounded(needed)} rated outputs, instead of {int(row['items'])}, give even"
                " odds of a verdict. A plan says how many give good odds."
            )
        return advice, way

    @property
    def folder(self) -> str:
        """The audit's folder as a command names it."""
        return self.key.replace(HERE, ".", self.key == HERE)

    @cached_property
    def paths(self) -> Sequence[str]:
        """The audit's data and the runs added to them, as commands name them. Raises UsageError if
        they are not there.
        """
        path = path_of(self.run)
        if path == "DATASET":
            raise UsageError("The data of this audit were only in memory; no command can read them")
        more = map(str, self.run.data.get("more", ()))
        return [path_from(self.root, self.root / self.folder, each) for each in (path, *more)]

    @property
    def of_table(self) -> bool:
        """Whether the audit read a table, not a dataset folder."""
        return "data" in self.run.data


def path_from(root: Path, run: Path, path: str) -> str:
    """A path that a run's run.toml names, written for a command that runs in the root folder.

    Raises UsageError if nothing is there.
    """
    target = named_by(run, path).absolute()
    if target.exists():
        inside = target.is_relative_to(root.resolve())
        return str(target.relative_to(root.resolve()) if inside else target)
    raise UsageError(
        f"{path} is not in {root.resolve()}; open `metal view` in the folder in which that command"
        " was run"
    )


def unused(root: Path, stem: str, jobs: Jobs) -> str:
    """The name of a folder for a new run that does not exist yet, written for a command that runs
    in the root folder.

    jobs: commands that may be about to write a folder.
    """
    runs = "" if root.resolve().name == "runs" and not (root / "runs").exists() else "runs/"
    at_work = {job.out for job in jobs.all() if job.state == RUNNING}
    return free_name(root, f"{runs}{stem}", at_work)


def audit_of(request: Request) -> tuple[str, AuditRun]:
    """The key and the audit that a page is about. Raises NoSuchPage for another run."""
    library: Library = request.app.state.library
    key = request.path_params["key"]
    folder = library.path(key)
    if library.folder(key).kind != "audit":
        raise NoSuchPage(f"{name(folder)} is not an audit; only audits have verdicts to go on from")
    return key, audit_in(library, folder)


def audit_in(library: Library, folder: Path) -> AuditRun:
    """The audit in a folder, with its tables."""
    from metal.questions.audit.run import AuditFigures

    return library.opened(folder, "tables", lambda: AuditFigures.read(folder))


def cell_of(request: Request, asked: Mapping[str, str]) -> OpenedCell | None:
    """The cell that language, criterion and judge name; None if the audit has no such verdict.

    A judge may be named as pages show it.
    """
    library: Library = request.app.state.library
    key, run = audit_of(request)
    criterion, language = asked.get("criterion", ""), asked.get("language", "")
    named = [judge for judge in run.judge_names if asked.get("judge", "") in (judge, name(judge))]
    for judge in named:
        verdict = verdict_of(run, judge, criterion, language)
        if verdict is None:
            continue
        answers = answers_of(library, library.path(key))
        differing = answers.items.iloc[:0]
        if language in answers.languages and criterion in answers.criteria:
            differing = answers.chosen(Choice(language, criterion, judge, DIFFERS))
        return OpenedCell(
            request.app.state.jobs, key, run, language, criterion, judge, verdict, differing
        )
    return None


def choices_of(run: AuditRun) -> dict[str, list[tuple[str, str]]]:
    """The languages, criteria and judges of an audit's verdicts, each with how it is shown."""
    verdicts = run.tables["verdicts"]
    judged, spoken = set(verdicts["criterion"].unique()), set(verdicts["language"].unique())
    criteria = [each for each in run.criteria if each in judged]
    languages = [each for each in run.languages if each in spoken]
    return {
        "language": [(code, name(language_name(code))) for code in languages],
        "criterion": [(each, name(run.criteria[each].title)) for each in criteria],
        "judge": [(judge, name(judge)) for judge in run.judge_names],
    }
