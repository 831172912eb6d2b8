"""The first screen of an audit: may this judge be trusted, in which language, for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from metal.auditing.own_outputs import PREFERS
from metal.auditing.scores import ONCE
from metal.auditing.standing import NOTHING
from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON, UNDECIDED, UNINFORMATIVE, VERDICTS, today
from metal.data.languages import language_name
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
from metal.runs.audit_run import AuditRun
from metal.runs.run import DISQUALIFIES, NOTED
from metal.show.audit.verdicts import merit
from metal.show.parts import case_of, criterion_in_words, data_of, go_on
from metal.show.view import Remark
from metal.stats.significance import binomial_cdf

ERROR = 0.05  # of a verdict *as good as a person*, and of how many of them chance may give
HIGH_F1 = 0.7
LITTLE = 0.03  # above the F1 of the most frequent answer
LOW_COVERAGE = 0.95
GOOD_ALPHA = 0.8  # of people, by Krippendorff's custom
SHOWN = 0.005  # less is 0% in words
MOST_NAMED = 3
Cells = Sequence[dict[str, Any]]
PLACE = itemgetter("judge", "language", "criterion")


def place(run: AuditRun, cell: dict[str, Any]) -> str:
    """`on task quality in Hindi`"""
    return f"on {case_of(run, cell)}"


def rank(cell: dict[str, Any], end: str = "") -> tuple[int, bool, float]:
    """Low for a good verdict and, among equal verdicts, for a judge that knows much (`merit`)."""
    return VERDICTS.index(today(cell["verdict"])), *merit(cell, end)


def knows(cell: dict[str, Any]) -> str:
    """What the judge keeps of what a person knows, or how far above a constant it is, with its interval."""
    if ONCE in cell["reason"]:
        return "is as good as a person once recalibrated"
    if known(cell["share_kept"]) and cell["share_kept"] < 0:
        return "is below a constant answer as given"
    if known(cell["share_kept"]):
        return f"keeps {estimate(cell, 'share_kept', percent)} of what one knows"
    return f"is {estimate(cell, 'above_constant', signed)} above a constant answer"


def _by_chance(cells: Cells) -> int:
    """How many of the cases may be *as good as a person* by chance alone: no more in 19 of 20 audits.

    Where a judge was compared with people, chance gives that verdict in 5% at most.
    """
    compared = sum(known(cell["below_person"]) for cell in cells)
    return int((binomial_cdf(compared, ERROR).round(9) < 1 - ERROR).sum())


def headline(run: AuditRun) -> str:
    """The answer in a sentence."""
    cells = run.judged
    if not cells:
        return "Only the people were compared: no judge took part."
    judges = list(dict.fromkeys(cell["judge"] for cell in cells))
    who = within(judges[0]) if len(judges) == 1 else f"None of the {len(judges)} judges"
    good = [cell for cell in cells if cell["verdict"] == LIKE_A_PERSON]
    if good:
        return _good(run, cells, good, judges)
    nearest = min(cells, key=partial(rank, end="_low"))  # the surest: a wide interval makes no best case
    if nearest["verdict"] == INFORMATIVE:
        where = place(run, nearest)
        if len(judges) > 1:
            surest = f"the surest case is {within(nearest['judge'])} {where}: it {knows(nearest)}"
            return f"{who} is shown to be as good as a person; {surest}."
        if len(cells) == 1:
            return f"{who} is not shown to be as good as a person {where}: it {knows(nearest)}."
        surest = f"the surest case is {case_of(run, nearest)}: it {knows(nearest)}"
        return f"{who} is nowhere shown to be as good as a person; {surest}."
    verdicts = {cell["verdict"] for cell in cells}
    if verdicts == {UNDECIDED}:
        whom = who if len(judges) == 1 else f"any of the {len(judges)} judges"
        nothing = all(NOTHING in cell["reason"] for cell in cells)
        why = f"there is {NOTHING} in people's ratings" if nothing else "the ratings are too few or too uncertain"
        return f"Whether {whom} can be trusted is still undecided: {why}."
    if DISAGREE in verdicts and UNINFORMATIVE not in verdicts:
        return f"Nobody can be judged here: people disagree among themselves {_cases(run, cells, DISAGREE)}."
    return f"{who} is{' nowhere' if len(judges) == 1 else ''} shown to know more than a constant answer does."


def _good(run: AuditRun, cells: Cells, good: Cells, judges: Sequence[str]) -> str:
    """The headline where some judge is as good as a person somewhere."""
    wins = Counter(cell["judge"] for cell in good)
    best, most = wins.most_common(1)[0]
    total = sum(cell["judge"] == best for cell in cells)
    name = within(best)
    where = _where(run, [cell for cell in good if cell["judge"] == best])
    share = f"in {'all ' if most == total else ''}{most if most == total else f'{most} of {total}'} cases"
    if len(good) <= _by_chance(cells):
        count = f"{len(good):,} of {plural(len(cells), 'case')}"
        if len(wins) == 1 and most <= MOST_NAMED:
            return f"{name} looks as good as a person {where}: {count}, no more than chance may give."
        return f"{count} look as good as a person, no more than chance may give."
    praise = f"as good as a person {where if most <= MOST_NAMED or total == 1 else share}"
    elsewhere = "" if most == total else ", and nowhere else" if most <= MOST_NAMED else ""
    if len(judges) == 1:
        return f"{name} is {praise}{elsewhere}."
    if len(wins) == 1:
        cases = where if most <= MOST_NAMED else share
        return f"Of {len(judges)} judges only {name} is shown to be as good as a person: {cases}."
    if list(wins.values()).count(most) > 1:
        cases = f"In {len(good):,} of {plural(len(cells), 'case')} a judge is as good as a person"
        return f"{cases}, none of the {len(judges)} in more than {most}."
    return f"{name} is as good as a person {share}, more often than any other of the {len(judges)} judges."


def _where(run: AuditRun, cells: Cells) -> str:
    """`on task quality in Hindi and Tamil`; a number where these are many."""
    return f"in {len(cells)} cases" if len(cells) > MOST_NAMED else each_place(run, cells)


def each_place(run: AuditRun, cells: Cells) -> str:
    """`on task quality in Hindi and Tamil`, however many these are."""
    by_criterion: dict[str, list[str]] = {}
    for cell in cells:
        by_criterion.setdefault(cell["criterion"], []).append(language_name(cell["language"]))
    return listed(
        [f"on {criterion_in_words(run, criterion)} in {listed(names)}" for criterion, names in by_criterion.items()]
    )


def _cases(run: AuditRun, cells: Cells, verdict: str) -> str:
    distinct = list(
        {(cell["criterion"], cell["language"]): cell for cell in cells if cell["verdict"] == verdict}.values()
    )
    return _where(run, distinct)


def lead(run: AuditRun) -> str:
    """How often there is each verdict, in plain words."""
    cells = run.judged
    if len(cells) < 2:
        return ""
    counts = Counter(ONCE if ONCE in cell["reason"] else cell["verdict"] for cell in cells)
    who = "it" if len({cell["judge"] for cell in cells}) == 1 else "a judge"
    chance = _by_chance(cells)
    shown = counts[LIKE_A_PERSON] > chance
    says = {
        LIKE_A_PERSON: f"{who} {'is' if shown else 'looks'} as good as a person",
        ONCE: f"{who} is as good as a person once recalibrated",
        INFORMATIVE: f"{who} is informative, but not shown to be as good",
        UNINFORMATIVE: f"{who} tells no more than a constant answer would",
        DISAGREE: "people disagree among themselves",
        UNDECIDED: "nothing can be said yet",
    }
    parts = [f"in {counts[verdict]:,} {words}" for verdict, words in says.items() if counts[verdict]]
    words = f"Of {len(cells):,} cases, {'; '.join(parts)}."
    if len(parts) == 1:
        words = f"In all {len(cells):,} cases {says[next(iter(counts))]}."
    if counts[LIKE_A_PERSON] and chance:
        few = f"At most about {chance:,} of those as good may be so by chance."
        words += f" {few if shown else f'Chance alone may make {counts[LIKE_A_PERSON]:,} look as good.'}"
    most = run.tables["picked"]["optimism"].max() if "picked" in run.tables else 0.0
    if most >= SHOWN:
        points = plural(round(100 * most), "percentage point")
        words += f" The judge that looks best in a case may be the luckiest: up to {points} of what it keeps are luck."
    if "; the surest case is " in headline(run):
        words += " The surest case is the one whose 90% interval begins highest."
    return words


def scope(run: AuditRun) -> str:
    """What was compared, for the line above the headline."""
    people = sum(rater.kind == "human" for rater in run.raters.values())
    compared = run.tables["verdicts" if run.judge_names else "people"]
    items = int(compared.groupby("language", observed=True)["items"].max().sum())
    judges = [plural(len(run.judge_names), "judge")] if len(run.judge_names) != 1 else list(run.judge_names)
    parts = [*judges, plural(people, "person", "people"), plural(len(run.languages), "language")]
    return " · ".join([*parts, f"{items:,} outputs {'compared' if run.judge_names else 'with a full panel'}"])


def cards(run: AuditRun) -> Iterator[Remark]:
    """What other runs say against a good verdict, beware, what order does, where people disagree, what to do next."""
    cells = run.judged
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
    yield _next(run, cells)


def _against(run: AuditRun, cells: Cells) -> Remark | None:
    """What runs given beside say against judges that are as good as a person, or informative; the gravest first."""
    good = {PLACE(cell): rank(cell) for cell in cells if cell["verdict"] in (LIKE_A_PERSON, INFORMATIVE)}
    against = [row for row in run.lines if row["weight"] != NOTED and PLACE(row) in good]
    against.sort(key=lambda row: (row["weight"] != DISQUALIFIES, *good[PLACE(row)]))
    if not against:
        return None
    first, *others = against
    more = f" {plural(len(others), 'more line')} below." if others else ""
    who = f"{within(first['judge'])} {place(run, first)}"
    words = f"{who}: {printable(first['line'])} ({first['question']}).{more}"
    return Remark("Other runs say", words)


def _beware(run: AuditRun, cells: Cells) -> Remark | None:
    """A case where F1 looks good and the most frequent answer's is as good, or where the judge is often silent."""
    flattered = [
        cell
        for cell in cells
        if known(cell["weighted_f1"]) and HIGH_F1 <= cell["weighted_f1"] < cell["majority_f1"] + LITTLE
    ]
    if flattered:
        top = max(flattered, key=lambda cell: cell["weighted_f1"])
        more = f" ({plural(len(flattered), 'such case')})" if len(flattered) > 1 else ""
        f1, constant = figure(top["weighted_f1"]), figure(top["majority_f1"])
        also = " as well" if f1 == constant else ""
        words = (
            f"{within(top['judge'])} {place(run, top)} has F1 {f1}{_of_fewer(top)}; giving the most frequent answer "
            f"to everything, unread, reaches {constant}{also}{more}."
        )
        return Remark("Beware of F1 alone", words)
    silent = [cell for cell in cells if known(cell["coverage"]) and cell["coverage"] < LOW_COVERAGE]
    if silent:
        least = min(silent, key=lambda cell: cell["coverage"])
        often = f"{within(least['judge'])} answers {coverage(least['coverage'])} {place(run, least)}."
        return Remark("Beware of silence", often)
    return None


def _of_fewer(cell: dict[str, Any]) -> str:
    """Of how many outputs F1 is, where the verdict is of others."""
    counted = f" on {plural(int(cell['answered']), 'output')} with a full panel"
    return counted if cell["answered"] != cell["items"] else ""


def _own(run: AuditRun) -> Remark | None:
    """Where a judge gives most to its own family's outputs, beyond equally good ones of others."""
    rows = run.records("own_outputs") if "own_outputs" in run.tables else []
    preferring = [row for row in rows if row["says"] == PREFERS]
    if not preferring:
        return None
    most = max(preferring, key=lambda row: row["preference"] / run.span(row["criterion"]))
    words = (
        f"{within(most['judge'])} gives outputs of its own family ({printable(most['own'])}) "
        f"{estimate(most, 'preference', signed)} more than equally good ones of others, {place(run, most)} "
        f"({plural(len(preferring), 'such case')} of {len(rows)})."
    )
    return Remark("Beware of its own", words)


def _first_place(run: AuditRun) -> Remark | None:
    """How much a judge of pairs prefers whichever is shown first, where that is furthest from not at all."""
    rows = run.records("pairs") if "pairs" in run.tables else []
    rows = [row for row in rows if row["judge"] in run.judge_names and known(row["first_place"])]
    if not rows:
        return None
    shown = [row for row in rows if row["p_adjusted"] < 0.05]
    most = max(shown or rows, key=lambda row: abs(row["first_place"] - 0.5))
    low, high = (percent(most[f"first_place_{end}"]) for end in ("low", "high"))
    words = (
        f"{within(most['judge'])} chooses what is shown first in {percent(most['first_place'])} [{low}, {high}] "
        f"of its choices {place(run, most)}"
    )
    if not shown:
        return Remark("The first place", f"{words}; nowhere is it shown to matter.")
    same = f", and gives {percent(most['swap_consistency'])} of swapped pairs the same answer"
    more = f"{same if known(most['swap_consistency']) else ''} ({plural(len(shown), 'such case')} of {len(rows)})"
    return Remark("Beware of the order", f"{words}{more}.")


def _people(run: AuditRun, cells: Cells) -> Remark | None:
    """Where people disagree, or agree least; None where that is unknown."""
    rows = {(row["criterion"], row["language"]): row for row in run.records("people") if known(row["alpha"])}
    split = {(cell["criterion"], cell["language"]) for cell in cells if cell["verdict"] == DISAGREE} & rows.keys()
    if not rows:
        return None
    named = sorted(split)[:MOST_NAMED] or [min(rows, key=lambda key: rows[key]["alpha"])]
    where = listed([f"{place(run, rows[key])} (alpha {figure(rows[key]['alpha'])})" for key in named])
    if not split:
        least = f"{capital(where)}: no judge can be measured better there than that."
        return Remark("People agree least", least) if rows[named[0]]["alpha"] < GOOD_ALPHA else None
    more = f", and {len(split) - len(named)} more" if len(split) > len(named) else ""
    return Remark("People disagree", f"{capital(where)}{more}. No judge can be validated there before people agree.")


def _next(run: AuditRun, cells: Cells) -> Remark:
    """The case where the fewest further items would decide, and the command that plans them."""
    title = "What to do next"
    if not cells:
        return Remark(
            title,
            "Let a judge rate the same outputs:",
            f"metal judge {data_of(run)} --judge MODEL",
        )
    undecided = [cell for cell in cells if known(cell["items_needed"]) and round(cell["items_needed"]) > cell["items"]]
    if all(NOTHING in cell["reason"] for cell in cells):
        return Remark(title, "Have worse outputs rated, too: where all are alike, no judge is told from a constant.")
    differ = any(cell["weighted_f1"] != 1 for cell in cells)
    read = "Read where judge and people differ. " if differ else ""
    words = f"{read}What more ratings decide:"
    if undecided:
        near = min(undecided, key=lambda cell: cell["items_needed"] / cell["items"])
        what = LIKE_A_PERSON if near["verdict"] == INFORMATIVE else INFORMATIVE
        words = (
            f"About {near['items_needed']:,.0f} items (now {near['items']:,.0f}) would tell half the time whether "
            f"{within(near['judge'])} is {what} {place(run, near)}. To tell 4 times in 5, every case needs:"
        )
    return Remark(title, words, go_on(run, "design"))
