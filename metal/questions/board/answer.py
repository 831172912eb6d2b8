"""The first screen of a board: who agrees best with people, and how far below a person that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metal.boards.cells import ALL_LANGUAGES
from metal.data.pairs import IN_PAIRS
from metal.data.text import coverage, estimate, interval, known, listed, plural, signed, within
from metal.questions.board.run import Billboard
from metal.questions.board.words import ahead, best_generators, best_single, pearson
from metal.runs.columns import Row
from metal.show.parts import (
    OR,
    data_of,
    go_on,
    main_place,
    places,
    standard_table,
    to_hand_out,
)
from metal.show.rankings import people_in_words
from metal.show.view import Remark

MOST_NAMED = 3


def _ranked(run: Billboard) -> list[Row]:
    """The raters of the main ranking whose r is defined, best first."""
    return [
        row
        for row in run.records("raters", criterion=run.main, language=run.language)
        if known(row["pearson"])
    ]


def headline(run: Billboard) -> str:
    """The answer in a sentence."""
    rows, on_main = _ranked(run), main_place(run)
    if not rows:
        return f"No rater's agreement with people is defined {on_main}."
    best = rows[0]
    who = within(best["rater"])
    if not (known(best["pearson_low"]) and best["pearson_low"] > 0):
        which = "the only rater" if len(rows) == 1 else "the first"
        first = f"{which}, {who}, has {pearson(best)}"
        return f"No rater is shown to agree with people {on_main}: {first}."
    agrees = "agrees best with people"
    if len(rows) == 1:
        alone = run.rows("raters")["rater"].nunique() == 1
        agrees = (
            "agrees with people"
            if alone
            else "is the only rater that could be compared with people"
        )
    return f"{who} {agrees} {on_main} (r {estimate(best, 'pearson')}{_beside_a_person(run)})."


def _beside_a_person(run: Billboard) -> str:
    """A sentence on how well one person agrees with the others. A judge is compared with more
    people, so the sentence does not say who is ahead.
    """
    for row in run.records("people", criterion=run.main, language=run.language):
        if known(row["one_against_others"]):
            return f"; one person against the others: {estimate(row, 'one_against_others')}"
    return "; it is unknown how well a person would agree"


def lead(run: Billboard) -> str:
    """Whether the first rater is shown to be ahead."""
    rows = _ranked(run)
    return f"{ahead(run, rows)}{best_single(run, rows)}" if rows else ""


def scope(run: Billboard) -> str:
    """What was compared, for the line above the headline."""
    generators = (
        run.rows("generators")["generator"].nunique() if len(run.tables["generators"]) else 0
    )
    languages = sum(code != ALL_LANGUAGES for code in run.languages)
    parts = [plural(run.rows("raters")["rater"].nunique(), "rater"), people_in_words(run)]
    parts += [plural(generators, "generator")] if generators else []
    return " · ".join([*parts, plural(languages, "language"), f"version {run.version}"])


def cards(run: Billboard) -> Iterator[Remark]:
    """Cards: what to beware of, which generator leads, and what to do next."""
    if beware := _beware(run):
        yield beware
    if both := _both_ways(run):
        yield Remark("Output by output, or in pairs", both)
    if first := best_generators(run):
        yield Remark("Which generator leads", first)
    if len(run.people_names) == 1:
        advice = (
            "Have a second person rate the same outputs, to see how well people agree with each"
            " other:"
        )
        yield Remark("What to do next", advice, to_hand_out(run))
    elif "llm" in run.kinds.values():
        advice = (
            "See in which language, on which criterion, a judge agrees with people as people do:"
        )
        yield Remark("What to do next", advice, go_on(run, "audit"))
    else:
        yield Remark(
            "What to do next",
            "Add an LLM judge to the board:",
            f"metal judge {data_of(run)} --judge MODEL",
        )
    if run.rankable.layout:
        advice = f'Make the usual table of the field, "{run.rankable.title}":'
        yield Remark(OR, advice, standard_table(run, run.rankable.layout))


def _both_ways(run: Billboard) -> str:
    """Judges that both rated single outputs and compared pairs, with both results; empty if there
    are none.
    """
    by_name = {row["rater"]: row for row in _ranked(run)}
    pairs = [
        (row, by_name[name])
        for row in by_name.values()
        if (name := f"{row['rater']}{IN_PAIRS}") in by_name
    ]
    sentences = [
        (
            f"{within(alone['rater'])} has {pearson(alone)} output by output and {pearson(paired)}"
            " in pairs"
        )
        for alone, paired in pairs[:MOST_NAMED]
    ]
    return f"{listed(sentences)}." if sentences else ""


def _beware(run: Billboard) -> Remark | None:
    """A warning about raters that prefer machines, outputs that some did not score, or languages
    taken together.
    """
    here: dict[str, Any] = {"criterion": run.main, "language": run.language}
    over = [
        row for row in run.records("overrating", **here) if known(row["value"]) and row["low"] > 0
    ]
    if over:
        most = max(over, key=lambda row: row["value"])
        sentence = (
            f"{plural(len(over), 'rater')} {'prefers' if len(over) == 1 else 'prefer'} machine"
            " writing to human writing that people find equally good, most"
            f" {within(most['rater'])}: {signed(most['value'])} standard deviations"
            f" {interval(most['low'], most['high'], signed)}."
        )
        return Remark("Beware of machines judging machines", sentence)
    partly = [row for row in run.records("raters", **here) if row["coverage"] < 1]
    if partly:
        named = [f"{within(row['rater'])} {coverage(row['coverage'])}" for row in partly]
        sentence = (
            f"Some raters scored only part of what people rated: {places(named, MOST_NAMED)}."
        )
        return Remark("Beware of gaps", sentence)
    if run.language == ALL_LANGUAGES:
        sentence = (
            "This ranking pools all languages, so differences between languages count too. The"
            " tables show each language alone."
        )
        return Remark("Beware of the mean", sentence)
    return None
