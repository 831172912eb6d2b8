"""The first screen about people as raters: who stands out, how badly, and what to do about it; the
worst first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from metal.data.languages import language_name
from metal.data.people import people_in
from metal.data.text import capital, known, name, percent, plural, within
from metal.genie.behaviour import ALL_CRITERIA
from metal.questions.people.monitor_tables import DISAGREES, NEVER
from metal.questions.people.run import Monitor
from metal.questions.people.words import limits
from metal.runs.columns import Row
from metal.show.parts import go_on, in_sentence, places, to_hand_out
from metal.show.view import Cell, Remark, Rows, TableView

MOST_NAMED = 3
MOST_ROWS = 12
LEAVE_OUT = "Leave them out"
# What to do about a reason, by how it begins.
ADVICE = {
    DISAGREES: "First read some of their ratings",
    NEVER: "Ask whether they use the scale upside down",
    "nearly always": "Ask whether they read the outputs",
    "much": "Go through the guidelines together",
    "repeats": "Check whether their comments fit the outputs",
}


def worst_first(run: Monitor) -> list[Row]:
    """For each person and language that stands out, the row that speaks most against the person."""
    rows: dict[tuple[str, str], Row] = {}
    for row in sorted(run.records("behaviour"), key=_badness):
        if known(row["stands_out"]) and row["stands_out"]:
            rows.setdefault((row["rater"], row["language"]), row)
    return list(rows.values())


def _disagrees(row: Row) -> bool:
    return str(row["stands_out"]).startswith((DISAGREES, NEVER))


def _badness(row: Row) -> tuple[bool, float, float]:
    """A sort key for rows: people who disagree first, then by distance from colleagues."""
    agreement, severity = row["agreement_difference"], row["severity"]
    less = agreement if known(agreement) and _disagrees(row) else 0.0
    return not _disagrees(row), less, -abs(severity) if known(severity) else 0.0


def headline(run: Monitor) -> str:
    """The answer in a sentence."""
    if run.noisy:
        failed = "fails the test questions" if len(run.noisy) == 1 else "fail the test questions"
        who = places(list(map(within, run.noisy)), MOST_NAMED)
        return f"{who} {failed}: leave {'this one' if len(run.noisy) == 1 else 'them'} out."
    return _beside(run)


def _beside(run: Monitor) -> str:
    """Say who stands out from their colleagues."""
    overall = [row for row in run.records("behaviour") if row["criterion"] == ALL_CRITERIA]
    if not overall:
        return "No person has rated anything here."
    people = len({row["rater"] for row in overall})
    standing = worst_first(run)
    if not standing:
        return _nobody(overall, people)
    worst = standing[0]
    who, on_case = within(worst["rater"]), _where(run, worst)
    if not _disagrees(worst):
        number = len({row["rater"] for row in standing})
        stand = "stands" if number == 1 else "stand"
        some = f"{number} of {plural(people, 'person', 'people')} {stand} out for other reasons"
        return f"No person disagrees significantly more than the others; {some}."
    number = len({row["rater"] for row in standing if _disagrees(row)})
    shares = [worst["agreement"], worst["colleagues_agreement"]]
    figures = (
        f": {percent(shares[0])} against {percent(shares[1])}" if all(map(known, shares)) else ""
    )
    return (
        f"{number} of {people} people {'agrees' if number == 1 else 'agree'} with the others"
        f" significantly less than the others agree with each other. The lowest is {who}"
        f" {on_case}{figures}."
    )


def _nobody(overall: Sequence[Row], people: int) -> str:
    """The headline if nobody stands out.

    overall: the rows over all criteria.
    """
    if all(known(row["not_compared"]) and row["not_compared"] for row in overall):
        return "Nobody can be compared: people share too few outputs."
    if people > 1:
        return f"None of the {people} people stands out."
    return "The only person does not stand out."


def _where(run: Monitor, row: Row) -> str:
    """A case in words: `on fluency in Hindi`, or `in Hindi` for all criteria."""
    criterion = (
        ""
        if row["criterion"] == ALL_CRITERIA
        else f"on {in_sentence(run.criterion(row['criterion']))} "
    )
    return f"{criterion}in {language_name(row['language'])}"


def lead(run: Monitor) -> str:
    """Say what else is known about the people who stand out."""
    sentences = []
    if run.noisy:
        sentences.append(_beside(run))
    elif run.examined:
        sentences.append(
            f"None of the {plural(len(run.examined), 'rater')} who got test questions is noisy."
        )
    standing = worst_first(run)
    disagreeing = {row["rater"] for row in standing if _disagrees(row)}
    other = list(dict.fromkeys(row["rater"] for row in standing if row["rater"] not in disagreeing))
    if disagreeing and other:
        sentences.append(f"{len(other)} more differ in severity, labels or comments.")
    return " ".join(sentences)


def scope(run: Monitor) -> str:
    """The people and tests examined, for the line above the headline."""
    people = len(people_in(run.raters))
    asked = (
        f"{plural(len(run.examined), 'rater')} got test questions"
        if run.examined
        else "no test questions"
    )
    return f"{plural(people, 'person', 'people')} · {asked}"


def answer_table(run: Monitor) -> TableView:
    """A table of who stands out, how, and what to do about it."""
    rows: Rows = [
        [name(rater), capital("; ".join(run.why_noisy.get(rater, []))), LEAVE_OUT]
        for rater in run.noisy
    ]
    apart = worst_first(run)
    rows += [_row(run, row) for row in list(filter(_disagrees, apart)) or apart]
    columns = ("who", "what stands out", "what to do")
    title = "Who stands out, the worst first"
    return TableView.of(
        run, "behaviour", title, columns, rows, name="answer", most=MOST_ROWS, turns=True
    )


def _row(run: Monitor, row: Row) -> list[Cell | str]:
    reasons = str(row["stands_out"])
    short = re.sub(r" \([^()]*corrected for people\)", "", reasons)
    todo = next((advice for opening, advice in ADVICE.items() if reasons.startswith(opening)), "")
    return [Cell(name(row["rater"]), _where(run, row)), capital(name(short, 300)), todo]


def cards(run: Monitor) -> Iterator[Remark]:
    """Cards: what to be careful about, who cannot be compared, and what to do next."""
    yield Remark("Do not conclude", limits(run))
    apart: dict[str, Any] = {
        row["rater"]: row["not_compared"]
        for row in run.records("behaviour")
        if row["criterion"] == ALL_CRITERIA and known(row["not_compared"]) and row["not_compared"]
    }
    if apart:
        first, *others = apart
        also = (
            f" The same holds for {places(list(map(within, others)), MOST_NAMED)}."
            if others
            else ""
        )
        yield Remark("Who cannot be compared", f"{within(first)}: {apart[first]}.{also}")
    if len(run.tables["exclusions"]):
        advice = "Audit without people who fail the test questions (the dataset stays as it is):"
        yield Remark("What to do next", advice, f"{go_on(run, 'audit')} --exclude-noisy")
    elif not run.examined:
        advice = "Hide test questions among the next tasks to find who does not read the texts:"
        yield Remark("What to do next", advice, to_hand_out(run, " --test-questions"))
    else:
        yield Remark(
            "What to do next", "Compare the judges with these people:", go_on(run, "audit")
        )
