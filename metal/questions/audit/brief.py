"""What `metal audit` prints first: each judge's verdicts, with a row per criterion and a column per
language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from metal.auditing.verdict import LIKE_A_PERSON, UNINFORMATIVE
from metal.data.records import Criterion
from metal.data.text import UNDEFINED, capital, known, listed, name, percent, plural
from metal.questions.audit.confirmed import bad_label
from metal.questions.audit.headline import headline
from metal.questions.audit.holds import stands_together
from metal.questions.audit.judges import winners_table
from metal.questions.audit.people import kappa_table
from metal.questions.audit.places import each_place
from metal.questions.audit.run import AuditRun
from metal.questions.audit.verdicts import (
    AGREEMENT,
    MAY_MISS_BAD,
    MISSES_BAD,
    PLACE,
    SIGNS,
    WORDS,
    JudgeVerdicts,
    Place,
    VerdictCell,
    by_judge,
    judged_criteria,
    shortly_kept,
    standing,
    with_limits,
)
from metal.runs.columns import Row
from metal.show.parts import headings
from metal.show.view import Cell, TableView

MOST_ROWS = 15  # of all matrices; of more, the best judge's matrix under a line for each judge
MOST_LANGUAGES = 12  # with a row each; of more, those with the same verdicts share one
MOST_SHARED = 6  # rows of languages that share one
MOST_CELLS = 50
MOST_CRITERIA = 12
MOST_NAMED = 2  # of these
# What a percentage is, without and with the order of outputs on some scale.
PERCENT = (
    "%: its lead over always giving the same answer, as a share of a person's lead",
    "%: its lead over always giving one answer, by exact answers and by order; 100% is a person's",
)
LIMITS = "in brackets: a 90% interval"
RANGES = "%: lead over always giving one answer (90% interval); 100% is a person's lead"
# after a verdict, in this order
MARKS = LUCK, LESS, DAGGER, DOUBLE = "*", "<", "†", "‡"
AGREES_LESS = f"{LESS} agrees with people less than they agree with each other."
LESS_OR_OPEN = (
    f"{LESS} agrees less than people do; informative without {LESS}: it may agree as well."
)
UNSHOWN = f"{DOUBLE} {MAY_MISS_BAD}: not shown to find at least half as many as a person."
BOTH = f"{DAGGER} {MISSES_BAD} (finds less than half as many as a person); {DOUBLE} {MAY_MISS_BAD}."
MAY_BE_LUCK = f"{LUCK} looked at alone; among {{}} comparisons some look so by luck."
BLIND = f"{DAGGER} {MISSES_BAD}: finds less than half as many bad outputs as a person."
NO_BAD = "No label counts as bad (--bad names one), so nothing is said of finding bad outputs."
IN_WORDS = 3, 16  # criteria and cells, of which either may be exceeded; else cells have signs
Cells = Sequence[VerdictCell | None]
Columns = Sequence[tuple[str, Cells]]  # of a language each


def brief(run: AuditRun) -> Iterator[TableView]:
    """A matrix of verdicts for each judge; with many judges, a line for each and the best judge's
    matrix. Without judges, people's agreement, and who wins the pairs that they compared.
    """
    above: list[str] = []  # notes of the tables above
    judges = sorted(by_judge(run), key=standing)
    judges = [of for of in judges if of.kind != "baseline"] or judges
    if not judges:
        yield kappa_table(run)
        yield from winners_table(run)
    if len(judges) > 3 or (len(judges) > 1 and len(judges) * len(run.languages) > MOST_ROWS):
        tally, judges = _tally(run, judges), judges[:1]
        yield tally
        above += [*tally.notes, *(BLIND, UNSHOWN) * (BOTH in tally.notes)]
        above += [AGREES_LESS] * (LESS_OR_OPEN in tally.notes)
    for number, of in enumerate(judges):
        matrix = _matrix(run, of)
        notes = [note for note in matrix.notes if note not in above]
        if not number:
            notes += [*[NO_BAD] * _is_without_bad_labels(run), AGREEMENT]
        yield replace(matrix, notes=tuple(notes))


def _is_without_bad_labels(run: AuditRun) -> bool:
    """Whether all judged criteria have labels, of which none is at a bad end. Answers to pairs do
    not count: they name the better output.
    """
    criteria = judged_criteria(run)
    scales = [criterion.scale for criterion in criteria]
    labels = all(scale.levels and not scale.compares for scale in scales)
    return labels and not any(bad_label(run, criterion.name) for criterion in criteria)


def _tally(run: AuditRun, judges: list[JudgeVerdicts]) -> TableView:
    """How often each judge got each verdict, best judge first."""
    lucky = _looked_at_alone(run)
    rows = [(name(of.judge), Cell(_counts(of, lucky))) for of in judges]
    of_judges = chain.from_iterable(of.verdicts for of in judges)
    notes = _what_marks_say(run, [cell for _, cell in rows], of_judges)
    return TableView.of(
        run, "verdicts", "Judges, best first", ("", ""), rows, name="tally", notes=notes, turns=True
    )


def _looked_at_alone(run: AuditRun) -> set[Place]:
    """The places of verdicts *like a person* that hold only if each is looked at alone; empty if
    there is only one case.
    """
    cells = run.judged
    _, own = stands_together(run, cells)
    return set(map(PLACE, own)) if len(cells) > 1 else set()


def _counts(of: JudgeVerdicts, lucky: Collection[Place]) -> str:
    """How often the judge got each verdict, and each mark beside it."""
    counts = []
    for style, verdict, number in of.counts:
        cells = [cell for cell in of.verdicts if cell.style == style]
        often = Counter("".join(_marks([cell], lucky) for cell in cells))
        beside = ", ".join(f"{often[mark]} {mark}" for mark in MARKS if often[mark])
        counts.append(f"{number} {verdict.lower()}" + f" ({beside})" * bool(beside))
    return ", ".join(counts)


def _marks(cells: Sequence[VerdictCell], lucky: Collection[Place]) -> str:
    """The marks of some cells with the same verdict.

    lucky: the places that are like a person only if looked at alone.
    """
    marks = {
        LUCK: any(PLACE(cell.row) in lucky for cell in cells),
        LESS: all(cell.agrees_less for cell in cells),
        DAGGER: any(cell.misses_bad for cell in cells),
    }
    marks[DOUBLE] = not marks[DAGGER] and any(cell.bad_open for cell in cells)
    return "".join(mark for mark in MARKS if marks[mark])


def _matrix(run: AuditRun, of: JudgeVerdicts) -> TableView:
    """A judge's verdicts in words, with the share that it keeps of a person's lead.

    If there are many languages, those with the same verdicts share a column.
    """
    criteria = judged_criteria(run)
    by_language = zip(*of.cells[:MOST_CRITERIA], strict=True)
    columns = [*zip(headings(run.languages), by_language, strict=True)] if criteria else []
    groups = _alike(columns, len(criteria))
    shown = groups
    if _are_many(columns, len(criteria)):
        shown = groups[: min(MOST_SHARED, MOST_CELLS // len(criteria[:MOST_CRITERIA]))]
    signs = len(criteria) > IN_WORDS[0] and len(criteria) * len(shown) > IN_WORDS[1]
    # two shares with their intervals need a whole line
    narrow = len(shown) > 1 and len(criteria) > 1
    lucky = _looked_at_alone(run)
    rows = [
        (
            name(criterion.title),
            *(
                _shared([cells[column] for _, cells in group], lucky, signs=signs, narrow=narrow)
                for group in shown
            ),
        )
        for column, criterion in enumerate(criteria[:MOST_CRITERIA])
    ]
    cells = [cell for cell in chain.from_iterable(rows) if isinstance(cell, Cell)]
    notes = [_where_good(run, columns, shown)]
    if signs:
        notes.append(_what_signs_say(columns))
    notes.append(_what_shares_say(run, criteria, cells, narrow=narrow))
    notes += _what_marks_say(run, cells, of.verdicts)
    if len(groups) < len(columns):
        notes.append("Languages with the same verdicts share a row.")
    unshown = sum(map(len, groups[len(shown) :]))
    notes.append(_what_is_left_out(unshown, len(criteria[MOST_CRITERIA:])))
    heads = ("", *(_called([language for language, _ in group]) for group in shown))
    title, remarks = f"Verdicts on {name(of.judge)}", filter(None, notes)
    return TableView.of(run, "verdicts", title, heads, rows, notes=remarks, turns=True)


def _are_many(columns: Columns, criteria: int) -> bool:
    """Whether languages with the same verdicts share a column."""
    return len(columns) > MOST_LANGUAGES or len(columns) * criteria > MOST_CELLS


def _alike(columns: Columns, criteria: int) -> list[Columns]:
    """Group the columns: one per language or, if there are many, languages with the same verdicts
    together, the largest group first.
    """
    alike: dict[Any, list[tuple[str, Cells]]] = {}
    many = _are_many(columns, criteria)
    for language, cells in columns:
        verdicts = tuple(cell.words if cell else UNDEFINED for cell in cells)
        alike.setdefault(verdicts if many else language, []).append((language, cells))
    return sorted(alike.values(), key=len, reverse=True)


def _where_good(run: AuditRun, columns: Columns, shown: Sequence[Columns]) -> str:
    """The languages in which the judge is best; empty if the columns' headings name all of them."""
    few = (group for group in shown if len(group) <= MOST_NAMED + 1)
    named = {language for language, _ in chain.from_iterable(few)}
    rows, unnamed = [], False
    for language, cells in columns:
        of_language = [dict(cell.row) for cell in filter(None, cells)]
        good = [row for row in of_language if row["verdict"] == run.best_verdict]
        unnamed |= bool(good) and language not in named
        rows += good
    return f"{capital(run.best_verdict)}: {each_place(run, rows)}." if unnamed else ""


def _what_signs_say(columns: Columns) -> str:
    """The meaning of each sign, from the best verdict to the worst."""
    cells = [cell for _, of in columns for cell in filter(None, of)]
    shapes = {(list(WORDS).index(cell.style), *_sign(cell)) for cell in cells}
    return f"{'; '.join(f'{sign} {meaning}' for _, sign, meaning in sorted(shapes))}."


def _what_shares_say(
    run: AuditRun, criteria: Sequence[Criterion], cells: Sequence[Cell], *, narrow: bool
) -> str:
    """The meaning of percentages and brackets; empty if there are none."""
    meant = []
    shares = any("%" in cell.below for cell in cells)
    if shares:
        meant.append(PERCENT[any("order" in cell.below for cell in cells)])
    if narrow and any("%" in cell.text for cell in cells):
        meant.append(RANGES)
    on_lines = {not criterion.scale.levels for criterion in criteria}
    if shares and len(on_lines) > 1:
        meant.append("for scores, one share")
    if any("[" in text for text in (headline(run), *(cell.below for cell in cells))):
        meant.append(LIMITS)
    return capital(f"{'; '.join(meant)}.") if meant else ""


def _what_is_left_out(languages: int, criteria: int) -> str:
    more = [plural(languages, "language")] * bool(languages)
    more += [plural(criteria, "criterion", "criteria")] * bool(criteria)
    return f"With -v also: {' and '.join(more)} more." if more else ""


def _what_marks_say(
    run: AuditRun, cells: Sequence[Cell], verdicts: Iterable[VerdictCell]
) -> list[str]:
    """The meanings of the marks in some cells, which show these verdicts."""
    marks = {mark for mark in MARKS if any(mark in cell.text for cell in cells)}
    notes = [MAY_BE_LUCK.format(f"{len(run.judged):,}")] * (LUCK in marks)
    if LESS in marks:
        may_agree = any(cell.style == "some" and not cell.agrees_less for cell in verdicts)
        notes.append(LESS_OR_OPEN if may_agree else AGREES_LESS)
    if {DAGGER, DOUBLE} <= marks:
        return [*notes, BOTH]
    return notes + [note for note in (BLIND, UNSHOWN) if note[0] in marks]


def _sign(cell: VerdictCell) -> tuple[str, str]:
    """The sign of a verdict, and its words.

    A verdict that holds only after recalibration also shows the sign of the verdict without it.
    """
    verdict = cell.words.lower()
    if cell.style == "once":
        return f"{cell.sign}→{SIGNS[LIKE_A_PERSON][0]}", verdict
    if "recalibrated" in cell.short:
        return f"{SIGNS[UNINFORMATIVE][0]}→{cell.sign}", f"{verdict}, {cell.short}"
    return cell.sign, verdict


def _called(languages: list[str]) -> str:
    """The names of some languages: `Hindi`, or `Bangla, Hindi and 12 more`."""
    languages = [*map(name, languages)]
    more = len(languages) - MOST_NAMED
    return (
        listed(languages) if more <= 1 else f"{', '.join(languages[:MOST_NAMED])} and {more} more"
    )


def _shared(cells: Cells, lucky: Collection[Place], *, signs: bool, narrow: bool) -> Cell | str:
    """One entry for languages with equal verdicts: the verdict and the share that the judge keeps.

    signs: write signs instead of words. narrow: write only the interval of the share.
    """
    first = cells[0]
    if not first:
        return UNDEFINED
    have = [*filter(None, cells)]
    marks = _marks(have, lucky)
    if signs:
        return Cell(f"{_sign(first)[0]}{marks}", mark=first.style)
    rows = [cell.row for cell in have]
    shorts = {cell.short for cell in have}
    shares = all(short[:1].isdigit() or short.startswith("order") for short in shorts)
    if shares and narrow:
        return Cell(f"{first.words} {_limits(rows)}".rstrip() + marks, mark=first.style)
    ends = next(iter(shorts)) if len(shorts) == 1 else ""
    if shares and len(shorts) > 1:
        ends = shortly_kept(first.row, lambda column: _least_to_most(rows, column))
    return Cell(f"{first.words}{marks}", ends, first.style)


def _limits(rows: Sequence[Row]) -> str:
    """The limits of the share kept, such as `55–90%`; of several rows, the lowest and the highest
    limit.
    """
    rows = [row for row in rows if known(row["share_kept"])]
    lows, highs = ([row[f"share_kept_{end}"] for row in rows] for end in ("low", "high"))
    if not rows or not (all(map(known, lows)) or all(map(known, highs))):
        return ""
    if not all(map(known, lows)):
        return f"≤{percent(max(highs))}"
    if not all(map(known, highs)):
        return f"≥{percent(min(lows))}"
    least, most = percent(min(lows)), percent(max(highs))
    return f"{least[:-1]} to {most}" if min(lows) < 0 else f"{least[:-1]}–{most}"


def _least_to_most(rows: Sequence[Row], column: str) -> str:
    """The range of a figure over the rows, such as `37–72% [20%, 95%]`, with the lowest and the
    highest limit; one figure if all rows are equal.
    """
    rows = [row for row in rows if known(row.get(column))]
    shares = [row[column] for row in rows]
    ends = {"low": min, "high": max}
    limits = {
        f"{column}_{end}": most([row[f"{column}_{end}"] for row in rows])
        for end, most in ends.items()
    }
    least, most = percent(min(shares)), percent(max(shares))
    highest = with_limits({column: max(shares), **limits}, column)
    return highest if least == most else f"{least[:-1]}–{highest}"
