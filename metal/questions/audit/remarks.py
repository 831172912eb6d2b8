"""Findings of other runs in the verdicts of an audit to which they apply; Only runs that the caller
passes are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pandas as pd

from metal.data.text import first_few, plural, within
from metal.questions.audit.run import AuditRun
from metal.runs.run import IDENTITY, Run, VerdictLine

REMARKS = (
    "language",
    "criterion",
    "judge",
    "line",
    "weight",
    "question",
    "run",
    "data",
    "signature",
)

KEPT = {"plan"}  # settings of a run that say how to go on with it

Kind = TypeVar("Kind", bound=AuditRun)


def with_remarks(audit: Kind, runs: Sequence[Run]) -> Kind:
    """The audit with a table `remarks`: a row for each verdict and each line of a run that applies
    to it.

    A line applies to the verdicts of its judge, in its language and on its criterion. Lines about a
    judge that was asked differently in that run, and about cases that were not audited, are left
    out with a warning. A run of other data is named in a warning and keeps its lines. Existing
    lines of the audit stay. run.toml lists the runs under `beside`, with the languages in which
    each run examined a judge, even if that run has no line about the judge.
    """
    if not runs:
        return audit
    verdicts = [
        (row["judge"], row["language"], row["criterion"]) for row in audit.records("verdicts")
    ]
    rows = [tuple(row[column] for column in REMARKS) for row in audit.lines]
    warnings, beside = list(audit.warnings), list(audit.manifest.get("beside", ()))
    for run in runs:
        called = f"{within(run.name)} (`metal {run.command}`)"
        facts = {"run": run.name, "data": run.data["identity"], "signature": run.signature}
        beside.append(
            {"question": run.command, **facts, "digest": run.data["digest"], "asked": _asked(run)}
            | {key: run.manifest["settings"][key] for key in KEPT & {*run.manifest["settings"]}}
        )
        if run.data["digest"] != audit.data["digest"]:
            warnings.append(
                f"{called} is of other data ({run.data['identity']}, here"
                f" {audit.data['identity']}): its lines are about that data"
            )
        others = _asked_otherwise(audit, run)
        for judge, changed in others.items():
            beside[-1]["asked"].pop(judge, None)
            warnings.append(
                f"{called}: {within(judge)} was asked with another {changed} there; its lines are"
                " left out"
            )
        astray: list[str] = []
        for line in run.remarks():
            if line.judge in others:
                continue
            borne = _borne(line, verdicts)
            rows += [
                (language, criterion, judge, line.line, line.weight, run.command, *facts.values())
                for judge, language, criterion in borne
            ]
            if not borne:
                astray.append(" ".join(filter(None, (line.judge, line.criterion, line.language))))
        if astray:
            named = first_few(list(dict.fromkeys(astray)), 3)
            warnings.append(
                f"{called}: {plural(len(astray), 'line')} about what was not audited here: {named}"
            )
    added = (
        {"remarks": pd.DataFrame(list(dict.fromkeys(rows)), columns=list(REMARKS))} if rows else {}
    )
    manifest = {**audit.manifest, "beside": beside}
    return replace(
        audit, manifest=manifest, tables={**audit.tables, **added}, warnings=tuple(warnings)
    )


def _asked_otherwise(audit: AuditRun, run: Run) -> dict[str, str]:
    """The audit's judges that were asked differently in the run, and what differs."""
    common = [judge for judge in run.raters if judge in audit.raters]
    changed = {
        judge: differing(run.raters[judge].about, audit.raters[judge].about) for judge in common
    }
    return {judge: fact for judge, fact in changed.items() if fact}


def _borne(
    line: VerdictLine, verdicts: Sequence[tuple[str, str, str]]
) -> list[tuple[str, str, str]]:
    """The verdicts to which a line applies: those of its judge, in its language and on its
    criterion.
    """
    return [
        (judge, language, criterion)
        for judge, language, criterion in verdicts
        if judge == line.judge
        and line.language in ("", language)
        and line.criterion in ("", criterion)
    ]


def _asked(run: Run) -> dict[str, list[str]]:
    """For each judge, the languages for which the first table of the run has a row about it."""
    table = run.tables[next(iter(run.described))]
    return {
        str(judge): sorted(set(rows["language"]))
        for judge, rows in table.groupby("judge", observed=True)
    }


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The first fact of IDENTITY in which two records of a judge differ, if both have it; empty if
    there is none.

    In `prompt_hash`, which has hashes by criterion, only criteria that both have are compared.
    """
    for key in IDENTITY:
        before, after = first.get(key), second.get(key)
        if key == "prompt_hash" and isinstance(before, Mapping) and isinstance(after, Mapping):
            common = before.keys() & after.keys()
            before, after = ({name: hashes[name] for name in common} for hashes in (before, after))
        if before and after and before != after:
            return "prompt" if key == "prompt_hash" else key
    return ""
