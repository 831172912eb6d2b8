"""`metal billboard crowd`: judge or crowd? Both against the reference people (Billboard 2.5, Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from metal.boards.crowd import Crowd
    from metal.show.view import Chart

SHOWN = 2  # examples of an area in the terminal; all are in --json and --out
EXCERPT, COMMENT = 220, 140  # characters of a text there, and of a comment


@click.command(short_help="Judge or crowd? Both against the experts.")
@options.dataset
@options.more_ratings
@click.option("--reference", default="", metavar="GROUP", help="group=NAME or rater=NAME,NAME; default all people.")
@options.names("--raters", "-r", what="Raters, metrics among them; default other people and LLM judges.")
@options.names("--criteria", "-c", what="Criteria, `overall` among them; default all.")
@options.names("--languages", "-l", what="Languages; default all.")
@click.option("--area", default=1 / 3, metavar="SHARE", help="Share of the scale that is low, or high. [default: 1/3]")
@click.option("--examples", default=5, show_default=True, type=click.IntRange(min=0), help="Drawn from each area.")
@click.option("--equal-panels", is_flag=True, help="As many crowd workers on an output as experts, drawn by --seed.")
@click.option(
    "--permutations",
    default=1000,
    show_default=True,
    type=click.IntRange(min=100),
    help="Of each test; more where many comparisons are adjusted together.",
)
@options.bootstrap
@options.exclude_noisy
@options.seed
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write a picture a cell, as SVG.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as CSV.")
@options.force
@options.as_json
def crowd(
    dataset: Path,
    ratings: tuple[Path, ...],
    reference: str,
    raters: tuple[str, ...],
    criteria: tuple[str, ...],
    languages: tuple[str, ...],
    area: float,
    examples: int,
    equal_panels: bool,
    permutations: int,
    resamples: int,
    exclude_noisy: str,
    seed: int,
    figures: Path | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare crowd workers and LLM judges with the reference people, by criterion and language.

    RATINGS are run folders whose ratings are added. The people of a group are one rater, whose score is the mean of
    theirs. `under` and `over` count the outputs on which a rater and the people disagree most: one puts it in the
    bottom part of the people's scale (--area), the other in the top part. Metrics have no such areas, since their
    scores are on a scale of their own.

    \b
    Examples:
      metal billboard crowd boards/cnndm --reference group=expert
      metal billboard crowd boards/cnndm --reference group=expert --equal-panels --figures figures
    """
    from metal.boards.crowd import CrowdSettings
    from metal.boards.crowd import crowd as run
    from metal.boards.settings import BoardSettings
    from metal.data.folders import check_new
    from metal.data.text import plural
    from metal.genie.excluding import said_without_noisy
    from metal.show.files import write_svg
    from metal.show.terminal import console as show

    if out:
        check_new(out, force=force, marks=("crowd_raters.csv",))
    choices = CrowdSettings(area, examples, equal_panels)
    settings = BoardSettings(
        reference,
        criteria,
        languages,
        raters,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        exclude_noisy=exclude_noisy,
    )
    loaded = said_without_noisy(options.load_board(dataset, ratings), dataset, ratings, exclude_noisy)
    with show.progress("comparing") as advance:
        found = run(loaded, settings, choices, progress=advance)
    drawn = write_svg(charts(found, area), figures) if figures else 0
    if out:
        _write_tables(found, out, force)
    if as_json:
        _print_json(found)
        return
    _print(found, examples)
    if figures:
        show.say(f"{plural(drawn, 'picture')} in {figures}", wrap=False)
    if out:
        show.say(f"Tables in {out}", wrap=False)


def charts(found: Crowd, area: float) -> Iterator[Chart]:
    """A picture a cell, with a panel a rater."""
    from metal.data.text import slug
    from metal.show.charts.disagreement import Ends, disagreement, panels

    dots = found.tables["crowd_dots"]
    raters = found.tables["crowd_raters"]
    for (language, criterion), rows in raters.groupby(["language", "criterion"], sort=False):
        here = dots[(dots["language"] == language) & (dots["criterion"] == criterion)]
        drawn = panels(rows[rows["kind"] != "ceiling"], here)
        scale = found.scales[str(criterion)]
        ends = None if scale.low is None or scale.high is None else Ends(scale.low, scale.high)
        label = f"{criterion} ({language or 'all languages'})"
        key = f"crowd_{slug(str(criterion))}_{slug(str(language)) if language else 'all'}"
        chart = disagreement(key, label, drawn, people=found.reference, ends=ends, area=area)
        if chart:
            yield chart


def _write_tables(found: Crowd, folder: Path, force: bool) -> None:
    from metal.data.csv_cells import csv_text
    from metal.data.folders import new_folder

    with new_folder(folder, force=force, marks=("crowd_raters.csv",)) as partial:
        for name, table in found.tables.items():
            (partial / f"{name}.csv").write_text(csv_text(table), encoding="utf-8")


def _print_json(found: Crowd) -> None:
    import json

    from metal.runs.parts import records

    tables = {name: records(table.drop(columns="signature")) for name, table in found.tables.items()}
    whole = {"signature": found.signature, "people": list(found.people), "notes": list(found.notes)} | tables
    click.echo(json.dumps(whole, indent=1, ensure_ascii=False))


# ---------------------------------------------------------------- terminal


def _print(found: Crowd, examples: int) -> None:
    from metal.show.terminal import console as show

    told = found.tables["crowd_answers"][["language", "criterion", "sentence"]].itertuples(index=False)
    sentences = {(language, criterion): sentence for language, criterion, sentence in told}
    for (language, criterion), rows in found.tables["crowd_raters"].groupby(["language", "criterion"], sort=False):
        counts = rows.loc[rows["kind"] != "ceiling", "outputs"]
        least, most = (f"{count:,}" for count in (counts.min(), counts.max()))
        title = f"{language or 'all languages'} {criterion}: against {found.reference}"
        title += f", {most} outputs" if least == most else f", {least} to {most} outputs"
        columns = ["", "r", "95%", "tau", "sys r", "bias", "under", "over"]
        show.table(title, columns, [_row(row) for row in rows.to_dict("records")])
        show.say(str(sentences[(language, criterion)]))
    _print_overview(found)
    if examples:
        _print_examples(found)
    show.console().print()
    show.say(
        "r: Pearson over outputs with its bootstrap interval; tau: Kendall's tau-b; sys r: Pearson over generators; "
        "bias: mean of rater less people, in points of their scale; under: people put it high, the rater low; over: "
        "the reverse",
        dim=True,
    )
    show.warn(found.notes)
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def _row(row: dict[Any, Any]) -> list[str]:
    from metal.auditing.layouts import number

    ends = (
        ""
        if row["pearson_low"] != row["pearson_low"]
        else f"[{_bare(row['pearson_low'])}, {_bare(row['pearson_high'])}]"
    )
    name = f"{row['rater'][:19]}…" if len(row["rater"]) > 20 else row["rater"]
    shares = [row["underrated_share"], row["overrated_share"]]
    return [
        "1 against the rest" if row["kind"] == "ceiling" else name,
        number(row["pearson"]),
        ends,
        number(row["kendall"]),
        number(row["system_pearson"]),
        number(row["bias"]),
        *("-" if share != share else f"{share:.0%}" for share in shares),
    ]


def _bare(value: float) -> str:
    """`.25`, to save room."""
    from metal.auditing.layouts import number

    return number(value).replace("0.", ".", 1)


def _print_overview(found: Crowd) -> None:
    """Criterion by language, where there are several languages."""
    from metal.auditing.layouts import UNDEFINED
    from metal.show.terminal import console as show

    wide = found.tables["crowd_answers"].pivot_table(
        index="criterion", columns="language", values="answer", aggfunc="first", sort=False
    )
    if len(wide.columns) < 2:
        return
    rows = [
        [str(criterion), *row] for criterion, row in zip(wide.index, wide.fillna(UNDEFINED).to_numpy(), strict=True)
    ]
    show.table("Judge or crowd?", ["", *(str(language) or "all" for language in wide.columns)], rows)


def _print_examples(found: Crowd) -> None:
    """Of the main criterion: the best judge's and the best crowd's, in the first language (or all together)."""
    from metal.show.terminal import console as show

    answers = found.tables["crowd_answers"]
    answer = answers[answers["criterion"] == found.main].iloc[0]
    drawn = found.tables["crowd_examples"]
    drawn = drawn[(drawn["criterion"] == found.main) & (drawn["language"] == answer["language"])]
    for rater in (answer["crowd"], answer["judge"]):
        for area, words in (("underrated", "low, people high"), ("overrated", "high, people low")):
            mine = drawn[(drawn["rater"] == rater) & (drawn["area"] == area)]
            if len(mine):
                show.console().print()
                show.say(f"{rater} {words} ({found.main})", bold=True)
            for row in mine.head(SHOWN).to_dict("records"):
                show.say(f"{row['output']}: people {row['people']:.3g}, {rater} {row['score']:.3g}")
                show.say(f"  source: {_excerpt(row['source_text'])}")
                show.say(f"  output: {_excerpt(row['output_text'])}")
                said = f"{row['people_comments']}\n{row['rater_comments']}".split("\n")
                for comment in filter(str.strip, said):
                    show.say(f"  {_excerpt(comment, COMMENT)}")
    if len(drawn):
        show.say("All examples of all raters: --json, or --out DIR.", dim=True)


def _excerpt(text: str, length: int = EXCERPT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
