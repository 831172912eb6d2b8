"""The first screen of a report on probes: in which languages a judge is blind, and to which
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from metal.auditing.scored_outputs import UNKNOWN
from metal.data.grouping import grouped
from metal.data.languages import language_name
from metal.data.text import listed, plural, within
from metal.questions.probe.compute import AGAINST, ALL_CERTAIN, BLIND, LURED, MOVED, SHOWN
from metal.questions.probe.run import ProbeReport
from metal.runs.columns import Row
from metal.show.parts import criterion_in_words, judges_by_language, to_hand_out
from metal.show.view import Remark

MOST_NAMED = 3
DOES = {BLIND: "is blind", LURED: "is lured", MOVED: "is moved"}
BY = {BLIND: "to", LURED: "by", MOVED: "by"}


def headline(run: ProbeReport) -> str:
    """Say in which languages the judge is blind, and to what; else what raises or moves its scores.
    Then name other judges.
    """
    rows = run.records("probes")
    for says in AGAINST:
        if against := _by_judge(row for row in rows if row["says"] == says):
            return _said_against(says, against)
    judges, languages = ({row[key] for row in rows} for key in ("judge", "language"))
    who = within(*judges) if len(judges) == 1 else f"any of {len(judges)} judges"
    judge = "it" if len(judges) == 1 else "they"
    rated_in = plural(len(languages), "language")
    return f"No fault is shown for {who} in {rated_in}. This does not prove that {judge} can judge."


def _said_against(says: str, against: Mapping[str, Sequence[Row]]) -> str:
    """Say where a conclusion holds for the first judge, and for which other judges.

    against: the rows by judge.
    """
    (judge, own), *others = against.items()
    by_language: dict[str, set[str]] = {}
    for row in own:
        by_language.setdefault(row["language"], set()).add(row["what"])
    most = max(by_language.values(), key=len)
    alike = [row for row in own if by_language[row["language"]] == most]
    other = [row for row in own if by_language[row["language"]] != most]
    more = f" It {DOES[says]} in {_languages(other)}, too." if other else ""
    if others:
        places = [f"{within(who)} in {_languages(theirs)}" for who, theirs in others[:MOST_NAMED]]
        if len(others) > MOST_NAMED:
            places.append(plural(len(others) - MOST_NAMED, "more judge"))
        more += f" Also {says}: {'; '.join(places)}."
    in_changes = f"in {_languages(alike)}, {BY[says]} {_changes(alike)}"
    return f"{within(judge)} {DOES[says]} {in_changes}.{more}"


def _by_judge(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows grouped by judge, the judge with the most rows first."""
    by = grouped(rows, lambda row: row["judge"])
    return dict(sorted(by.items(), key=lambda of: -len(of[1])))


def _languages(rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(language_name(row["language"]) for row in rows))
    more = [f"{len(names) - MOST_NAMED} more languages"] if len(names) > MOST_NAMED + 1 else []
    return listed([*names[:MOST_NAMED], *more] if more else names)


def _changes(rows: Sequence[Row]) -> str:
    """The names of the changes, the most frequent first."""
    names = [row["what"] for row in rows]
    together = ALL_CERTAIN["what"]
    ordered = sorted(dict.fromkeys(names), key=lambda what: (what != together, -names.count(what)))
    more = [f"{len(ordered) - MOST_NAMED} more changes"] if len(ordered) > MOST_NAMED + 1 else []
    return listed([*ordered[:MOST_NAMED], *more] if more else ordered)


def cards(run: ProbeReport) -> Iterator[Remark]:
    """Cards: further changes that raise or move a judge's scores, what is undecided, and what to do
    next.
    """
    rows = run.records("probes")
    against = {says: [row for row in rows if row["says"] == says] for says in AGAINST}
    for says, title in [(LURED, "Lured"), (MOVED, "Moved by changes that do not matter")]:
        if against[says] and any(against[worse] for worse in AGAINST[: AGAINST.index(says)]):
            pairs = (
                (within(row["judge"]), criterion_in_words(run, row["criterion"]))
                for row in against[says]
            )
            lines = [
                f"{judge}, {on}: {row['line']}"
                for (judge, on), row in zip(pairs, against[says], strict=True)
            ]
            more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
            yield Remark(title, f"{'; '.join(lines[:MOST_NAMED])}{more}.")
    if counted := _open(rows):
        yield Remark(
            "Open",
            f"Of {plural(len(rows), 'case')} {' and '.join(counted)}; “All figures” has why.",
        )
    advice = _next(_by_judge(against[BLIND] + against[LURED]), _by_judge(against[MOVED]))
    yield Remark("What to do next", advice, to_hand_out(run))


def _open(rows: Sequence[Row]) -> list[str]:
    """Say how many cases are undecided, and how many can decide nothing; empty if there
    are none.
    """
    counted = []
    unsaid, undecided = (sum(row["says"] == says for row in rows) for says in (UNKNOWN, SHOWN))
    if unsaid:
        counted.append(f"{unsaid:,} {'is' if unsaid == 1 else 'are'} open")
    if undecided:
        counted.append(f"{undecided:,} decide{'s' * (undecided == 1)} nothing")
    return counted


def _next(unfit: Mapping[str, Sequence[Row]], moved: Mapping[str, Sequence[Row]]) -> str:
    """Say where a judge must not be used alone, and which kinds of text it must not get
    unchanged.
    """
    if not unfit and not moved:
        return "Have people rate a sample in each language:"
    sentences = []
    if unfit:
        places = [f"{within(judge)} alone in {_languages(rows)}" for judge, rows in unfit.items()]
        left = [plural(len(places) - MOST_NAMED, "more judge")] if len(places) > MOST_NAMED else []
        sentences.append(
            f"Do not use {'; nor '.join([*places[:MOST_NAMED], *left])}. Have people rate there."
        )
    for judge, rows in islice(moved.items(), MOST_NAMED):
        sentences.append(
            f"In {_languages(rows)}, give {within(judge)} only texts that are alike in what moves "
            f"its scores: {_changes(rows)}."
        )
    return " ".join(sentences)


def scope(run: ProbeReport) -> str:
    """What was compared, for the line above the headline."""
    changes = plural(run.tables["probes"]["condition"].nunique(), "change")
    return f"{judges_by_language(run, 'probes')} · {changes}"
