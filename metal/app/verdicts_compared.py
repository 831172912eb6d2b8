"""The verdicts of two audits beside each other, when the ratings of one are gone: after people have
rated more outputs, answers cannot be compared any more, but every verdict can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from metal.app.cells import audit_in
from metal.app.library import Library
from metal.app.templating import respond
from metal.data.languages import language_name
from metal.questions.audit.verdicts import PLACE, by_judge

if TYPE_CHECKING:
    from metal.questions.audit.run import AuditRun
    from metal.questions.audit.verdicts import Place, VerdictCell


@dataclass(frozen=True)
class TwoVerdicts:
    """The verdicts on a judge in a cell, of the earlier audit and the later one; None without one.

    query: the parameters that name the cell in an address.
    """

    query: dict[str, str]
    criterion: str
    language: str
    before: VerdictCell | None
    now: VerdictCell | None

    @property
    def changed(self) -> bool:
        """Whether the two verdicts differ."""
        return _words(self.before) != _words(self.now)


def are_audits(library: Library, keys: Sequence[str]) -> bool:
    """Whether all these runs are audits."""
    return all(library.folder(key).kind == "audit" for key in keys)


def compare_verdicts(request: Request, run: str, baseline: str) -> Response:
    """Show the verdicts of two audits.

    run, baseline: the keys of the later and the earlier one.
    """
    library: Library = request.app.state.library
    later, earlier = (audit_in(library, library.path(key)) for key in (run, baseline))
    rows = two_verdicts(earlier, later)
    content = {
        "run": run,
        "baseline": baseline,
        "rows": rows,
        "changed": sum(row.changed for row in rows),
    }
    return respond(request, "verdicts_compared.html", content)


def two_verdicts(earlier: AuditRun, later: AuditRun) -> list[TwoVerdicts]:
    """The verdicts of both audits, those that differ first."""
    before, now = _by_case(earlier), _by_case(later)
    both = []
    for case in dict.fromkeys([*now, *before]):
        judge, criterion, language = case
        query = {"language": language, "criterion": criterion, "judge": judge}
        title = (later if case in now else earlier).criterion(criterion)
        verdicts = before.get(case), now.get(case)
        both.append(TwoVerdicts(query, title, language_name(language), *verdicts))
    return sorted(both, key=lambda two: not two.changed)


def _by_case(run: AuditRun) -> dict[Place, VerdictCell]:
    cells = (cell for judge in by_judge(run) for cell in judge.verdicts)
    return {PLACE(cell.row): cell for cell in cells}


def _words(cell: VerdictCell | None) -> str:
    return cell.words if cell else ""
