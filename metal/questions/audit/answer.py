"""The first screen of an audit: may this judge be trusted, in which language, and for what."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from metal.auditing.clauses import MIN_COVERAGE
from metal.auditing.own_outputs import PREFERS
from metal.auditing.standing import NOTHING
from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON
from metal.data.languages import UNNAMED
from metal.data.people import people_in
from metal.data.text import (
    capital,
    coverage,
    estimate,
    figure,
    known,
    listed,
    percent,
    plural,
    printable,
    signed,
    within,
)
from metal.questions.audit.confirmed import (
    ADJUDICATED,
    DECISIONS,
    OPEN,
    bad_label,
    doubt_of,
    hardly_confirmed_cases,
    to_do,
)
from metal.questions.audit.headline import headline as headline
from metal.questions.audit.headline import opening as opening
from metal.questions.audit.headline import rank
from metal.questions.audit.holds import Cells, alone, of_judge
from metal.questions.audit.lead import lead as lead
from metal.questions.audit.places import MOST_NAMED, place
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import KEY, PLACE, by_judge, standing
from metal.runs.run import DISQUALIFIES, NOTED, WARNS
from metal.show.parts import OR, data_of, go_on, in_a_folder, standard_table
from metal.show.view import Remark

DECIDED = "adjudicated: "  # begins these lines
HIGH_F1 = 0.7
FEW = 10  # outputs; on fewer, no F1 looks good
NEAR = 4.0  # times the items now: a case that more ratings may well decide
LITTLE = 0.03  # above the F1 of the most frequent answer
GOOD_ALPHA = 0.8  # of people, by Krippendorff's custom
NOT_WHO_IS_RIGHT = (
    "Agreement cannot show who is right where people hardly confirm each other. Let somebody who"
    f" knows decide {DECISIONS} outputs per case on which judge and people differ:"
)
MORE_IN_VAIN = "More ratings alone would not show that a judge is like a person."
ONE_PERSON_ONLY = "One person per output cannot show whether a judge is like a person."
LABELS = 40  # of people for each language, beside which a judge's scores help
CORRECT = (
    "More ratings would not make a judge like a person. To try if people's ratings of"
    f" {LABELS} sources per language, with the judge's of the rest, give people's mean:"
)
SECOND_PERSON = 60  # items of each language that a second person is to rate


def scope(run: AuditRun) -> str:
    """What was compared, for the line above the headline."""
    people = len(people_in(run.raters))
    compared = run.tables["verdicts" if run.judge_names else "people"]
    items = int(compared.groupby("language", observed=True)["items"].max().sum())
    judges = (
        [plural(len(run.judge_names), "judge")]
        if len(run.judge_names) != 1
        else list(run.judge_names)
    )
    named = [language for language in run.languages if language != UNNAMED]
    languages = [plural(len(named), "language")] * bool(named)
    parts = [*judges, plural(people, "person", "people"), *languages]
    return " · ".join(
        [*parts, f"{items:,} outputs {'compared' if run.judge_names else 'fully rated'}"]
    )


def cards(run: AuditRun) -> Iterator[Remark]:
    """Cards: what adjudication says, what other runs say against a good verdict, what to beware of,
    the effect of order, where people disagree, and what to do next.
    """
    cells = run.judged
    if decided := _adjudicated(run):
        yield decided
    if against := _against(run, cells):
        yield against
    if beware := _beware(run, cells):
        yield beware
    if order := _first_place(run):
        yield order
    if own := _own(run):
        yield own
    if people := _people(run, cells):
        yield people
    if not cells:
        yield from _without_judges(run)
        return
    following, doubtful = _next(run, cells), _hardly_confirmed(run, cells)
    if doubtful and not _is_adjudicated(run) and "adjudicate" not in following.command:
        yield doubtful
    yield following
    for advice, command in _of_metrics(run):
        yield Remark(OR, advice, command)


def _adjudicated(run: AuditRun) -> Remark | None:
    """What somebody who knows decided of judges, the worst first."""
    rows = sorted(
        (row for row in run.lines if row["question"] == ADJUDICATED),
        key=lambda row: (row["weight"] != DISQUALIFIES, row["weight"] == NOTED),
    )
    if not rows:
        return None
    parts = [
        f"{within(row['judge'])} {place(run, row)}: {row['line'].removeprefix(DECIDED)}"
        for row in rows[:MOST_NAMED]
    ]
    more = f" {plural(len(rows) - MOST_NAMED, 'more case')} below." if rows[MOST_NAMED:] else ""
    return Remark("Decided by somebody who knows", f"{printable('. '.join(parts))}.{more}")


def _is_adjudicated(run: AuditRun) -> bool:
    """Whether the page already shows the decisions of an adjudication."""
    return any(row["question"] == ADJUDICATED for row in run.lines)


def _against(run: AuditRun, cells: Cells) -> Remark | None:
    """Findings of other runs against judges that are like a person or informative; the gravest
    first.
    """
    good = {
        PLACE(cell): rank(cell) for cell in cells if cell["verdict"] in (LIKE_A_PERSON, INFORMATIVE)
    }
    against = [
        row
        for row in run.lines
        if row["weight"] != NOTED and row["question"] != ADJUDICATED and PLACE(row) in good
    ]
    against.sort(key=lambda row: (row["weight"] != DISQUALIFIES, *good[PLACE(row)]))
    if not against:
        return None
    first, *others = against
    more = f" {plural(len(others), 'more line')} below." if others else ""
    who = f"{within(first['judge'])} {place(run, first)}"
    sentence = f"{who}: {printable(first['line'])} ({first['question']}).{more}"
    return Remark("Other runs say", sentence)


def _beware(run: AuditRun, cells: Cells) -> Remark | None:
    """A warning about a case in which F1 looks good although the most frequent answer has as good
    an F1, or in which the judge often gives no answer.
    """
    flattered = [
        cell
        for cell in cells
        if known(cell["weighted_f1"])
        and cell["answered"] >= FEW
        and HIGH_F1 <= cell["weighted_f1"] < cell["majority_f1"] + LITTLE
    ]
    if flattered:
        top = max(flattered, key=lambda cell: cell["weighted_f1"])
        more = f" ({plural(len(flattered), 'such case')})" if len(flattered) > 1 else ""
        f1, constant = estimate(top, "weighted_f1"), estimate(top, "majority_f1")
        also = " as well" if figure(top["weighted_f1"]) == figure(top["majority_f1"]) else ""
        sentence = (
            f"{within(top['judge'])} {place(run, top)} has F1 {f1}{_of_fewer(top)}; always giving"
            f" the most frequent answer reaches {constant}{also}{more}."
        )
        return Remark("Beware of F1 alone", sentence)
    silent = [cell for cell in cells if known(cell["coverage"]) and cell["coverage"] < MIN_COVERAGE]
    if silent:
        least = min(silent, key=lambda cell: cell["coverage"])
        often = (
            f"{within(least['judge'])} answers {coverage(least['coverage'])} {place(run, least)}."
        )
        return Remark("Missing answers", often)
    return None


def _of_fewer(cell: dict[str, Any]) -> str:
    """A remark on the outputs that F1 is based on, if they are not those of the verdict."""
    counted = f" on {plural(int(cell['answered']), 'fully rated output')}"
    return counted if cell["answered"] != cell["items"] else ""


def _own(run: AuditRun) -> Remark | None:
    """The case in which a judge most prefers outputs of its own family to equally good outputs of
    others.
    """
    rows = run.records("own_outputs") if "own_outputs" in run.tables else []
    preferring = [row for row in rows if row["says"] == PREFERS]
    if not preferring:
        return None
    most = max(preferring, key=lambda row: row["preference"] / run.span(row["criterion"]))
    sentence = (
        f"{within(most['judge'])} gives outputs of its own family ({printable(most['own'])})"
        f" {estimate(most, 'preference', signed)} more than equally good ones of others,"
        f" {place(run, most)}. Cases like this: {len(preferring)} of {len(rows)}."
    )
    return Remark("Self-preference", sentence)


def _first_place(run: AuditRun) -> Remark | None:
    """How much a judge of pairs prefers the output shown first, in the case where this is
    strongest.
    """
    rows = run.records("pairs") if "pairs" in run.tables else []
    rows = [row for row in rows if row["judge"] in run.judge_names and known(row["first_place"])]
    if not rows:
        return None
    shown = [row for row in rows if row["p_adjusted"] < 0.05]
    most = max(shown or rows, key=lambda row: abs(row["first_place"] - 0.5))
    low, high = (percent(most[f"first_place_{end}"]) for end in ("low", "high"))
    sentence = (
        f"{within(most['judge'])} chooses what is shown first in {percent(most['first_place'])}"
        f" [{low}, {high}] of its choices {place(run, most)}"
    )
    if not shown:
        return Remark("The first place", f"{sentence}; it is nowhere shown to matter.")
    same = f", and gives {percent(most['swap_consistency'])} of swapped pairs the same answer"
    more = (
        f"{same if known(most['swap_consistency']) else ''} ({plural(len(shown), 'such case')} of"
        f" {len(rows)})"
    )
    return Remark("Beware of the order", f"{sentence}{more}.")


def _people(run: AuditRun, cells: Cells) -> Remark | None:
    """Where people disagree, or agree least; None if that is unknown."""
    rows = {
        (row["criterion"], row["language"]): row
        for row in run.records("people")
        if known(row["alpha"])
    }
    split = {
        (cell["criterion"], cell["language"]) for cell in cells if cell["verdict"] == DISAGREE
    } & rows.keys()
    if not rows:
        return None
    named = sorted(split)[:MOST_NAMED] or [min(rows, key=lambda key: rows[key]["alpha"])]
    cases = listed(
        [f"{place(run, rows[key])} (alpha {estimate(rows[key], 'alpha')})" for key in named]
    )
    if not split:
        least = f"{capital(cases)}. That limits how well any judge can be measured there."
        return Remark("People agree least", least) if rows[named[0]]["alpha"] < GOOD_ALPHA else None
    more = f", and {len(split) - len(named)} more" if len(split) > len(named) else ""
    return Remark(
        "People disagree",
        f"{capital(cases)}{more}. No judge can be validated there until people agree.",
    )


def _second_person(run: AuditRun) -> Remark:
    """With one person per item: the commands that hand a few outputs to a second person."""
    first, folder = in_a_folder(run)
    draw = f"metal sample {folder} --labels {SECOND_PERSON}"
    hand_out = f"metal annotate export {folder} --to html --raters 1 --drawn"
    advice = f"Have a second person rate {SECOND_PERSON} items of each language:"
    if bare := [run.criterion(name) for name in run.criteria if not run.criteria[name].question]:
        asks = f"no question is written down for {listed(bare)}; `metal criterion new` writes one"
        advice = f"{advice.removesuffix(':')} ({asks}):"
    return Remark("What to do next", advice, f"{first}{draw} && {hand_out}")


def _decide(run: AuditRun, why: str) -> Remark:
    """A remark on few outputs that somebody who knows should decide: what the decisions would tell,
    and the command that draws the outputs.
    """
    advice = (
        f"{why} To learn whether a judge is as often right as a person, let somebody who knows"
        f" decide {DECISIONS} outputs per case on which the two differ; the plan says how likely an"
        " answer is:"
    )
    return Remark("What to do next", advice, go_on(run, "adjudicate plan"))


def _without_judges(run: AuditRun) -> Iterator[Remark]:
    """What to do next if no judge took part: rank metrics and generators, or ask a judge."""
    ways = list(_of_metrics(run))
    generators = run.rankable.generators
    if generators > 1:
        advice = f"Rank the {generators} generators by people's scores:"
        ways.append((advice, go_on(run, "leaderboard")))
    if run.rankable.texts or not ways:
        command = f"metal judge {data_of(run)} --judge MODEL"
        ways.append(("Let a judge rate the same outputs:", command))
    for number, (advice, command) in enumerate(ways):
        yield Remark(OR if number else "What to do next", advice, command)


def _of_metrics(run: AuditRun) -> Iterator[tuple[str, str]]:
    """How to rank raters by agreement with people: the usual table of the field if METAL has it, or
    the board if there are metrics. Each is advice with its command.
    """
    rankable = run.rankable
    if rankable.layout:
        advice = f'Make the usual table of the field, "{rankable.title}":'
        yield advice, standard_table(run, rankable.layout)
    elif rankable.metrics:
        metrics = plural(rankable.metrics, "metric")
        yield f"Rank the {metrics} by agreement with people:", go_on(run, "billboard")


def _next(run: AuditRun, cells: Cells) -> Remark:
    """What to do next to learn more, with the command for it."""
    title = "What to do next"
    if still_open := _left_open(run):
        return still_open
    if hardly_confirmed_cases(run, cells) and not _is_adjudicated(run):
        return Remark(title, NOT_WHO_IS_RIGHT, go_on(run, "adjudicate plan"))
    if all(map(alone, cells)):
        with_levels = any(map(partial(_on_levels, run), cells))
        if with_levels and not _is_adjudicated(run):
            return _decide(run, ONE_PERSON_ONLY)
        return _second_person(run)
    if all(NOTHING in cell["reason"] for cell in cells):
        return Remark(
            title,
            "Have people rate worse outputs as well: when all get the same label, no judge can do"
            " better than always giving that answer.",
        )
    return _what_tells(run, cells)


def _left_open(run: AuditRun) -> Remark | None:
    """How to go on with cases that adjudication left open; None if there are none."""
    left = [row for row in run.lines if row["question"] == ADJUDICATED and row["weight"] == WARNS]
    plans = [plan for each in run.manifest.get("beside", ()) if (plan := each.get("plan"))]
    if not left or not plans:
        return None
    advice = f"Adjudication leaves {plural(len(left), 'case')} open. To see what would settle this:"
    command = f"metal adjudicate report {shlex.quote(plans[-1])} -v --force"
    return Remark("What to do next", advice, command)


def _on_levels(run: AuditRun, cell: Mapping[str, Any]) -> bool:
    """Whether the answers of a case are levels, which can be right or wrong."""
    return bool(run.criteria[cell["criterion"]].scale.levels)


def _what_tells(run: AuditRun, cells: Cells) -> Remark:
    """The case that would be decided by the fewest further items. If these are many, or would not
    decide it, adjudication instead, unless other runs already cover the case.
    """
    decided = _is_adjudicated(run)
    undecided = [
        cell
        for cell in cells
        if known(cell["items_needed"]) and round(cell["items_needed"]) > cell["items"]
    ]
    if not undecided:
        return _without_more_items(run, cells, decided)
    near = _nearest(run, undecided)
    what = LIKE_A_PERSON if near["verdict"] == INFORMATIVE else INFORMATIVE
    who = "it" if len(run.judge_names) == 1 else within(near["judge"])
    needed, now = near["items_needed"], near["items"]
    odds = (
        f"About {needed:,.0f} items (now {now:,.0f}) give even odds of showing that {who} is {what}"
        f" {place(run, near)}."
    )
    if needed - now > DECISIONS and _on_levels(run, near) and not decided:
        return replace(_decide(run, odds), cell=_named(near))
    return Remark(
        "What to do next", f"{odds} To plan every case:", go_on(run, "design"), _named(near)
    )


def _nearest(run: AuditRun, cells: Cells) -> Mapping[str, Any]:
    """The case that the fewest further items would decide, of the best judge that has one near."""

    def more(cell: Mapping[str, Any]) -> float:
        return float(cell["items_needed"] / cell["items"])

    near = [cell for cell in cells if more(cell) <= NEAR] or cells
    best_first = [of.judge for of in sorted(by_judge(run), key=standing)]
    best = min((cell["judge"] for cell in near), key=best_first.index)
    return min(of_judge(best, near), key=more)


def _without_more_items(run: AuditRun, cells: Cells, decided: bool) -> Remark:
    """What to do next if more items are not known to decide any case.

    decided: whether the page already shows the decisions of an adjudication.
    """
    informative = [cell for cell in cells if cell["verdict"] == INFORMATIVE]
    if not decided and any(map(partial(_on_levels, run), informative)):
        return _decide(run, MORE_IN_VAIN)
    if all(cell.get("not_like") and not _on_levels(run, cell) for cell in cells):
        return Remark("What to do next", CORRECT, f"{go_on(run, 'correct')} --labels {LABELS}")
    advice = "To see what more ratings would settle:"
    return Remark("What to do next", advice, go_on(run, "design"))


def _named(cell: Mapping[str, Any]) -> dict[str, str]:
    """The names of a case's judge, criterion and language."""
    return {key: str(cell[key]) for key in KEY}


def _hardly_confirmed(run: AuditRun, cells: Cells) -> Remark | None:
    """A remark on where people hardly confirm each other's labels, so that agreement with them
    cannot show who is right.
    """
    doubts: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
    for cell in cells:
        doubt = ""
        if "confirmed" in cell and cell["verdict"] != DISAGREE:  # which is said already
            doubt = doubt_of(cell, bad_label(run, cell["criterion"]))
        if doubt:
            doubts.setdefault((cell["criterion"], cell["language"]), (cell, doubt))
    if not doubts:
        return None
    worst, doubt = min(doubts.values(), key=_confirmed)
    more = f" ({plural(len(doubts), 'such case')})" if len(doubts) > 1 else ""
    hardly = "may hardly" if OPEN in doubt else "hardly"
    return Remark(
        f"People {hardly} confirm each other",
        f"{capital(place(run, worst))}, {doubt}{more}; {to_do()}:",
        go_on(run, "adjudicate plan"),
        _named(worst),
    )


def _confirmed(doubt: tuple[dict[str, Any], str]) -> float:
    shares = doubt[0]["confirmed"], doubt[0]["confirmed_bad"]
    return float(min(filter(known, shares)))
