"""`metal.passport`: write what an audit's judges may be used for, and until when, to a file that
`metal.judge` can require.
"""

from __future__ import annotations

from datetime import date as Date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Option, StrPath, documented
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.questions.audit.result import Audit
    from metal.questions.passport.run import Passport
    from metal.runs.run import Run


@documented
def passport(
    run: StrPath | Audit,
    *runs: StrPath | Run,
    days: Annotated[
        int, Option("Number of days for which the passport is valid.", least=1, most=3660)
    ] = 180,
    date: Annotated[
        str, Option("Day of issue. [default: today, UTC]", metavar="YYYY-MM-DD", rare=True)
    ] = "",
) -> Passport:
    """Issue a passport that says what each judge of an audit may be used for, by language and
    criterion.

    A judge may be used alone where it is like a person, together with people (`metal.correct`)
    where it is informative, and nowhere else. `runs` are runs of other questions on the same judges
    (`metal.bias_language`, ...): the passport records their findings, and a finding that
    disqualifies a judge removes a permission.

    passport.json records, for each judge, its model, parameters, prompt hashes, the versions that
    answered, the verdicts with their figures, and what it was not tested on. It also has the data's
    hash, signatures, dates of issue and expiry, and a SHA-256 of the whole, which guards against
    accidents but not against a forger. `metal.judge(require="passport.json")` refuses anything the
    passport does not allow.

    Args:
        runs: Further runs whose findings to record.
        run: An audit, or the run folder of one.

    Returns:
        The passport, with tables, page and `content`; nothing is written before `save`.

    Raises:
        UsageError: For a run that is not an audit or has no judges.

    Example:
        metal.passport("runs/news-audit", days=90).save("runs/news-passport")
    """
    from metal.api.report import told_apart
    from metal.questions.audit.remarks import with_remarks
    from metal.questions.audit.result import Audit
    from metal.questions.passport.run import Passport
    from metal.runs.passport import today

    audit = run if isinstance(run, Audit) else Audit.read(Path(_folder(run)))
    ratings, beside = told_apart(runs)
    if ratings:
        raise UsageError(
            f"{ratings[0]}: it has no findings about judges; add runs of `metal bias` and the like"
        )
    try:
        issued = Date.fromisoformat(date) if date else today()
    except ValueError:
        raise UsageError(f'`date="{date}"` is not a valid date; use YYYY-MM-DD') from None
    issued_run = Passport.issued(with_remarks(audit, beside), issued, days)
    if not issued_run.content["judges"]:
        raise UsageError(
            f"{audit.name}: no judges were audited; add a run of `metal.judge` to the audit"
        )
    return issued_run


def _folder(run: Any) -> StrPath:
    """The folder of an audit. Raises UsageError if `run` is the result or the folder of another
    function.
    """
    from metal.runs.parts import command_of

    if isinstance(run, str | Path):
        if (command := command_of(Path(run))) not in ("", "audit"):
            raise UsageError(
                f"{run}: a run of `metal {command}`; a passport is issued from a run of `metal"
                " audit`"
            )
        return run
    raise UsageError(
        f"a passport is issued from an audit, not from {run!r}; give `metal.audit(...)` or its"
        " folder"
    )
