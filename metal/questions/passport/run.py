"""A run of `metal passport`: passport.json, run.toml, raters.jsonl, warnings.txt, tables/,
report.html.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from metal.data.text import capital, count, figure, name, percent, recorded, signed
from metal.questions.audit.run import FURTHER, AuditRun
from metal.questions.passport.compute import issue
from metal.runs.columns import HEAD, JUDGE, Column, Tables, unshown
from metal.runs.passport import ALONE, FIGURES, FILE, read_passport
from metal.show.result import Result

Figure = partial(Column, format=figure, interval=True, direction="higher")
NOTHING = (None, None, None)  # of a figure that an older passport lacks
DESCRIBED: Tables = {
    "uses": (
        *HEAD,
        JUDGE,
        Column("use", "use", capital),
        Column("verdict", "verdict", capital),
        Figure("share_kept", "kept of what a person knows", format=percent),
        Figure("order_kept", "order, of a person's", format=percent, later=True),
        Figure("below_person", "against a person", format=signed),
        Figure("above_constant", "lead over a constant", format=signed),
        Column("items", "items", count, below=lambda row: f"{count(row['sources'])} sources"),
        *unshown("sources"),
    ),
    "judges": (
        JUDGE,
        Column("model", "model", recorded, below=lambda row: name(row["versions"])),
        Column("prompt", "prompt", recorded, below=lambda row: name(row["prompt_hash"])),
        Column("parameters", "parameters", recorded),
        *unshown("versions", "prompt_hash"),
    ),
    "not_tested": (JUDGE, Column("what", "not tested")),
}


@dataclass(frozen=True, repr=False)
class Passport(Result):
    """What judges may be used for, by language and criterion, and until when.

    content: the content of passport.json.
    """

    shown = "uses"
    content: Mapping[str, Any]

    command = "passport"
    described = DESCRIBED
    optional: ClassVar[Tables] = {"remarks": FURTHER["remarks"]}

    @classmethod
    def issued(cls, audit: AuditRun, on: date, days: int) -> Self:
        """The passport of an audit's judges."""
        content = issue(audit, on, days)
        settings = {
            "issued": content["issued"],
            "expires": content["expires"],
            "sha256": content["sha256"],
        }
        manifest = {
            **audit.manifest,
            "command": cls.command,
            "settings": settings,
            "raters": list(content["judges"]),
        }
        tables = _tables(content["judges"])
        tables |= {"remarks": audit.tables["remarks"]} if "remarks" in audit.tables else {}
        return cls(
            audit.name, manifest, audit.criteria, audit.raters, tables, audit.warnings, content
        )

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        return (read_passport(folder).content,)

    def _write_more(self, folder: Path) -> None:
        (folder / FILE).write_text(
            json.dumps(self.content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    def _check(self, folder: Path) -> None:
        for table in DESCRIBED:
            self._check_names(folder, table, "judge", self.content["judges"], FILE)

    @property
    def judge_names(self) -> list[str]:
        """The judges, starting with those that may be used alone in the most cases."""
        uses = Counter(row["judge"] for row in self.records("uses", use=ALONE))
        return sorted(self.content["judges"], key=lambda judge: -uses[judge])


def _tables(judges: Mapping[str, Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """The tables for the page, built from the passport's `judges`."""
    uses, facts, gaps = [], [], []
    for judge, of in judges.items():
        for cell in of["cells"]:
            row = {
                key: cell[key]
                for key in ("language", "criterion", "use", "verdict", "items", "sources")
            }
            for key in FIGURES:
                row |= zip((key, f"{key}_low", f"{key}_high"), cell.get(key, NOTHING), strict=True)
            uses.append({"judge": judge, **row})
        hashes = ", ".join(
            f"{criterion} {hash_}" for criterion, hash_ in of.get("prompt_hash", {}).items()
        )
        facts.append(
            {
                "judge": judge,
                "model": of.get("asked") or of.get("model", ""),
                "prompt": of.get("prompt", ""),
                "parameters": json.dumps(of["parameters"]) if of.get("parameters") else "",
                "versions": ", ".join(of.get("versions", ())),
                "prompt_hash": hashes,
            }
        )
        gaps += [{"judge": judge, "what": what} for what in of["not_tested"]]
    rows_of = {"uses": uses, "judges": facts, "not_tested": gaps}
    return {
        table: pd.DataFrame(
            rows, columns=[name for column in DESCRIBED[table] for name in column.names]
        )
        for table, rows in rows_of.items()
    }
