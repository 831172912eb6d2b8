"""The first screen of adjudication: which judges are as often right as a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from metal.data.text import count, estimate, known, listed, plural, signed, within
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.verdicts import AS_ACCURATE, BETTER, LESS, UNDECIDED
from metal.questions.audit.places import each_place
from metal.runs.columns import Row
from metal.show.parts import case_of, go_on, judges_by_language
from metal.show.view import Remark

MOST_NAMED = 3
SAYS = {
    BETTER: "is more often right than these people",
    AS_ACCURATE: "is as often right as a person",
    LESS: "is less often right than a person",
}


def headline(run: Adjudicated) -> str:
    """Each verdict that there is, with its cases."""
    rows = run.records("adjudicated")
    if not any(row["decided"] for row in rows):
        return "Nothing was decided yet: no answer has come back."
    sentences = []
    for verdict, says in SAYS.items():
        of_verdict = [row for row in rows if row["verdict"] == verdict]
        if of_verdict:
            sentences.append(_sentence(run, of_verdict, says, len(rows)))
    still_open = [row for row in rows if row["verdict"] == UNDECIDED]
    if still_open:
        judges, where = _judges(still_open), _where(run, still_open, len(rows))
        who = within(judges[0]) if len(judges) == 1 else "a judge"
        sentences.append(f"Whether {who} {SAYS[AS_ACCURATE]} is still open {where}.")
    return " ".join(sentences)


def _sentence(run: Adjudicated, rows: Sequence[Row], says: str, of: int) -> str:
    judges = _judges(rows)
    if len(judges) > 1 and len(rows) <= MOST_NAMED:
        first, *others = [each_place(run, _of_judge(rows, judge)) for judge in judges]
        more = [f"{within(judge)} {where}" for judge, where in zip(judges[1:], others, strict=True)]
        return f"{within(judges[0])} {says} {first}, {listed(more)}."
    who = within(judges[0]) if len(judges) == 1 else "A judge"
    return f"{who} {says} {_where(run, rows, of)}."


def _judges(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["judge"] for row in rows))


def _of_judge(rows: Sequence[Row], judge: str) -> list[Row]:
    return [row for row in rows if row["judge"] == judge]


def _where(run: Adjudicated, rows: Sequence[Row], of: int) -> str:
    """By name where these are few, else how many."""
    if len(rows) <= MOST_NAMED and len(_judges(rows)) == 1:
        return each_place(run, rows)
    return f"in {len(rows):,} of {of:,} cases"


def scope(run: Adjudicated) -> str:
    """What was compared, for the line above the headline."""
    return judges_by_language(run, "adjudicated")


def cards(run: Adjudicated) -> Iterator[Remark]:
    """What rests on few answers, the bad end, what errors would change, what to do next."""
    rows = run.records("adjudicated")
    decided = [row for row in rows if row["decided"]]
    for row in decided:
        if known(row["recall"]) and row["reason"].startswith("its accuracy is near"):
            yield Remark("Beware of the bad end", f"{_place(run, row)}: {row['reason']}.")
            break
    margin = float(run.manifest["settings"]["margin"])
    moved = [row for row in decided if _moves(row, margin)]
    if moved:
        row = moved[0]
        words = (
            f"{_place(run, row)}: {estimate(row, 'difference', signed)}; if the adjudicator errs in"
            f" 10%, {estimate(row, 'if_random', signed)} (at random) or"
            f" {estimate(row, 'if_crowd', signed)} (with most people)."
        )
        yield Remark("If the adjudicator errs", words)
    yield _next(run, rows)


def _place(run: Adjudicated, row: Row) -> str:
    return f"{within(row['judge'])} on {case_of(run, row)}"


def _moves(row: Row, margin: float) -> bool:
    """Whether an adjudicator who errs may change on which side of the margin the judge is."""
    figures = ("difference", "if_random", "if_crowd")
    return len({row[f"{name}_low"] > -margin for name in figures}) > 1


def _next(run: Adjudicated, rows: Sequence[Row]) -> Remark:
    """What settles the cases that are still open, or where the verdicts are shown."""
    title, settings = "What to do next", run.manifest["settings"]
    plan = quote(str(settings["plan"]))
    waiting = sum(int(row["drawn"] - row["decided"] - row["undecidable"]) for row in rows)
    if waiting > 0:
        words = f"{plural(waiting, 'answer')} have not come back. Add them when they have:"
        return Remark(title, words, f"metal adjudicate report {plan} ANSWERS")
    open_rows = [row for row in rows if row["verdict"] == UNDECIDED and known(row["items_needed"])]
    if open_rows:
        most = max(row["items_needed"] for row in open_rows)
        words = (
            f"About {count(most)} decided outputs a case would settle what is open. Plan for as"
            " many, with another folder:"
        )
        command = go_on(run, "adjudicate plan")
        return Remark(title, words, f"{command} --items {most:.0f} --out {plan}-more")
    words = "Show these verdicts beside those on agreement:"
    return Remark(title, words, f"{go_on(run, 'audit')} {plan}-report")
