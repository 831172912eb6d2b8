"""The first screen of a language-bias audit: in which languages a judge leans."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from metal.auditing.scored_outputs import EVEN, LEANS, MARGIN
from metal.data.languages import language_name
from metal.data.text import (
    count,
    estimate,
    interval,
    known,
    listed,
    percent,
    plural,
    signed,
    within,
)
from metal.questions.bias.between_languages import BESIDE, PEOPLE
from metal.questions.bias.conditions import CHANGES
from metal.questions.bias.language_pairs import BY_PAIRS
from metal.questions.bias.run import LanguageBias, blind
from metal.runs.columns import Row
from metal.show.parts import criterion_in_words, judges_by_language, places
from metal.show.view import Remark

MOST_NAMED = 4


def headline(run: LanguageBias) -> str:
    """Say in which languages the judge leans, and by how much."""
    rows = run.records("language_bias")
    leans = sorted(
        (row for row in rows if row["says"] == LEANS),
        key=lambda row: -abs(row["lean"]) / run.span(row["criterion"]),
    )
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    if leans:
        return _leaning(run, leans)
    if all(row["says"] == EVEN for row in rows):
        who = within(judges[0]) if len(judges) == 1 else f"All {len(judges)} judges"
        return (
            f"{who} {'treats' if len(judges) == 1 else 'treat'} all languages alike, within"
            f" {MARGIN:.0%} of the scale."
        )
    unknown = sum(row["says"] not in (EVEN, LEANS) for row in rows)
    return (
        f"No language bias is shown; {unknown} of {plural(len(rows), 'case')}"
        f" {'is' if unknown == 1 else 'are'} undecided."
    )


def _leaning(run: LanguageBias, leans: Sequence[Row]) -> str:
    """Say which judge leans most, in which languages, and in how many other cases a judge leans.

    leans: the rows with a lean, the largest first.
    """
    judge, criterion, by = leans[0]["judge"], leans[0]["criterion"], leans[0]["by"]
    own = [row for row in leans if (row["judge"], row["criterion"]) == (judge, criterion)]
    highest, lowest = max(own, key=lambda row: row["lean"]), min(own, key=lambda row: row["lean"])
    named = [highest] if highest["lean"] > 0 else []
    if lowest["lean"] < 0:
        named.append(lowest)
    who, high, low, in_words = _sides(judge, by)
    far = []
    for row in named:
        end = high if row is highest else low
        far.append(f"{end} {language_name(row['language'])} ({in_words(row)})")
    others = len(leans) - len(named)
    more = (
        (f" {plural(others, 'more case shows a lean', 'more cases show a lean')}.")
        if others
        else ""
    )
    if unseeing := [language_name(row["language"]) for row in named if blind(row)]:
        more += f" In {listed(unseeing)} it is not shown to tell good from bad."
    on = criterion_in_words(run, criterion)
    scale = run.criteria[criterion].scale.ends
    # far is by the share of the scale
    if scale and len({run.span(row["criterion"]) for row in leans}) > 1:
        on += f" (scored {scale[0]:g} to {scale[1]:g})"
    if by == BESIDE:
        return f"Compared with these people, {who} {listed(far)} on {on}.{more}"
    return f"{who} {listed(far)} on {on} for the same contents.{more}"


def _sides(judge: str, by: str) -> tuple[str, str, str, Callable[[Row], str]]:
    """The words of a headline: its subject, what it says of the languages scored highest and
    lowest, and the figure that follows.
    """
    if by == BY_PAIRS:
        who = f"By {'people' if judge == PEOPLE else within(judge)}, comparisons are won"
        return who, "most often by", "least often by", lambda row: percent(row["mean"])
    if judge == PEOPLE:
        return "People's scores are", "highest in", "lowest in", _lean
    return f"{within(judge)} is", "most lenient in", "most severe in", _lean


def _lean(row: Row) -> str:
    return signed(row["lean"])


def cards(run: LanguageBias) -> Iterator[Remark]:
    """Cards: how naive figures mislead, where the judge is blind, and what to do next."""
    rows = run.records("language_bias")
    if naive := _naive(run, rows):
        yield Remark("Beware of simple differences", naive)
    if unseeing := _blind(run, rows):
        yield Remark("Cannot tell good from bad", unseeing)
    if moved := _moved(run):
        yield Remark("What changes scores", moved)
    if noticed := _noticed(run):
        yield Remark("Wrong language or script", noticed)
    if severe := _severe(run):
        yield Remark("People who differ from the others", severe)
    if any(row["by"] == BESIDE for row in rows):
        verb = (
            "design anchors" if any(row["there"] for row in run.records("anchors")) else "bias plan"
        )
        command = f"metal {verb} {shlex.quote(str(run.data.get('path', 'DATASET')))}"
        yield Remark(
            "What to do next",
            f"To separate the judge's bias from people's severity, {anchors_said(run)}",
            command,
        )


def anchors_said(run: LanguageBias) -> str:
    """Say how many contents the people of every language should rate, and whether such contents
    exist.
    """
    rows = run.records("anchors")
    counted = [row for row in rows if known(row["contents"])]
    if not counted:
        return (
            "have every panel rate some contents that exist in every language, or have the judge"
            " rate them."
        )
    most = max(counted, key=lambda row: row["contents"])
    case = f"{language_name(most['language'])}, {criterion_in_words(run, most['criterion'])}"
    shared = (
        f"{count(most['there'])} are there"
        if most["there"]
        else "there are none, so they have to be translated"
    )
    return (
        f"have every panel rate {plural(int(most['contents']), 'content')} that exist in every"
        f" language ({case} needs most; {shared}), or have the judge rate them."
    )


def _naive(run: LanguageBias, rows: Sequence[Row]) -> str:
    """Say where the naive figures mislead most; empty if they hardly mislead, or if that is
    unknown.
    """
    off = [
        (abs(row["naive_difference"] - row["gap"]) / run.span(row["criterion"]), row)
        for row in rows
        if row["says"] in (EVEN, LEANS) and known(row["gap_low"]) and known(row["naive_difference"])
    ]
    far, worst = max(off, key=itemgetter(0), default=(0.0, {}))
    if far < MARGIN / 2 or worst["gap_low"] <= worst["naive_difference"] <= worst["gap_high"]:
        return ""
    return (
        f"Simply subtracting people's scores misleads most in {_where(run, worst)}: the difference"
        f" is {signed(worst['naive_difference'])}, but among equally good outputs the gap is"
        f" {estimate(worst, 'gap', signed)}."
    )


def _where(run: LanguageBias, row: Row) -> str:
    """A case by name, such as `Basque (overall score, gpt-4)`."""
    return (
        f"{language_name(row['language'])} ({criterion_in_words(run, row['criterion'])},"
        f" {within(row['judge'])})"
    )


def _moved(run: LanguageBias) -> str:
    """Name the conditions that should not change scores but do, the largest change first."""
    rows = [
        row for row in run.records("conditions") if row["says"] == CHANGES and not row["expected"]
    ]
    rows.sort(key=lambda row: -abs(row["change"]) / run.span(row["criterion"]))
    return _first(
        [
            f"{within(row['what'])}: {signed(row['change'])} in {_where(run, row)}, "
            f"{interval(row['change_low'], row['change_high'], signed)}"
            for row in rows
        ]
    )


def _noticed(run: LanguageBias) -> str:
    """Say where a wrong language or script is noticed least, and where it most changes scores that
    should not change.
    """
    rows = run.records("conditions")
    least = min(
        (row for row in rows if known(row["noticed"])), key=lambda row: row["noticed"], default=None
    )
    most = max(
        (row for row in rows if known(row["collateral"])),
        key=lambda row: row["collateral"],
        default=None,
    )
    sentences = [
        f"{verb} {percent(row[key])} {interval(row[f'{key}_low'], row[f'{key}_high'], percent)} of"
        f" outputs in {_where(run, row)} ({within(row['what'])})"
        for verb, key, row in (
            ("Noticed least, in", "noticed", least),
            ("Other scores change most, in", "collateral", most),
        )
        if row
    ]
    return " ".join(f"{each}." for each in sentences)


def _severe(run: LanguageBias) -> str:
    """Name the people who score much lower or higher than others on the same outputs, the largest
    difference first.
    """
    rows = [row for row in run.records("severity") if row["says"]]
    rows.sort(key=lambda row: -abs(row["lower_by"]) / run.span(row["criterion"]))
    return _first(
        [
            f"{within(row['person'])} is {row['says']}: {signed(-row['lower_by'])} in"
            f" {language_name(row['language'])} ({criterion_in_words(run, row['criterion'])})"
            for row in rows
        ]
    )


def _first(cases: Sequence[str]) -> str:
    """The first cases as a sentence, with the number of the rest; empty if there are none."""
    more = [f"and {len(cases) - MOST_NAMED} more"] if len(cases) > MOST_NAMED else []
    return "; ".join([*cases[:MOST_NAMED], *more]) + "." if cases else ""


def _blind(run: LanguageBias, rows: Sequence[Row]) -> str:
    """Say where a judge is not shown to tell good from bad; empty if nowhere."""
    named = [_where(run, row) for row in rows if blind(row)]
    if not named:
        return ""
    cases = places(named, MOST_NAMED)
    return (
        f"The judge is not shown to tell good from bad in {cases}, so a shift there is not "
        "leniency."
    )


def scope(run: LanguageBias) -> str:
    """What was compared, for the line above the headline."""
    return judges_by_language(run, "language_bias")
