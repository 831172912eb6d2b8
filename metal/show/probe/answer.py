"""The first screen of a report on probes: in which languages a judge is blind to what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.auditing.scored_outputs import UNKNOWN
from metal.data.languages import language_name
from metal.data.text import listed, plural, within
from metal.fairness.probes import AGAINST, ALL_CERTAIN, BLIND, LURED, MOVED
from metal.runs.columns import Row
from metal.runs.probe_run import ProbeRun
from metal.show.parts import criterion_in_words, judges_by_language
from metal.show.view import Remark

MOST_NAMED = 3
DOES = {BLIND: "is blind", LURED: "is lured", MOVED: "is moved"}
BY = {BLIND: "to", LURED: "by", MOVED: "by"}


def headline(run: ProbeRun) -> str:
    """In which languages the judge is blind to what; else by what it is lured or moved."""
    rows = run.records("probes")
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    for says in AGAINST:
        against = [row for row in rows if row["says"] == says]
        if not against:
            continue
        counts = {judge: sum(row["judge"] == judge for row in against) for judge in judges}
        worst = max(judges, key=lambda judge: counts[judge])
        own = [row for row in against if row["judge"] == worst]
        others = sum(count > 0 for count in counts.values()) - 1
        more = f" So {'is' if others == 1 else 'are'} {plural(others, 'more judge')}." if others else ""
        return f"{within(worst)} {DOES[says]} in {_languages(own)}, {BY[says]} {_changes(own)}.{more}"
    who = within(judges[0]) if len(judges) == 1 else f"any of {len(judges)} judges"
    languages = plural(len({row["language"] for row in rows}), "language")
    return f"Nothing is shown against {who} in {languages}, which does not show that it can judge."


def lead(run: ProbeRun) -> str:
    """What the figures of the table are."""
    return (
        "Without a sign: how often the judge scores the text as it was above the changed one, 1 always, 0.5 by chance. "
        "With a sign: how far the change moves its score."
    )


def _languages(rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(language_name(row["language"]) for row in rows))
    more = [f"{len(names) - MOST_NAMED} more languages"] if len(names) > MOST_NAMED + 1 else []
    return listed([*names[:MOST_NAMED], *more] if more else names)


def _changes(rows: Sequence[Row]) -> str:
    """What was changed, those first that were said most often."""
    names = [row["what"] for row in rows]
    together = ALL_CERTAIN["what"]
    ordered = sorted(dict.fromkeys(names), key=lambda what: (what != together, -names.count(what)))
    more = [f"{len(ordered) - MOST_NAMED} more changes"] if len(ordered) > MOST_NAMED + 1 else []
    return listed([*ordered[:MOST_NAMED], *more] if more else ordered)


def cards(run: ProbeRun) -> Iterator[Remark]:
    """What lures the judge, what is open, what to do next."""
    rows = run.records("probes")
    for says, title in ((LURED, "Lured"), (MOVED, "Moved by what does not matter")):
        against = [row for row in rows if row["says"] == says]
        if against and any(row["says"] == BLIND for row in rows):
            where = ((within(row["judge"]), criterion_in_words(run, row["criterion"])) for row in against)
            lines = [f"{judge}, {on}: {row['line']}" for (judge, on), row in zip(where, against, strict=True)]
            more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
            yield Remark(title, f"{'; '.join(lines[:MOST_NAMED])}{more}.")
    open_rows = sum(row["says"] == UNKNOWN for row in rows)
    if open_rows:
        yield Remark("Open", f"In {open_rows:,} of {plural(len(rows), 'case')} nothing can be said; the table has why.")
    blind = {language_name(row["language"]) for row in rows if row["says"] == BLIND}
    words = "Let people rate a sample in each language; `metal audit` says what the judge is worth."
    if blind:
        words = f"Do not use the judge alone in {listed(sorted(blind))}; let people rate there."
    yield Remark("What to do next", words)


def scope(run: ProbeRun) -> str:
    """What was compared, for the line above the headline."""
    changes = plural(run.tables["probes"]["condition"].nunique(), "change")
    return f"{judges_by_language(run, 'probes')} · {changes}"
