"""A language-bias audit in words: in which languages a judge leans, and what its figures mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metal.auditing.language_bias import BESIDE, EVEN, LEANS, MARGIN
from metal.data.languages import language_name
from metal.data.text import interval, known, listed, plural, signed, within
from metal.runs.bias_run import BiasRun
from metal.runs.columns import Row
from metal.show.view import Definition, Remark, define

MOST_NAMED = 4
SOURCES = {
    "Quality held equal": "Carroll et al. 2006, chapter 4",
    "Even, leans": "Schuirmann 1987; Holm 1979",
}


def headline(run: BiasRun) -> str:
    """In which languages the judge leans, and by how much."""
    rows = run.records("language_bias")
    leans = sorted((row for row in rows if row["says"] == LEANS), key=lambda row: -abs(row["lean"]) / _span(run, row))
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    if leans:
        judge, criterion = leans[0]["judge"], leans[0]["criterion"]
        own = sorted(
            (row for row in leans if (row["judge"], row["criterion"]) == (judge, criterion)),
            key=lambda row: -row["lean"],
        )
        words = [f"most lenient in {_lean(own[0])}"] if own[0]["lean"] > 0 else []
        words += [f"most severe in {_lean(own[-1])}"] if own[-1]["lean"] < 0 else []
        beside, on = ("Beside these people, ", "") if leans[0]["by"] == BESIDE else ("", " for the same contents")
        others = len(leans) - len(words)
        more = f" {plural(others, 'more case leans', 'more cases lean')}." if others else ""
        return f"{beside}{within(judge)} is {listed(words)} on {_label(run, criterion)}{on}.{more}"
    if all(row["says"] == EVEN for row in rows):
        who = within(judges[0]) if len(judges) == 1 else f"All {len(judges)} judges"
        return f"{who} {'is' if len(judges) == 1 else 'are'} even between languages, within {MARGIN:.0%} of the scale."
    unknown = sum(row["says"] not in (EVEN, LEANS) for row in rows)
    return f"No lean is shown; in {unknown} of {plural(len(rows), 'case')} it cannot be said whether there is one."


def _lean(row: Row) -> str:
    return f"{language_name(row['language'])} ({signed(row['lean'])})"


def _span(run: BiasRun, row: Row) -> float:
    """The range of the scale that a lean is on; 1 where it has no ends."""
    low, high = run.criteria[row["criterion"]].scale.ends or (0.0, 1.0)
    return high - low


def _label(run: BiasRun, criterion: str) -> str:
    words = run.criteria[criterion].label or criterion
    return within(words[:1].lower() + words[1:] if words[1:2].islower() else words)


def facts(run: BiasRun) -> dict[str, str]:
    """What the tables say beyond the headline, by what it is about."""
    rows = run.records("language_bias")
    lines = {
        "Not to be concluded": _limits(rows),
    }
    return {about: words for about, words in lines.items() if words}


def _naive(run: BiasRun, rows: Sequence[Row]) -> str:
    """Where the naive figures point the other way, or further."""
    off = [row for row in rows if known(row["gap"]) and known(row["naive_difference"])]
    if not off:
        return ""
    worst = max(off, key=lambda row: abs(row["naive_difference"] - row["gap"]) / _span(run, row))
    equal = f"{signed(worst['gap'])} {interval(worst['gap_low'], worst['gap_high'], signed)}"
    where = f"{language_name(worst['language'])} ({_label(run, worst['criterion'])})"
    naive = signed(worst["naive_difference"])
    return f"Judge minus people misses most in {where}: {naive}, where quality held equal gives {equal}."


def _blind(run: BiasRun, rows: Sequence[Row]) -> str:
    """Where a judge is not shown to tell good from bad: there, no shift is leniency."""
    blind = [row for row in rows if known(row["slope_low"]) and row["slope_low"] <= 0]
    if not blind:
        return ""
    named = [
        f"{language_name(row['language'])} ({_label(run, row['criterion'])}, {within(row['judge'])})" for row in blind
    ]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"Not shown to tell better from worse in {listed(named[:MOST_NAMED])}{more}: its shift there is no leniency."


def _limits(rows: Sequence[Row]) -> str:
    parts = ["that a judge that is even here is even on other texts"]
    if any(row["by"] == BESIDE for row in rows):
        parts.insert(0, "that the judge is biased: the people of one language may be severer than those of another")
    return f"{'; '.join(parts)}.".replace("that", "That", 1)


def remarks(run: BiasRun) -> Iterator[Remark]:
    """What naive figures would say, where the judge is blind, what to do next."""
    rows = run.records("language_bias")
    if naive := _naive(run, rows):
        yield Remark("Beware of judge minus people", naive)
    if blind := _blind(run, rows):
        yield Remark("Blind there", blind)
    if any(row["by"] == BESIDE for row in rows):
        words = (
            "To tell the judge from its people, let it rate the same contents in each language (a column `content`)."
        )
        yield Remark("What to do next", words)


def definitions(run: BiasRun) -> list[Definition]:
    """The definitions behind the page."""
    words = {
        "Lean": "How much higher than in the mean language the judge's score is for equal quality, on the scale of the "
        "criterion: on the same contents where languages share them, else with people's quality held equal. Intervals "
        "are 95%, by the jackknife over contents or sources.",
        "Even, leans": f"Even: the 90% interval lies within {MARGIN:.0%} of the scale's range on either side of 0. "
        "Leans: not even, and not 0 at 5% after Holm's correction over the languages.",
        "Same contents": "Each content has a level of its own, each language a shift; shifts add up to 0.",
        "Quality held equal": "The judge's score on people's mean, shrunk towards the language's mean by its "
        "reliability. People's severity is taken away inside a language. Refused where the reliability is below 0.3.",
        "Naive": "Regression on people's raw mean, and judge minus people, each less its mean over languages: what is "
        "usually printed. Both find gaps between languages of unequal quality where there are none.",
        "Slope on quality": "How far the judge's score follows quality: 1 as people's does, 0 not at all.",
        "Other answer than in the pivot": "Share of contents with another answer than in the pivot language; more "
        "than when asked again: less the share when the judge was asked again in the pivot.",
    }
    return define(words, SOURCES)
