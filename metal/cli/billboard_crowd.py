"""`metal billboard crowd`: judge or crowd? Both against the reference people (Billboard 2.5, Figure 2)."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal.api.billboard_parts as api
from metal.cli.check import warn_at_once
from metal.cli.verb import AS_JSON, DATASET, RATINGS, verb

if TYPE_CHECKING:
    from metal.boards.crowd import Crowd

SHOWN = 2  # examples of an area in the terminal; all are in --json and --out
EXCERPT, COMMENT = 220, 140  # characters of a text there, and of a comment


@verb(
    api.billboard_crowd,
    DATASET,
    RATINGS,
    AS_JSON,
    short_help="Judge or crowd? Both against the experts.",
    examples="""
        metal billboard crowd boards/cnndm --reference group=expert
        metal billboard crowd boards/cnndm --reference group=expert --equal-panels --figures figures
    """,
)
def crowd(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    from metal.data.text import plural
    from metal.show.terminal import console as show

    with show.progress("comparing") as advance:
        result = api.billboard_crowd(data, *ratings, progress=advance, **options)
    examples, figures, out = options["examples"], options["figures"], options["out"]
    warn_at_once(result.warnings)
    if as_json:
        _print_json(result)
        return
    _print(result, examples)
    if figures:
        show.say(f"{plural(result.pictures, 'picture')} in {figures}", wrap=False)
    if out:
        show.say(f"Tables in {out}", wrap=False)


def _print_json(result: Crowd) -> None:
    import json

    from metal.runs.parts import records

    about = {"signature": result.signature, "people": list(result.people), "notes": list(result.notes)}
    tables = {name: records(table.drop(columns="signature")) for name, table in result.tables.items()}
    click.echo(json.dumps(about | tables, indent=1, ensure_ascii=False))


# ---------------------------------------------------------------- terminal


def _print(result: Crowd, examples: int) -> None:
    from metal.show.terminal import console as show

    answers = result.tables["crowd_answers"]
    sentences = dict(zip(zip(answers["language"], answers["criterion"], strict=True), answers["sentence"], strict=True))
    for (language, criterion), rows in result.tables["crowd_raters"].groupby(["language", "criterion"], sort=False):
        counts = rows.loc[rows["kind"] != "ceiling", "outputs"]
        least, most = (f"{count:,}" for count in (counts.min(), counts.max()))
        title = f"{language or 'all languages'} {criterion}: against {result.reference}"
        title += f", {most} outputs" if least == most else f", {least} to {most} outputs"
        columns = ["", "r", "95%", "tau", "sys r", "bias", "under", "over"]
        show.table(title, columns, [_row(row) for row in rows.to_dict("records")])
        show.say(str(sentences[(language, criterion)]))
    _print_overview(result)
    if examples:
        _print_examples(result)
    show.console().print()
    show.say(
        "r: Pearson over outputs with its bootstrap interval; tau: Kendall's tau-b; sys r: Pearson over generators; "
        "bias: mean of rater less people, in points of their scale; under: people put it high, the rater low; over: "
        "the reverse",
        dim=True,
    )
    show.warn(result.notes)
    show.say(f"Signature: {result.signature}", dim=True, wrap=False)


def _row(row: dict[Any, Any]) -> list[str]:
    from metal.auditing.paper_tables import number

    ends = "" if isnan(row["pearson_low"]) else f"[{_bare(row['pearson_low'])}, {_bare(row['pearson_high'])}]"
    name = f"{row['rater'][:19]}…" if len(row["rater"]) > 20 else row["rater"]
    shares = [row["underrated_share"], row["overrated_share"]]
    return [
        "1 against the rest" if row["kind"] == "ceiling" else name,
        number(row["pearson"]),
        ends,
        number(row["kendall"]),
        number(row["system_pearson"]),
        number(row["bias"]),
        *("-" if isnan(share) else f"{share:.0%}" for share in shares),
    ]


def _bare(value: float) -> str:
    """`.25`, to save room."""
    from metal.auditing.paper_tables import number

    return number(value).replace("0.", ".", 1)


def _print_overview(result: Crowd) -> None:
    """Criterion by language, where there are several languages."""
    from metal.auditing.paper_tables import UNDEFINED
    from metal.show.terminal import console as show

    wide = result.tables["crowd_answers"].pivot_table(
        index="criterion", columns="language", values="answer", aggfunc="first", sort=False
    )
    if len(wide.columns) < 2:
        return
    rows = [
        [str(criterion), *row] for criterion, row in zip(wide.index, wide.fillna(UNDEFINED).to_numpy(), strict=True)
    ]
    show.table("Judge or crowd?", ["", *(str(language) or "all" for language in wide.columns)], rows)


def _print_examples(result: Crowd) -> None:
    """Of the main criterion: the best judge's and the best crowd's, in the first language (or all together)."""
    from metal.show.terminal import console as show

    answers = result.tables["crowd_answers"]
    answer = answers[answers["criterion"] == result.main].iloc[0]
    drawn = result.tables["crowd_examples"]
    drawn = drawn[(drawn["criterion"] == result.main) & (drawn["language"] == answer["language"])]
    for rater in (answer["crowd"], answer["judge"]):
        for area, words in (("underrated", "low, people high"), ("overrated", "high, people low")):
            rows = drawn[(drawn["rater"] == rater) & (drawn["area"] == area)]
            if len(rows):
                show.console().print()
                show.say(f"{rater} {words} ({result.main})", bold=True)
            for row in rows.head(SHOWN).to_dict("records"):
                show.say(f"{row['output']}: people {row['people']:.3g}, {rater} {row['score']:.3g}")
                show.say(f"  source: {_excerpt(row['source_text'])}")
                show.say(f"  output: {_excerpt(row['output_text'])}")
                comments = f"{row['people_comments']}\n{row['rater_comments']}".split("\n")
                for comment in filter(str.strip, comments):
                    show.say(f"  {_excerpt(comment, COMMENT)}")
    if len(drawn):
        show.say("All examples of all raters: --json, or --out DIR.", dim=True)


def _excerpt(text: str, length: int = EXCERPT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
