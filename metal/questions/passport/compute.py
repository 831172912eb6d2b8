"""The content of a passport: what the judges of an audit may be used for, and what was not
tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import chain
from typing import Any

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.auditing.verdict import today as present_name
from metal.data.languages import language_name
from metal.data.text import first_few, known, listed, plural
from metal.questions.audit.run import AuditRun
from metal.runs.passport import ALONE, BESIDE, FIGURES, HASH_NOTE, NEITHER, VERSION, digest
from metal.runs.run import DISQUALIFIES, IDENTITY
from metal.version import __version__

DIGITS = 4
# What other runs would say of a judge, by their command.
QUESTIONS = {
    "bias language": "whether it leans between languages",
    "probe report": "whether it is blind to changes for the worse",
}


def issue(audit: AuditRun, issued: date, days: int) -> dict[str, Any]:
    """The content of a passport for an audit's judges, without baselines.

    A cell allows the use ALONE if the judge is like a person, and BESIDE people if it is
    informative. It allows NEITHER in other cases, and if another run passed with the audit
    disqualifies the judge. Figures are [value, low, high].
    """
    lines: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in audit.lines:
        line = {key: str(row[key]) for key in ("line", "weight", "question")}
        lines.setdefault((row["judge"], row["language"], row["criterion"]), []).append(line)
    judges = {}
    for judge in audit.judge_names:
        if audit.raters[judge].kind == "baseline":
            continue
        identity = audit.raters[judge].about
        cells = [
            _cell(row, lines.get((judge, row["language"], row["criterion"]), []))
            for row in audit.records("verdicts", judge=judge)
        ]
        facts = {key: identity[key] for key in (*IDENTITY, "versions") if identity.get(key)}
        judges[judge] = {
            **facts,
            "cells": cells,
            "not_tested": list(_not_tested(audit, judge, facts, cells)),
        }
    content = {
        "passport": VERSION,
        "metal": __version__,
        "issued": issued.isoformat(),
        "expires": (issued + timedelta(days)).isoformat(),
        "data": {key: audit.data[key] for key in ("name", "identity", "digest")},
        "signature": audit.signature,
        "settings": dict(audit.manifest["settings"]),
        "runs": list(map(dict, audit.manifest.get("beside", ()))),
        "judges": judges,
        "about_sha256": HASH_NOTE,
    }
    return {**content, "sha256": digest(content)}


def _cell(row: Mapping[str, Any], lines: list[dict[str, str]]) -> dict[str, Any]:
    use = {LIKE_A_PERSON: ALONE, INFORMATIVE: BESIDE}.get(present_name(row["verdict"]), NEITHER)
    if any(line["weight"] == DISQUALIFIES for line in lines):
        use = NEITHER
    cell = {key: row[key] for key in ("language", "criterion", "verdict")} | {"use": use}
    for figure in FIGURES:
        ends = (row.get(f"{figure}{end}", math.nan) for end in ("", "_low", "_high"))
        cell[figure] = [round(float(value), DIGITS) if known(value) else None for value in ends]
    return {**cell, "items": int(row["items"]), "sources": int(row["sources"])} | (
        {"lines": lines} if lines else {}
    )


def _not_tested(
    audit: AuditRun, judge: str, facts: Mapping[str, Any], cells: list[dict[str, Any]]
) -> Iterator[str]:
    """What neither the audit nor the runs passed with it tested about a judge."""
    codes = {cell["language"] for cell in cells}
    languages = sorted(set(map(language_name, codes)))
    yield f"languages other than {listed(languages)}, and texts other than the audited ones"
    criteria = {cell["criterion"] for cell in cells}
    if left := [audit.criterion(name) for name in audit.criteria if name not in criteria]:
        yield f"criteria without people's ratings: {first_few(left)}"
    if missing := len(criteria) * len(languages) - len(cells):
        yield f"{plural(missing, 'case')} of these languages and criteria without a verdict"
    for question, what in QUESTIONS.items():
        runs = [run for run in audit.manifest.get("beside", ()) if run["question"] == question]
        asked = chain.from_iterable(run.get("asked", {}).get(judge, ()) for run in runs)
        if unasked := sorted(set(map(language_name, codes.difference(asked)))):
            in_languages = "" if unasked == languages else f" in {listed(unasked)}"
            yield f"{what}{in_languages}: no run of metal {question} was given"
    if not facts.get("prompt_hash"):
        yield (
            "how it was asked: no prompt is recorded, so no judge can be shown to be the same one"
        )
    elif not facts.get("versions"):
        yield "which version of the model answered: none is recorded"
