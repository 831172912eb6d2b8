"""The first screen of adjudication: which judges are as often right as a person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from metal.data.grouping import grouped
from metal.data.text import count, estimate, known, listed, percent, plural, signed, within
from metal.questions.adjudicate.run import Adjudicated
from metal.questions.adjudicate.sorts import AMBIGUOUS, BETWEEN, DISPUTED
from metal.questions.adjudicate.verdicts import AS_ACCURATE, BETTER, LESS, NEAR, UNDECIDED
from metal.questions.audit.places import each_place
from metal.runs.columns import Row
from metal.show.parts import case_of, go_on, judges_by_language
from metal.show.view import Remark

MOST_NAMED = 3
LEAST_MORE = 20  # outputs that a plan for more adds
SAYS = {
    BETTER: "is more often right than these people",
    AS_ACCURATE: "is as often right as a person",
    LESS: "is less often right than a person",
}


def headline(run: Adjudicated) -> str:
    """What was decided, in a sentence or two."""
    rows = run.records(run.shown)
    if not any(decided_of(row) for row in rows):
        return "Nothing was decided yet: no answer has come back."
    if run.draw == BETWEEN:
        return " ".join(_side(run, row) for row in rows)
    if run.draw == AMBIGUOUS:
        return " ".join(_often_right(run, of_case) for of_case in by_case(rows))
    return _verdicts(run, rows)


def decided_of(row: Row) -> float:
    """How many outputs of a row were decided, whichever table the row is from."""
    columns = ("first_higher", "second_higher") if "sides" in row else ("decided",)
    return float(sum(row[column] for column in columns))


def by_case(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each case."""
    return [*grouped(rows, lambda row: (row["language"], row["criterion"])).values()]


def _side(run: Adjudicated, row: Row) -> str:
    """A phrase on which of two raters the answers agree with in a case."""
    first, second = within(row["first"]), within(row["second"])
    if not known(row["sides"]):
        return f"On {case_of(run, row)} too few outputs are decided."
    with_first = row["first_good"] + row["second_higher"] - row["second_good"]
    sides = {first: with_first, second: decided_of(row) - with_first}
    of = f"of the {decided_of(row):g} outputs on which they differ most ({case_of(run, row)})"
    if row["sides_low"] <= 0.5 <= row["sides_high"]:
        return (
            f"Whether {first} or {second} is right more often is open: {first} is right in"
            f" {with_first:g} {of}."
        )
    better, other = sorted(sides, key=lambda rater: -sides[rater])
    return f"{better} is right, and {other} wrong, in {sides[better]:g} {of}."


def _often_right(run: Adjudicated, rows: Sequence[Row]) -> str:
    """A sentence on how often people and the best judge are right in a case."""
    people = [row["right"] for row in rows if row["kind"] == "person" and known(row["right"])]
    judges = [row for row in rows if row["kind"] == "judge" and known(row["right"])]
    if not people:
        return f"On {case_of(run, rows[0])} too few outputs are decided."
    least, most = percent(min(people)), percent(max(people))
    often = least if least == most else f"{least} to {most}"
    says = f"Where all people differ on {case_of(run, rows[0])}, a person is right in {often}"
    if not judges:
        return f"{says} of the outputs."
    best = max(judges, key=lambda row: float(row["right"]))
    return f"{says} of the outputs, and {within(best['rater'])} in {percent(best['right'])}."


def _verdicts(run: Adjudicated, rows: Sequence[Row]) -> str:
    """A sentence with each verdict that occurs, and its cases."""
    sentences = []
    for verdict, says in SAYS.items():
        of_verdict = [row for row in rows if row["verdict"] == verdict]
        if of_verdict:
            sentences.append(_sentence(run, of_verdict, says, len(rows)))
    still_open = [row for row in rows if row["verdict"] == UNDECIDED]
    if still_open:
        judges, in_cases = _judges(still_open), _where(run, still_open, len(rows))
        who = within(judges[0]) if len(judges) == 1 else "a judge"
        sentences.append(f"Whether {who} {SAYS[AS_ACCURATE]} is still open {in_cases}.")
    return " ".join(sentences)


def _sentence(run: Adjudicated, rows: Sequence[Row], says: str, of: int) -> str:
    judges = _judges(rows)
    if len(judges) > 1 and len(rows) <= MOST_NAMED:
        of_judges = grouped(rows, lambda row: str(row["judge"]))
        (best, first), *others = [(within(j), each_place(run, its)) for j, its in of_judges.items()]
        more = [f"{judge} {in_cases}" for judge, in_cases in others]
        return f"{best} {says} {first}, {listed(more)}."
    who = within(judges[0]) if len(judges) == 1 else "A judge"
    return f"{who} {says} {_where(run, rows, of)}."


def _judges(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["judge"] for row in rows))


def _where(run: Adjudicated, rows: Sequence[Row], of: int) -> str:
    """The cases by name if they are few, or else their number."""
    if len(rows) <= MOST_NAMED and len(_judges(rows)) == 1:
        return each_place(run, rows)
    return f"in {len(rows):,} of {of:,} cases"


def scope(run: Adjudicated) -> str:
    """What was compared, for the line above the headline."""
    if run.draw == DISPUTED:
        return judges_by_language(run, "adjudicated")
    return plural(run.tables[run.shown]["language"].nunique(), "language")


def cards(run: Adjudicated) -> Iterator[Remark]:
    """The bad end, what errors would change, how far adjudicators agree, what to do next."""
    rows = run.records("adjudicated")
    decided = [row for row in rows if row["decided"]]
    for row in decided:
        if row["reason"].startswith(NEAR):
            yield Remark("Beware of the bad end", f"{_place(run, row)}: {row['reason']}.")
            break
    margin = float(run.manifest["settings"]["margin"])
    measured = [row for row in decided if known(row["difference"])]
    if measured:
        row = next((row for row in measured if _moves(row, margin)), measured[0])
        sentence = (
            f"{_place(run, row)}: {estimate(row, 'difference', signed)}; if the adjudicator errs "
            f"in 10% of outputs, {estimate(row, 'if_random', signed)} (at random) or "
            f"{estimate(row, 'if_crowd', signed)} (with most people)."
        )
        yield Remark("If the adjudicator errs", sentence)
    if alike := how_alike(run):
        yield Remark("Adjudicators", alike)
    yield _next(run, rows)


def how_alike(run: Adjudicated) -> str:
    """How often two adjudicators decide alike; empty with one."""
    pairs = run.records("adjudicators")
    if not pairs:
        return ""
    both, differ = (sum(row[name] for row in pairs) for name in ("both", "differ"))
    alike = (
        f"Two adjudicators decide alike in {percent(1 - differ / both)} of {count(both)} outputs."
    )
    return f"{alike} Where they differ, each answer counts half."


def _place(run: Adjudicated, row: Row) -> str:
    return f"{within(row['judge'])} on {case_of(run, row)}"


def _moves(row: Row, margin: float) -> bool:
    """Whether errors of an adjudicator might put the judge on the other side of the margin."""
    figures = ("difference", "if_random", "if_crowd")
    return len({row[f"{name}_low"] > -margin for name in figures}) > 1


def _next(run: Adjudicated, rows: Sequence[Row]) -> Remark:
    """What would settle the cases that are still open; if none is open, where the verdicts are
    shown.
    """
    title, settings = "What to do next", run.manifest["settings"]
    plan = quote(str(settings["plan"]))
    if waiting := int(settings["waiting"]):
        sentence = f"No answer yet for {plural(waiting, 'output')}. When the files are back:"
        return Remark(title, sentence, f"metal adjudicate report {plan} FILES")
    if more := _more(run, rows):
        advice = (
            f"Plan for about {count(more)} outputs a case; the answers so far count, and only "
            "the remaining outputs are asked about:"
        )
        command = f"{go_on(run, 'adjudicate plan')} --more-of {plan}"
        return Remark(title, advice, f"{command} --items {more} --out {plan}-more")
    report = settings.get("report") or f"runs/{Path(str(settings['plan'])).name}-report"
    if any(row["verdict"] == UNDECIDED and row["decided"] for row in rows):
        advice = (
            "All disputed outputs are decided, but some cases are still open, because too few "
            "outputs are rated. To see how many rated outputs it takes:"
        )
        return Remark(title, advice, go_on(run, "design"))
    if run.draw == DISPUTED:
        advice = "Show these verdicts beside those on agreement:"
        return Remark(title, advice, f"{go_on(run, 'audit')} {quote(report)}")
    return Remark(title, "Look at the page:", f"metal report {quote(report)}")


def _more(run: Adjudicated, rows: Sequence[Row]) -> int:
    """How many outputs per case the next plan needs to settle the open cases. It is 0 if nothing is
    open, or if every output that could be drawn was drawn.
    """
    settings = run.manifest["settings"]
    drawn = int(settings.get("most_drawn", 0))
    if run.draw != DISPUTED or settings.get("all_drawn", False):
        return 0
    times = [_times_as_many(row) for row in rows if row["verdict"] == UNDECIDED]
    if max(times, default=0.0) <= 1:
        return 0
    needed: int = math.ceil(drawn * max(times))
    return max(needed, drawn + LEAST_MORE)


def _times_as_many(row: Row) -> float:
    """How many times as many decided outputs may settle a case that is open; 0 if all are decided.
    It is 2 if this cannot be estimated, because too few outputs are decided or because the verdict
    depends on the bad end.
    """
    if row["decided"] >= row["disputed"]:
        return 0.0
    if not known(row["items_needed"]) or row["reason"].startswith(NEAR):
        return 2.0
    return float(row["items_needed"] / row["decided"])
