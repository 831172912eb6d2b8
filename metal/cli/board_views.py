"""`metal billboard crowd` compares judges and crowds (Billboard 2.5, Figure 2);
`metal billboard references` is Figure 3.
"""

from __future__ import annotations

import time
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import metal
from metal.cli.printing import print_json, warn_at_once
from metal.cli.verb import AS_JSON, VERBOSE, verb
from metal.data.text import plural, signed_share, with_minus
from metal.questions.board.raters import against_people
from metal.questions.board.run import REFERENCES
from metal.runs.run import spoken
from metal.show.terminal import console
from metal.show.view import TableView

if TYPE_CHECKING:
    import pandas as pd

    from metal.boards.crowd import Crowd
    from metal.boards.references import ReferenceCurve

SHOWN = 2  # examples of an area in the terminal; all are in --json and --out
EXCERPT, COMMENT = 220, 140  # characters of a text there, and of a comment


@verb(
    metal.billboard_crowd,
    VERBOSE,
    AS_JSON,
    short_help="Compare judges and crowd workers with experts.",
    examples="""
        metal billboard crowd boards/cnndm --reference group=expert
        metal billboard crowd boards/cnndm --reference group=expert --equal-panels --figures figures
    """,
)
def crowd(
    data: Path, ratings: tuple[Path, ...], verbose: bool, as_json: bool, **options: Any
) -> None:
    with console.progress("comparing", "cells") as advance:
        result = metal.billboard_crowd(data, *ratings, progress=advance, **options)
    warn_at_once(result.warnings)
    if as_json:
        facts = {"signature": result.signature, "people": result.people, "notes": result.notes}
        print_json(
            facts | {name: table.drop(columns="signature") for name, table in result.tables.items()}
        )
        return
    _print_crowd(result, options["examples"], verbose)
    if options["figures"]:
        console.say(f"{plural(result.pictures, 'picture')} in {options['figures']}", wrap=False)
    if options["out"]:
        console.say(f"Tables in {options['out']}", wrap=False)


def _print_crowd(result: Crowd, examples: int, verbose: bool) -> None:
    answers = result.tables["crowd_answers"]
    sentences = dict(
        zip(
            zip(answers["language"], answers["criterion"], strict=True),
            answers["sentence"],
            strict=True,
        )
    )
    by_place = _by_place(result.tables["crowd_raters"], result.main)
    for number, ((language, criterion), rows) in enumerate(by_place[: None if verbose else 1]):
        console.say(with_minus(sentences[language, criterion]), bold=not number)
        title = f"Against {result.reference}: {result.titles[criterion]}, {spoken(language)}"
        records: list[dict[Any, Any]] = rows.to_dict("records")
        console.show(against_people(title, records))
    _print_overview(result)
    if examples:
        _print_examples(result)
    console.console().print()
    console.say("Intervals: 95% bootstrap over sources; tau: Kendall's tau-b.", dim=True)
    _print_end(result, len(by_place), verbose)


def _by_place(table: pd.DataFrame, main: str) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """The rows grouped by language and criterion; those of the main criterion first."""
    groups: Any = table.groupby(["language", "criterion"], sort=False)
    return sorted(groups, key=lambda entry: entry[0][1] != main)


def _print_end(result: Crowd | ReferenceCurve, places: int, verbose: bool) -> None:
    """Print what else can be shown, problems of the data, and the signature."""
    if places > 1 and not verbose:
        console.say(
            f"With -v also: {plural(places - 1, 'more case')} (a criterion in a language).",
            dim=True,
        )
    console.warn(result.notes, more="" if verbose else "-v")
    if verbose:
        console.say(f"Signature: {result.signature}", dim=True, wrap=False)


def _print_overview(result: Crowd) -> None:
    """Print a table of criteria by languages, if there are several languages."""
    from metal.auditing.paper_tables import UNDEFINED

    wide = result.tables["crowd_answers"].pivot_table(
        index="criterion", columns="language", values="answer", aggfunc="first", sort=False
    )
    if len(wide.columns) < 2:
        return
    rows = [
        [result.titles[criterion], *row]
        for criterion, row in zip(wide.index, wide.fillna(UNDEFINED).to_numpy(), strict=True)
    ]
    console.table(
        "Judge or crowd?", ["", *(spoken(str(language)) for language in wide.columns)], rows
    )


def _print_examples(result: Crowd) -> None:
    """Print examples for the main criterion: the best judge's and the best crowd's, in the first
    language (or all together).
    """
    answers = result.tables["crowd_answers"]
    answer = answers[answers["criterion"] == result.main].iloc[0]
    drawn = result.tables["crowd_examples"]
    drawn = drawn[(drawn["criterion"] == result.main) & (drawn["language"] == answer["language"])]
    for rater in (answer["crowd"], answer["judge"]):
        for area, scores in (("underrated", "low, people high"), ("overrated", "high, people low")):
            rows = drawn[(drawn["rater"] == rater) & (drawn["area"] == area)]
            if len(rows):
                console.console().print()
                console.say(f"{rater} {scores} ({result.titles[result.main]})", bold=True)
            for row in rows.head(SHOWN).to_dict("records"):
                console.say(
                    f"{row['output']}: people {row['people']:.3g}, {rater} {row['score']:.3g}"
                )
                console.say(f"  source: {_excerpt(row['source_text'])}")
                console.say(f"  output: {_excerpt(row['output_text'])}")
                comments = f"{row['people_comments']}\n{row['rater_comments']}".split("\n")
                for comment in filter(str.strip, comments):
                    console.say(f"  {_excerpt(comment, COMMENT)}")
    if len(drawn):
        console.say("All examples of all raters: --json, or --out DIR.", dim=True)


def _excerpt(text: str, length: int = EXCERPT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


@verb(
    metal.billboard_references,
    VERBOSE,
    AS_JSON,
    short_help="Show how agreement grows with more references.",
    examples="""
        metal billboard references boards/cnndm --reference group=expert --metric chrf,rouge-l
        metal billboard references boards/cnndm -m rouge-l --beside wmt20-comet-qe-da --figures figures
    """,  # noqa: E501
)
def references(data: Path, verbose: bool, as_json: bool, **options: Any) -> None:
    start = time.monotonic()
    with console.progress("scoring", "texts") as advance:
        curve = metal.billboard_references(data, progress=advance, **options)
    seconds = time.monotonic() - start
    warn_at_once(curve.warnings)
    if as_json:
        facts = {"signature": curve.signature, "seconds": round(seconds, 1), "notes": curve.notes}
        print_json(facts | {"references": curve.table.drop(columns="signature")})
        return
    _print_references(curve, verbose)
    if options["figures"]:
        console.say(f"{plural(curve.pictures, 'picture')} in {options['figures']}", wrap=False)
    if options["out"]:
        console.say(f"Figures: {options['out']}", wrap=False)


def _print_references(curve: ReferenceCurve, verbose: bool) -> None:
    from metal.show.charts.lines import metrics_of_cell

    by_place = _by_place(curve.table, curve.main)
    for number, ((language, criterion), rows) in enumerate(by_place[: None if verbose else 1]):
        parts = list(metrics_of_cell(rows))
        for name, _, steps in parts:
            if len(steps) > 1:
                levels = [(other, level) for other, level, none in parts if not none]
                console.say(_sentence(name, steps, levels), bold=not number)
        title = f"{curve.titles[criterion]}, {spoken(language)}: agreement with {curve.reference}"
        records: list[dict[Any, Any]] = rows.to_dict("records")
        reasons = dict.fromkeys(
            f"{row['metric']}: {row['undefined']}" for row in records if row["undefined"]
        )
        options: dict[str, Any] = {"described": REFERENCES, "heads": 2, "notes": reasons}
        console.show(TableView.of_figures(None, "references", title, records, **options))
    console.console().print()
    console.say(
        "r: Pearson, mean over draws of references; sd: standard deviation over these.", dim=True
    )
    _print_end(curve, len(by_place), verbose)


def _sentence(name: str, steps: list[dict[Any, Any]], levels: list[tuple[str, float]]) -> str:
    """Say whether the curve rises, and from how many references on it is above the level lines."""
    first, last = steps[0], steps[-1]
    if isnan(first["pearson"]) or isnan(last["pearson"]):
        return f"{name}: undefined at an end of the curve"
    change = last["pearson"] - first["pearson"]
    references = f"from {first['references']} to {last['references']} references"
    text = f"{name}: r with people {signed_share(change)} {references}"
    for other, level in levels:
        below = [row["references"] for row in steps if not row["pearson"] > level]
        if len(below) == len(steps):
            text += f"; never above {other}"
        elif not below:
            text += f"; always above {other}"
        elif below[-1] == last["references"]:
            text += f"; with all references not above {other}"
        else:
            text += f"; above {other} with more than {below[-1]} references"
    return f"{text}."
