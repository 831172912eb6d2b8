"""The first screen of a comparison with a baseline: has the judge changed, and where?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from metal.data.languages import language_name
from metal.data.text import (
    capital,
    count,
    coverage,
    estimate,
    known,
    listed,
    percent,
    percent_change,
    plural,
    recorded,
    within,
)
from metal.questions.drift.compute import BETTER, NOTED, PARTS, SAME, UNDECIDED, WORSE
from metal.questions.drift.run import FAILED, Diff, Gate
from metal.runs.columns import Row
from metal.show.parts import (
    case_of,
    criterion_in_words,
    go_on,
    judges_by_language,
    places,
    to_hand_out,
)
from metal.show.view import Remark

MOST_NAMED = 4
MARGINS = {"difference": "agreement", "mean_change": "the mean", "coverage_change": "coverage"}


def headline(run: Diff) -> str:
    """Say what is shown for all judges, and where; for a gate, begin with its verdict."""
    rows, gate = run.ranked(), isinstance(run, Gate)
    failed = [row for row in rows if row["says"] in FAILED]
    undecided = [row for row in rows if row["says"] == UNDECIDED]
    if failed:
        return "FAIL: " * gate + _failed(run, failed)
    if isinstance(run, Gate) and run.changed:
        return f"FAIL: this is another judge. Changed since the baseline: {_parts(run.changed)}."
    if undecided:
        return _undecided(run, undecided, len(rows))
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    unchanged = f"{len(judges)} judges are unchanged"
    if len(judges) == 1:
        unchanged = f"{within(judges[0])} is unchanged"
    better = [row for row in rows if row["says"] == BETTER]
    gained = f", and better in {_languages(better)}" if better else ""
    languages = plural(len({row["language"] for row in rows}), "language")
    margins = (
        f"{percent(run.margins.agreement)} of agreement with people and {percent(run.margins.mean)}"
        f" of the scale, with less than {percent(run.margins.coverage)} of answers lost"
    )
    return f"{'PASS: ' * gate}{unchanged} in {languages}, within {margins}{gained}."


def _undecided(run: Diff, undecided: Sequence[Row], cases: int) -> str:
    """Say in which cases a change beyond the margin cannot be excluded, and how many outputs would
    decide them.
    """
    first, by = undecided[0], undecided[0]["by"]
    no_change = "UNDECIDED: no change" if isinstance(run, Gate) else "No change"
    seen = by and (first[f"{by}_low"] > 0 or first[f"{by}_high"] < 0)
    no_change += " is shown after correction for so many checks" if seen else " is shown"
    doubt = f"in {len(undecided)} of {plural(cases, 'case')} the change could exceed the margin"
    if by and first[by]:
        most = "most likely " * (len(undecided) > 1)
        doubt += f": {most}{case_of(run, first)} ({first['why']})"
    needs = [(row["language"], row["needed"]) for row in undecided if known(row["needed"])]
    if needs:
        # of each language its greatest need, which serves the others too
        greatest = dict(sorted(needs))
        over = f" over {plural(len(greatest), 'language')}" * (len(greatest) > 1)
        tells = "all" if len(needs) == len(undecided) else f"{len(needs)} of them"
        doubt += f"; about {count(sum(greatest.values()))} outputs{over} would decide {tells}"
    return f"{no_change}, but {doubt}."


def _failed(run: Diff, failed: Sequence[Row]) -> str:
    """Say which judge lost most, on which criterion and in which languages; then name the other
    cases that changed.
    """
    first = failed[0]
    same = [
        row
        for row in failed
        if all(row[key] == first[key] for key in ("judge", "criterion", "says"))
    ]
    others: dict[tuple[str, str], list[Row]] = {}
    for row in failed:
        if row not in same:
            others.setdefault((row["judge"], row["criterion"]), []).append(row)
    several = len({row["judge"] for row in failed}) > 1
    also = [
        f"{within(judge) + ' on ' if several else ''}{criterion_in_words(run, criterion)} in"
        f" {_languages(rows)}"
        for (judge, criterion), rows in others.items()
    ]
    more = f" Also changed: {places(also, MOST_NAMED)}." if also else ""
    earlier = within(first["before"]) if first["before"] != first["judge"] else ""
    worse = f"is worse than {earlier or 'before'}"
    other = f"differs from {earlier or 'before'}"
    case = f"{_languages(same)} on {criterion_in_words(run, first['criterion'])}"
    why = (
        first["why"] if len(same) == 1 else f"in {language_name(first['language'])} {first['why']}"
    )
    return (
        f"{within(first['judge'])} {worse if first['says'] == WORSE else other} in {case}:"
        f" {why}.{more}"
    )


def _parts(changed: Sequence[Row]) -> str:
    """The changed parts of a judge in words: `model (a → b) and prompt (c → d)`."""
    return listed(
        list(
            dict.fromkeys(
                f"{row['part']} ({recorded(row['before'])} → {recorded(row['after'])})"
                for row in changed
            )
        )
    )


def _languages(rows: Sequence[Row]) -> str:
    return places(list(dict.fromkeys(language_name(row["language"]) for row in rows)), MOST_NAMED)


def cards(run: Diff) -> Iterator[Remark]:
    """Cards: the largest loss, missing answers, changes in the judge itself, and what to do about
    failures.
    """
    rows = run.ranked()
    failed = [row for row in rows if row["says"] in FAILED]
    worse = [row for row in failed if row["says"] == WORSE and row["by"] == "difference"]
    if worse:
        row = min(worse, key=lambda row: row["difference"])
        yield Remark(
            "Agreement with people",
            f"Most lost in {_case(run, row)}: {percent(row['agreement_after'])}, previously"
            f" {percent(row['agreement_before'])}, {estimate(row, 'difference', percent_change)}.",
        )
    margin = run.margins.coverage
    silent = [
        row for row in rows if row["coverage_change"] < 0 and row["coverage_change_low"] <= -margin
    ]
    if silent:
        row = min(silent, key=lambda row: row["coverage_change"])
        sure = "likely, but not sure" if row["coverage_change"] < -margin else "not excluded"
        open_still = (
            f" A loss beyond {percent(margin)} is {sure}." if row["says"] == UNDECIDED else ""
        )
        yield Remark(
            "Answers",
            f"Most lost in {_case(run, row)}: {coverage(row['coverage_after'])} of outputs have"
            f" an answer, previously {coverage(row['coverage_before'])},"
            f" {estimate(row, 'coverage_change', percent_change)}.{open_still}",
        )
    yield from _judge_itself(run, bool(failed))
    yield from _next(run, rows, failed, silent)


def _judge_itself(run: Diff, failed: bool) -> Iterator[Remark]:
    signature = run.records("signature")
    changed = [row for row in signature if row["says"] != SAME]
    if changed:
        sentence = f"Changed since the baseline: {_parts(changed)}."
        if all(row["says"] == NOTED and row["before"] and row["after"] for row in changed):
            sentence += " Only the provider's build changed; the anchors show whether that matters."
        yield Remark("The judge itself", sentence)
    elif failed and (same := _same_parts(signature)):
        yield Remark("The judge itself", same)


def _same_parts(signature: Sequence[Row]) -> str:
    """Say which parts of the judge stayed the same, and which are not recorded; empty if no part
    stayed the same.
    """
    missing = {row["part"] for row in signature if not row["after"]}
    parts = PARTS[:-1]  # a fingerprint that nobody tells is no doubt about the others
    same = [part for part in parts if part not in missing]
    unknown = [part for part in parts if part in missing]
    if not same:
        return ""
    if not unknown:
        return f"{capital(_are(same))} the same: the provider changed the model."
    return f"{capital(_are(same))} the same; {_are(unknown)} not recorded, so the cause is unknown."


def _are(parts: list[str]) -> str:
    verb = "are" if len(parts) > 1 else "is"
    return f"{listed(parts)} {verb}"


def _next(
    run: Diff, rows: Sequence[Row], failed: Sequence[Row], silent: Sequence[Row]
) -> Iterator[Remark]:
    title, gate = "What to do next", run.settings.get("gate")
    undecided = [row for row in rows if row["says"] == UNDECIDED]
    if failed:
        judges = listed(list(dict.fromkeys(within(row["judge"]) for row in failed)))
        advice = (
            f"Do not rely on {judges} in {_languages(failed)} as you did before. Audit today's"
            " scores:"
        )
        if gate:
            advice += (
                " If the change is intended, make a new baseline (--repeat 2) and write a new gate."
            )
        yield Remark(title, advice, go_on(run, "audit"))
    elif isinstance(run, Gate) and run.changed:
        expected = ", ".join(
            f'"{part}"' for part in dict.fromkeys(row["part"] for row in run.changed)
        )
        advice = (
            f"Undo the change or, if it is intended, write expected = [{expected}] above [margins]"
            f" in {gate}."
        )
        yield Remark(
            title, advice, f"metal gate {shlex.join([str(gate), str(run.settings['run'])])}"
        )
    elif undecided and undecided[0] in silent:
        yield Remark(
            title,
            f"See why answers are missing in {_case(run, undecided[0])}.",
            go_on(run, "audit"),
        )
    elif undecided:
        row = max(undecided, key=lambda row: row["needed"] if known(row["needed"]) else 0)
        needs = f"has {count(row['outputs'])} and needs about {count(row['needed'])}"
        margin = f" of {MARGINS[row['by']]}" if row["by"] in MARGINS else ""
        advice = (
            f"Have people rate more outputs: {_case(run, row)} {needs}; or declare a wider"
            f" margin{margin}."
        )
        yield Remark(title, advice, to_hand_out(run))


def _case(run: Diff, row: Row) -> str:
    """A case by name, such as `Hindi (task quality)`."""
    return f"{language_name(row['language'])} ({criterion_in_words(run, row['criterion'])})"


def scope(run: Diff) -> str:
    """What was compared, for the line above the headline."""
    return f"{judges_by_language(run, 'drift')} · baseline {within(run.baseline)}"
