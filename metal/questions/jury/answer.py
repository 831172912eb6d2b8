"""The first screen of a jury: whether several judges together are better than the best of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from metal.data.text import count, figure, known, percent, plural, within
from metal.questions.jury.run import Jury
from metal.show.parts import case_of, go_on
from metal.show.view import Remark


def headline(run: Jury) -> str:
    """Say in how many cases the jury is better than its best member, and where it gains most."""
    rows = [row for row in run.records("jury") if known(row["gain"])]
    if not rows:
        return (
            "Cannot compare the jury with its best member: no output was rated by both the jury and"
            " people."
        )
    if len(run.settings["judges"]) == 1:
        return (
            f"A jury of one is that judge, {within(run.settings['judges'][0])}: name two or more to"
            " compare."
        )
    better = [row for row in rows if row["better"] == "yes"]
    cases = plural(len(rows), "case")
    if not better:
        in_cases = f" in any of {cases}" if len(rows) > 1 else f" on {case_of(run, rows[0])}"
        best = Counter(within(row["best"]) for row in rows)
        instead = (
            " or ".join(name for name, _ in best.most_common(2))
            if len(best) < 3
            else "the best member"
        )
        return (
            f"The jury is not shown to be better than its best member{in_cases}. Use {instead}"
            " instead."
        )
    most = max(better, key=lambda row: row["gain"])
    return (
        f"The jury is better than its best member in {len(better)} of {cases}, most clearly on"
        f" {case_of(run, most)}: it agrees with people in {percent(most['agreement'])}, the best"
        f" member in {percent(most['best_agreement'])}."
    )


def cards(run: Jury) -> Iterator[Remark]:
    """Cards: where the jury is worse, how few independent members it is worth, which outputs it did
    not rate, and what to do next.
    """
    rows = run.records("jury")
    worse = [row for row in rows if row["better"] == "no"]
    if worse:
        most = min(worse, key=lambda row: row["gain"])
        shares = (
            f"{percent(most['agreement'])}, its best member in {percent(most['best_agreement'])}"
        )
        sentence = (
            f"In {plural(len(worse), 'case')}; on {case_of(run, most)}, the jury agrees with "
            f"people in {shares}."
        )
        yield Remark("Worse than one member", sentence)
    worth = [row for row in rows if known(row["size"])]
    if worth:
        least = min(worth, key=lambda row: row["size"] / row["members"])
        sentence = (
            f"On {case_of(run, least)}, its {least['members']} members count as "
            f"{figure(least['size'], '.1f')} independent judges: they are often wrong about the "
            "same outputs."
        )
        yield Remark("Members alike", sentence)
    missing = sum(row["missing"] for row in rows)
    if missing:
        reasons = sorted({str(reason) for reason in run.ratings["reason"]} - {""})
        sentence = (
            f"{count(missing)} of {count(len(run.ratings))} outputs have no rating:"
            f" {'; '.join(reasons)}."
        )
        yield Remark("Outputs without a rating", sentence)
    if any(row["better"] == "yes" for row in rows):
        sentence = "Get a verdict on the jury itself (JURY is the folder of this run):"
        yield Remark("What to do next", sentence, f"{go_on(run, 'audit')} JURY")
    else:
        yield Remark(
            "What to do next", "Check whether a member can be trusted:", go_on(run, "audit")
        )


def scope(run: Jury) -> str:
    """The members and how they were combined, for the line above the headline."""
    settings = run.settings
    return f"{plural(len(settings['judges']), 'judge')} by {settings['by']}"
