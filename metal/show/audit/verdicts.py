"""Every verdict of an audit: the matrix that a page begins with, and all of them in one picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap

from metal.auditing.scores import ONCE, RECALIBRATED
from metal.auditing.standing import MIN_ITEMS, MIN_SOURCES, NOTHING, THIN
from metal.auditing.verdict import (
    AS_GOOD,
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    UNDECIDED,
    UNINFORMATIVE,
    UNSURE,
    VERDICTS,
)
from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import (
    UNDEFINED,
    capital,
    known,
    listed,
    name,
    percent,
    plural,
    rounded,
    signed,
    with_minus,
    within,
)
from metal.runs.audit_run import AuditRun
from metal.runs.columns import Row
from metal.show import svg
from metal.show.view import Chart, TableView

# Sign and word of a verdict, which say it without the colour; the word is also the class in the style sheet.
SIGNS = {
    LIKE_A_PERSON: ("●", "good"),
    AS_GOOD: ("●", "good"),
    INFORMATIVE: ("◐", "some"),
    UNINFORMATIVE: ("○", "none"),
    DISAGREE: ("≠", "split"),
    UNDECIDED: ("…", "open"),
}
LEFT, STEP, INK = 142.0, 19, "#17181b"
LETTER, WIDEST = 6.6, 66.0  # of the names of languages above the cells; of a cell
WITH_WORD = 55.0  # a cell this wide has room for its word
LABEL = 23  # characters of a judge's name that fit left of the cells
MOST_DESCRIBED = 6  # judges counted one by one in the words for those who cannot see the picture

# Fill, border and dashes of a verdict's cell, as on the page; its shape and word say the same without colour.
LOOKS = {
    "good": ("#8fc0ef", "#0060a8", None),
    "some": ("#dcebfa", "#5b93c6", "4 2"),
    "none": ("#f7c79b", "#a84300", None),
    "split": ("#f3e3f5", "#8a4b94", "6 2"),
    "open": ("#e4e5e9", "#7c828e", "1.5 2"),
}


# As it is said where there is room: the six words of a verdict, by sign.
WORDS = {
    "good": "Like a person",
    "once": "Like one once recalibrated",
    "some": "Informative",
    "none": "Uninformative",
    "split": "People disagree",
    "open": "Undecided",
}
UNCERTAIN = "too uncertain"
LINE = 6.0, 76.0  # where a constant answer and a person stand on the line of a cell, 100 wide: it ends at 134%


@dataclass(frozen=True)
class VerdictCell:
    """A verdict on a judge in a language on a criterion.

    style: its look, a key of WORDS. kept: what stands below; short: the same where there is little room, and nothing
    that the verdict says already; figure: with the number of items. bar: the interval and the mark on a cell's line, as
    paths; None where the share kept is not known. reason: the whole sentence; place: its anchor on the page. lines:
    what other runs say of it.
    """

    row: Row
    style: str
    kept: str
    short: str
    figure: str
    bar: tuple[str, str] | None
    reason: str
    place: str
    lines: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        """Tells the verdict without its colour."""
        return SIGNS[self.row["verdict"]][0]

    @property
    def words(self) -> str:
        """The verdict as it is said where there is room."""
        return WORDS[self.style]

    @property
    def share_kept(self) -> str:
        """The share it keeps, for sorting; empty where that is not known."""
        return f"{self.row['share_kept']:.2f}" if known(self.row["share_kept"]) else ""

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return SIGNS[self.row["verdict"]][1]


@dataclass(frozen=True)
class JudgeVerdicts:
    """The verdicts on a judge. cells: criteria in rows, languages in columns; None where there is no verdict."""

    judge: str
    kind: str
    cells: tuple[tuple[VerdictCell | None, ...], ...]

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Style, words and number of each verdict that it got, best first."""
        styles = Counter(cell.style for row in self.cells for cell in row if cell)
        return [(style, words, styles[style]) for style, words in WORDS.items() if styles[style]]


def legend() -> list[tuple[str, str, str]]:
    """Sign, word and meaning of each verdict, best first."""
    return [(*SIGNS[verdict], verdict) for verdict in VERDICTS]


def judged_criteria(run: AuditRun) -> list[Criterion]:
    """The criteria that have verdicts."""
    have = set(run.tables["verdicts"]["criterion"])
    return [criterion for criterion in run.criteria.values() if criterion.name in have]


def by_judge(run: AuditRun) -> list[JudgeVerdicts]:
    """The verdicts on each judge, in the order of the audit; none without judges."""
    criteria, languages = judged_criteria(run), run.languages
    by = {(row["judge"], row["criterion"], row["language"]): row for row in run.records("verdicts")}
    lines: dict[tuple[str, str, str], list[str]] = {}
    for remark in run.lines:
        key = remark["judge"], remark["criterion"], remark["language"]
        lines.setdefault(key, []).append(f"{remark['question']}: {remark['line']}")
    pairs = run.records("pairs") if "pairs" in run.tables else ()
    first = {(row["judge"], row["criterion"], row["language"]): row["first_place"] for row in pairs}
    return [
        JudgeVerdicts(
            judge,
            run.raters[judge].kind if judge in run.raters else "",
            tuple(
                tuple(
                    _cell(row, criterion, f"why-{which}-{down}-{across}", lines.get(key, ()), first.get(key))
                    if (row := by.get(key := (judge, criterion.name, language)))
                    else None
                    for across, language in enumerate(languages, 1)
                )
                for down, criterion in enumerate(criteria, 1)
            ),
        )
        for which, judge in enumerate(run.judge_names, 1)
    ]


def standing(of: JudgeVerdicts) -> tuple[float, ...]:
    """Sorts judges: baselines last, then by how many good verdicts they got, then by how much they know (`merit`)."""
    cells = [cell for row in of.cells for cell in row if cell]
    counts = Counter(cell.style for cell in cells)
    merits = [merit(cell.row) for cell in cells]
    unknown = min((each for each, _ in merits), default=True)
    best = [value for each, value in merits if each == unknown] or [0.0]
    good = (-counts[style] for style in ("good", "once", "some"))
    return of.kind == "baseline", *good, unknown, sum(best) / len(best)


def merit(row: Row, end: str = "") -> tuple[bool, float]:
    """Low for a judge that keeps much of what a person knows; then, where that is unknown, is far above a constant.

    end: `_low` or `_high`, to go by that end of the interval.
    """
    share, above = row[f"share_kept{end}"], row[f"above_constant{end}"]
    return not known(share), -share if known(share) else -above if known(above) else 0.0


def _cell(row: Row, criterion: Criterion, place: str, lines: Iterable[str], first: float | None) -> VerdictCell:
    """first: of a judge of pairs, how often it chose what was shown first."""
    where = f"{within(row['judge'])}, {criterion.title}, {language_name(row['language'])}"
    reason = f"{where}: {row['verdict']}. {sentence(row['reason'])}"
    style = "once" if ONCE in row["reason"] else SIGNS[row["verdict"]][1]
    items, first_place = plural(int(row["items"]), "item"), f"first place {percent(first)}" if known(first) else ""
    keeps, short = (" · ".join(filter(None, (words, first_place))) for words in _kept(row))
    parts = (items, keeps) if row["verdict"] in (DISAGREE, UNDECIDED) else (keeps, items)
    elsewhere = tuple(map(sentence, lines))
    return VerdictCell(row, style, keeps, short, " · ".join(filter(None, parts)), _bar(row), reason, place, elsewhere)


def _kept(row: Row) -> tuple[str, str]:
    """What the judge keeps, or where it stands to a constant, or else what is missing; the same in short."""
    if row["verdict"] == UNDECIDED:
        missing = _missing(row)
        return missing, "" if known(row["items_needed"]) or missing == UNCERTAIN else missing
    if row["verdict"] == DISAGREE or not known(row["above_constant"]):
        return "", ""
    if row["verdict"] == INFORMATIVE and ONCE not in row["reason"] and RECALIBRATED in row["reason"]:
        return "only once recalibrated", "only once recalibrated"
    if known(row["share_kept"]) and row["share_kept"] >= 0:
        return f"keeps {percent(row['share_kept'])}", percent(row["share_kept"])
    if not known(row["share_kept"]) and row["above_constant"] > 0:
        above = signed(row["above_constant"])
        better = f"{above} better than a constant"
        return ("no better than a constant", "") if above == "0.00" else (better, better)
    given = "as given worse than a constant"
    return (given, given) if ONCE in row["reason"] else ("worse than a constant", "")


def _missing(row: Row) -> str:
    """What an undecided verdict lacks, in a few words; its reason has all of them."""
    lacks = {
        f"about {rounded(row['items_needed'])} needed": known(row["items_needed"]),
        NOTHING: NOTHING in row["reason"],
        "none rated by both": not row["items"],
        "too few": row["items"] < MIN_ITEMS,
        "too few sources": row["sources"] < MIN_SOURCES,
        "too few of each answer": THIN in row["reason"],
        "people may disagree": UNSURE in row["reason"],
    }
    return next((words for words, holds in lacks.items() if holds), UNCERTAIN)


def _bar(row: Row) -> tuple[str, str] | None:
    """The interval of the share kept, to the line's end where it has none, and its mark: an arrow beyond the line."""
    if not known(row["share_kept"]):
        return None
    left, right = LINE
    ends = {"share_kept_low": -math.inf, "share_kept": 0.0, "share_kept_high": math.inf}
    shares = (row[end] if known(row[end]) else unknown for end, unknown in ends.items())
    low, value, high = (left + (right - left) * share for share in shares)
    mark = "M96 1l4 5l-4 5" if value > 100 else "M4 1l-4 5l4 5" if value < 0 else f"M{value:.1f} 0v12"
    return f"M{min(max(low, 0.0), 100.0):.1f} 6H{min(high, 100.0):.1f}", mark


def sentence(words: str) -> str:
    """With a capital, a full stop, and minus signs before numbers as everywhere on the page."""
    return with_minus(capital(words)) + "." if words else UNDEFINED


def verdicts_matrix(run: AuditRun) -> Chart:
    """The verdicts as cells, each with a shape, and with a word where there is room; without judges, a note alone.

    Languages that do not fit beside each other continue below, with all judges again.
    """
    judges, languages = by_judge(run), run.languages
    criteria = [
        (name(criterion.title), [(name(of.judge), of.cells[place]) for of in judges])
        for place, criterion in enumerate(judged_criteria(run))
    ]
    meanings = {word: meaning for _, word, meaning in legend()}
    columns = ("criterion", "judge", *map(language_name, languages))
    rows = [
        (label, judge, *(capital(meanings[cell.word]) if cell else UNDEFINED for cell in cells))
        for label, of_criterion in criteria
        for judge, cells in of_criterion
    ]
    numbers = TableView.of(run, "verdicts", "Verdicts", columns, rows, heads=2)
    if not criteria:
        return Chart("verdicts", "Verdicts", "No judges took part.", "", numbers, ("No judges took part.",))

    # As many languages beside each other as fit with their names in lines, evenly over the parts.
    names = list(map(language_name, languages))
    longest = max(len(word) for words in names for word in words.split())
    narrowest = max(23.0, min(LETTER * longest + 4, WIDEST))
    parts = math.ceil(len(languages) / max((svg.WIDTH - LEFT) // narrowest, 1))
    size = math.ceil(len(languages) / parts)
    width = min((svg.WIDTH - LEFT) / size, WIDEST)
    letters = int(width / LETTER)
    head_room = svg.LINE * (max(len(wrap(words, letters)) for words in names) - 1)

    used = {cell.word for of in judges for cells in of.cells for cell in cells if cell}
    head, y = svg.legend([(_box(12, 0, 22, 12, style), meanings[style]) for style in LOOKS if style in used])
    drawn = [head]
    for label, of_criterion in criteria:
        y += 20
        drawn.append(svg.text(2, y, svg.short(label, svg.LEGEND_LENGTH)))
        for start in range(0, len(languages), size):
            for place, words in enumerate(names[start : start + size]):
                x, middle = LEFT + width * (place + 0.5), y + 14 + head_room / 2
                drawn.append(svg.lines(x, middle, words, letters, class_="soft", text_anchor="middle"))
            y += 19 + head_room
            for judge, cells in of_criterion:
                drawn.append(svg.text(8, y + 13, name(judge, LABEL), hover=judge))
                for place, cell in enumerate(cells[start : start + size]):
                    drawn.append(_drawn(cell, LEFT + width * (place + 0.5), y + STEP / 2, width - 2))
                y += STEP
    return Chart("verdicts", "Verdicts", _in_words(judges, meanings), svg.drawing(y + 6, *drawn), numbers)


def _drawn(cell: VerdictCell | None, x: float, y: float, width: float) -> str:
    """A cell of the matrix around (x, y), a dash where there is no verdict."""
    if cell is None:
        return svg.text(x, y + 4, UNDEFINED, class_="soft", anchor="middle")
    if width < WITH_WORD:
        return svg.element("g", svg.title(cell.reason), _box(x, y, width, 16, cell.word))
    word = svg.text(x - width / 2 + 18, y + 4, cell.word, class_="on")
    return svg.element("g", svg.title(cell.reason), _box(x, y, width, 16, cell.word, 9 - width / 2), word)


def _box(x: float, y: float, width: float, height: float, style: str, shift: float = 0.0) -> str:
    """A box in the look of a verdict, with its shape `shift` to the right of the middle."""
    fill, border, dashes = LOOKS[style]
    look = {"fill": fill, "stroke": border, "stroke_width": 1.2, "stroke_dasharray": dashes, "rx": 3}
    return svg.rect(x - width / 2, y - height / 2, width, height, **look) + _shape(style, x + shift, y)


def _shape(style: str, x: float, y: float) -> str:
    """A full, half or empty circle, an unequal sign, or three dots."""
    if style == "open":
        return "".join(svg.element("circle", cx=x + shift, cy=y, r=1.3, fill=INK) for shift in (-4.0, 0.0, 4.0))
    if style == "split":
        strokes = f"M{x - 4:.1f} {y - 2:.1f}h8M{x - 4:.1f} {y + 2:.1f}h8M{x - 2:.1f} {y + 5:.1f}l4 -10"
        return svg.element("path", d=strokes, fill="none", stroke=INK, stroke_width=1.4)
    fill = INK if style == "good" else "none"
    circle = svg.element("circle", cx=x, cy=y, r=4, fill=fill, stroke=INK, stroke_width=1.4)
    half = svg.element("path", d=f"M{x:.1f} {y - 4:.1f}a4 4 0 0 0 0 8z", fill=INK) if style == "some" else ""
    return circle + half


def _in_words(judges: list[JudgeVerdicts], meanings: Mapping[str, str]) -> str:
    """How many there are of each verdict, and how often each judge is as good as a person or informative."""
    words = {of.judge: Counter(cell.word for cells in of.cells for cell in cells if cell) for of in judges}
    every = sum(words.values(), Counter())
    counts = listed([f"{every[style]:,} {meaning}" for style, meaning in meanings.items() if every[style]])
    informed = [
        f"{within(judge)} in {of['good'] + of['some']} of {of.total()}"
        for judge, of in list(words.items())[:MOST_DESCRIBED]
    ]
    more = f", and {plural(len(words) - len(informed), 'more judge')}" if len(words) > len(informed) else ""
    return (
        f"Matrix of {plural(every.total(), 'verdict')}, one row per judge and criterion, one column per language: "
        f"{counts}. As good as a person or informative: {', '.join(informed)}{more}."
    )
