"""The first screen of a comparison with a baseline: is the judge what it was, and where is it not?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.data.languages import language_name
from metal.data.text import count, estimate, known, listed, percent, percent_change, plural, within
from metal.gating.drift import BETTER, NOTED, UNDECIDED, WORSE
from metal.runs.columns import Row
from metal.runs.drift_run import FAILED, DiffRun, GateRun
from metal.show.parts import criterion_in_words, judges_by_language, places
from metal.show.view import Remark

MOST_NAMED = 4


def headline(run: DiffRun) -> str:
    """What is shown of all, and where; of a gate, what it says."""
    rows, gate = run.ranked(), isinstance(run, GateRun)
    failed = [row for row in rows if row["says"] in FAILED]
    undecided = [row for row in rows if row["says"] == UNDECIDED]
    if failed:
        return "FAIL: " * gate + _failed(run, failed)
    if isinstance(run, GateRun) and run.changed:
        parts = list(dict.fromkeys(row["part"] for row in run.changed))
        return f"FAIL: the judge is another one: its {listed(parts)} changed since the baseline."
    if undecided:
        needs = [(row["language"], row["needed"]) for row in undecided if known(row["needed"])]
        most = dict(sorted(needs))  # of each language its greatest need, which serves the others too
        over = f" over {plural(len(most), 'language')}" * (len(most) > 1)
        tells = "in all" if len(needs) == len(undecided) else f"in {len(needs)}"
        much = f"; about {count(sum(most.values()))} outputs{over} would tell {tells}" if needs else ""
        where = f"in {len(undecided)} of {plural(len(rows), 'case')} there may be one beyond the margin"
        return f"{'UNDECIDED: no' if gate else 'No'} change is shown, but {where}{much}."
    better = [row for row in rows if row["says"] == BETTER]
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    what = f"{within(judges[0])} is what it was" if len(judges) == 1 else f"{len(judges)} judges are what they were"
    gained = f", and better in {_languages(better)}" if better else ""
    of = plural(len({row["language"] for row in rows}), "language")
    margins = f"{percent(run.margins.agreement)} of agreement with people and {percent(run.margins.mean)} of the scale"
    return f"{'PASS: ' * gate}{what} in {of}, within {margins}{gained}."


def _failed(run: DiffRun, failed: Sequence[Row]) -> str:
    """The judge and criterion that were hit first, everywhere."""
    first = failed[0]
    same = [row for row in failed if all(row[key] == first[key] for key in ("judge", "criterion", "says"))]
    others = len(failed) - len(same)
    more = f" {plural(others, 'more case')} changed." if others else ""
    what = "is worse than before" if first["says"] == WORSE else "is not what it was"
    where = f"{_languages(same)} on {criterion_in_words(run, first['criterion'])}"
    why = first["why"] if len(same) == 1 else f"in {language_name(first['language'])} {first['why']}"
    return f"{within(first['judge'])} {what} in {where}: {why}.{more}"


def _languages(rows: Sequence[Row]) -> str:
    return places(list(dict.fromkeys(language_name(row["language"]) for row in rows)), MOST_NAMED)


def cards(run: DiffRun) -> Iterator[Remark]:
    """The hardest hit; what changed in the judge itself; what an undecided comparison needs."""
    rows = run.ranked()
    failed = [row for row in rows if row["says"] in FAILED]
    lost = [row for row in failed if known(row["difference"]) and row["difference"] < 0]
    if lost:
        row = min(lost, key=lambda row: row["difference"])
        yield Remark(
            "Agreement with people",
            f"Most lost in {language_name(row['language'])} ({criterion_in_words(run, row['criterion'])}): "
            f"{percent(row['agreement_after'])}, before {percent(row['agreement_before'])}, "
            f"{estimate(row, 'difference', percent_change)}.",
        )
    changed = [row for row in run.records("signature") if row["says"] != "same"]
    if changed:
        parts = list(dict.fromkeys(row["part"] for row in changed))
        noted = all(row["says"] == NOTED for row in changed)
        words = f"Changed since the baseline: {listed(parts)}."
        words += " The provider's build moved; the anchors tell." if noted else ""
        yield Remark("The judge itself", words)
    elif failed and any(row["after"] for row in run.records("signature")):
        yield Remark("The judge itself", "Model, prompt, schema and parameters are the same: the model behind moved.")
    undecided = [row for row in rows if row["says"] == UNDECIDED]
    if undecided:
        row = max(undecided, key=lambda row: row["needed"] if known(row["needed"]) else 0)
        where = f"{language_name(row['language'])} ({criterion_in_words(run, row['criterion'])})"
        needs = f"has {count(row['outputs'])} and needs about {count(row['needed'])}"
        yield Remark("What to do next", f"Have people rate more outputs: {where} {needs}; or declare a wider margin.")


def scope(run: DiffRun) -> str:
    """What was compared, for the line above the headline."""
    return f"{judges_by_language(run, 'drift')} · baseline {within(run.baseline)}"
