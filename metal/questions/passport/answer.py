"""The first screen of a passport: which judge may be used alone, in how many cases, and
until when.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from metal.auditing.verdict import LIKE_A_PERSON
from metal.data.languages import language_name
from metal.data.text import capital, in_list, plural, printable, within
from metal.questions.passport.run import Passport
from metal.questions.passport.words import best_verdict
from metal.raters.judges.providers import provider_names
from metal.runs.passport import ALONE, BESIDE
from metal.runs.run import NOTED
from metal.show.parts import criterion_in_words, data_of, judges_by_language
from metal.show.view import Remark


def headline(run: Passport) -> str:
    """Say which judge may be used alone in the most cases, and until when."""
    best, until = run.judge_names[0], run.content["expires"]
    uses = Counter(row["use"] for row in run.records("uses", judge=best))
    judges, total = len(run.judge_names), uses.total()
    rules = ""
    if best_verdict(run.records("uses")) != LIKE_A_PERSON:
        rules = " Issued by the rules before version 0.2: audit again."
    if uses[ALONE]:
        alone = ", each looked at alone" if total > 1 else ""
        cases = f"in {uses[ALONE]} of {plural(total, 'case')}{alone}, until {until}"
        if judges == 1:
            return f"{within(best)} may be used alone {cases}.{rules}"
        allowed = len({row["judge"] for row in run.records("uses", use=ALONE)})
        if allowed == 1:
            return f"Of {judges} judges only {within(best)} may be used alone: {cases}.{rules}"
        return (
            f"{allowed} of {judges} judges may be used alone somewhere, most often {within(best)}:"
            f" {cases}.{rules}"
        )
    beside = len(run.records("uses", use=BESIDE))
    who = within(best) if judges == 1 else f"None of the {judges} judges"
    nowhere = "may not be used alone anywhere" if judges == 1 else "may be used alone"
    return (
        f"{who} {nowhere}; together with people's ratings in {plural(beside, 'case')}, until"
        f" {until}."
    )


def cards(run: Passport) -> Iterator[Remark]:
    """Cards: what other runs say against an allowed use, what was not tested, and what to
    do next.
    """
    best = run.judge_names[0]
    allowed = {
        (row["judge"], row["language"], row["criterion"]) for row in run.records("uses", use=ALONE)
    }
    against = [
        row
        for row in run.lines
        if row["weight"] != NOTED and (row["judge"], row["language"], row["criterion"]) in allowed
    ]
    if against:
        row = against[0]
        on_case = (
            f"on {criterion_in_words(run, row['criterion'])} in {language_name(row['language'])}"
        )
        more = f" {plural(len(against) - 1, 'more line')} below." if len(against) > 1 else ""
        sentence = (
            f"{within(row['judge'])} {on_case}: {printable(row['line'])} ({row['question']}).{more}"
        )
        yield Remark("Allowed, with a warning", sentence)
    gaps = [printable(row["what"]) for row in run.records("not_tested", judge=best)]
    if gaps:
        title = f"Not tested: {within(best)}" if len(run.judge_names) > 1 else "Not tested"
        yield Remark(title, " ".join(f"{capital(gap)}." for gap in gaps))
    model = next(row["model"] for row in run.records("judges", judge=best))
    if model.partition(":")[0] in provider_names():
        command = f"metal judge DATASET -j {shlex.quote(in_list([model]))} --require passport.json"
        yield Remark("What to do next", "Judge only what the passport allows:", command)
    else:
        sentence = (
            "Have METAL ask the judge, then audit that run; a passport of that audit can be "
            "required:"
        )
        yield Remark("What to do next", sentence, f"metal judge {data_of(run)} --judge MODEL")


def scope(run: Passport) -> str:
    """The judges it is for and the day of issue, for the line above the headline."""
    return (
        f"{judges_by_language(run, 'uses')} · issued {run.content['issued']} from"
        f" {run.content['data']['identity']}"
    )
