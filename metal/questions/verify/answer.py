"""The first screen of a verification: whether the figures equal those of other libraries."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from metal.data.text import count, listed, name, plural, within
from metal.questions.verify.compute import DIFFERS, EQUAL, LEFT, NO_LIBRARY, UNDEFINED
from metal.questions.verify.run import Verified
from metal.questions.verify.words import NOT_COMPARED, with_versions
from metal.runs.columns import Row
from metal.show.parts import case_of, data_of
from metal.show.view import Remark


def headline(run: Verified) -> str:
    """Say how many figures are equal, and to which digit; else name the first figure that
    differs.
    """
    equal, differ = run.counted[EQUAL], run.counted[DIFFERS]
    whose = f"figures of {within(run.of_run)}"
    if not equal + differ:
        return f"None of the {whose} could be compared with other libraries."
    if differ:
        first = run.records("figures", says=DIFFERS)[0]
        return (
            f"{count(differ)} of {count(equal + differ)} {whose} differ: {_differing(run, first)}."
        )
    digits = int(run.tables["figures"]["digits"].min())
    return (
        f"{count(equal)} of {count(equal)} {whose} are equal to those of {with_versions(run)}, to"
        f" at least {digits} digits."
    )


def _differing(run: Verified, row: Row) -> str:
    """A difference in words:
    `weighted_f1 of gpt-4o on fluency in Hindi is 0.7 in judges.csv, 0.6 by scikit-learn`.
    """
    rater = f" of {within(row['rater'])}" if row["rater"] else ""
    value, other = (repr(row[key]) for key in ("value", "recomputed"))
    return (
        f"{row['figure']}{rater} on {case_of(run, row)} is {value} in {row['file']},"
        f" {other} by {row['library']}"
    )


def cards(run: Verified) -> Iterator[Remark]:
    """Cards: which figures are undefined, which are not compared, and what to do next."""
    counted = run.counted
    parts = [
        f"{plural(counted[kind], 'more figure')} {kind}{' by METAL' * (kind == LEFT)}"
        for kind in (UNDEFINED, NO_LIBRARY, LEFT)
        if counted.get(kind)
    ]
    if parts:
        rows = [row for row in run.records("figures") if row["says"] in (UNDEFINED, NO_LIBRARY)]
        first = f" {rows[0]['figure']}, for example: {name(rows[0]['undefined'])}." if rows else ""
        yield Remark("Without a comparison", f"{listed(parts)}.{first}")
    yield Remark("Not compared", NOT_COMPARED)
    title, folder = "What to do next", shlex.quote(run.of_run)
    if run.exit_code:
        advice = (
            "Run it again and verify the new run. If figures still differ, a library or METAL"
            " is at fault: report it with tables/figures.csv."
        )
        yield Remark(title, advice, f"metal {run.settings['command']} {data_of(run)}")
    else:
        advice = "Write the verified tables for a paper:"
        yield Remark(title, advice, f"metal report {folder} --latex tables")


def scope(run: Verified) -> str:
    """What was recomputed, for the line above the headline."""
    figures = run.tables["figures"]
    return (
        f"a run of metal {run.settings['command']}"
        f" · {plural(figures['figure'].nunique(), 'kind')} of figures"
    )
