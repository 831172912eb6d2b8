"""`metal billboard references`: does a metric agree better with people when it has more references? (Figure 3)"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from metal.boards.references import ReferenceCurve
    from metal.show.view import Chart


def _metric_names(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from metal.raters.metrics import split_names

    return tuple(dict.fromkeys(name for value in values for name in split_names(value)))


@click.command(short_help="Agreement with people by the number of references.")
@options.dataset
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    required=True,
    metavar="NAME[,NAME]",
    callback=_metric_names,
    help="Metrics to compute: chrf, rouge-l, 'bleu(tokenize=zh)', path/to/metric.py:score, ...",
)
@click.option("--reference", default="", metavar="GROUP", help="People: group=NAME or rater=NAME,NAME; default all.")
@options.names("--beside", what="Raters in the dataset to draw as lines beside the metrics.")
@click.option(
    "--most", type=click.IntRange(min=1), metavar="K", help="References. [default: as many as all sources have]"
)
@click.option(
    "--draws", default=5, show_default=True, type=click.IntRange(min=1), help="Random subsets for each number."
)
@options.names("--criteria", "-c", what="Criteria, `overall` among them; default all.")
@options.names("--languages", "-l", what="Languages; default all.")
@options.exclude_noisy
@options.seed
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write a picture a cell, as SVG.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE|DIR", help="Write the figures to FILE.csv, or DIR."
)
@options.force
@options.as_json
def references(
    dataset: Path,
    metrics: tuple[str, ...],
    reference: str,
    beside: tuple[str, ...],
    most: int | None,
    draws: int,
    criteria: tuple[str, ...],
    languages: tuple[str, ...],
    exclude_noisy: str,
    seed: int,
    figures: Path | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compute metrics with 1, 2, ... references and correlate each with the reference people.

    For each number every source gives random subsets of its references (--draws), the same for all of its outputs.
    Only outputs that the people rated are scored, equal texts once. Metrics that need no references, and raters named
    with --beside, are lines.

    \b
    Examples:
      metal billboard references boards/cnndm --reference group=expert --metric chrf,rouge-l
      metal billboard references boards/cnndm -m rouge-l --beside wmt20-comet-qe-da --figures figures
    """
    import time

    from metal.boards.references import ReferenceSettings, reference_curve
    from metal.boards.settings import BoardSettings
    from metal.data.text import plural
    from metal.genie.excluding import said_without_noisy
    from metal.raters.metrics import find_metric
    from metal.show.files import write_svg
    from metal.show.terminal import console as show

    if out:
        _check_out(out, force)
    settings = BoardSettings(reference, criteria, languages, seed=seed, exclude_noisy=exclude_noisy)
    loaded = said_without_noisy(options.load_board(dataset), dataset, (), exclude_noisy)
    opened = list({metric.name: metric for metric in map(find_metric, metrics)}.values())
    start = time.monotonic()
    with show.progress("scoring") as advance:
        found = reference_curve(loaded, opened, settings, ReferenceSettings(most, draws, beside), progress=advance)
    seconds = time.monotonic() - start
    drawn = write_svg(charts(found), figures) if figures else 0
    if out:
        _write_table(found, out, force)
    if as_json:
        _print_json(found, seconds)
        return
    _print(found)
    show.say(f"{seconds:.1f} seconds")
    if figures:
        show.say(f"{plural(drawn, 'picture')} in {figures}", wrap=False)
    if out:
        show.say(f"Figures: {out}", wrap=False)
    show.say(f"Signature: {found.signature}", dim=True, wrap=False)


def charts(found: ReferenceCurve) -> Iterator[Chart]:
    """A picture a cell, with a curve a metric."""
    from metal.data.text import slug
    from metal.show.charts.references import ReferencesCurve, ReferencesStep, references_chart

    for (language, criterion), rows in found.table.groupby(["language", "criterion"], sort=False):
        curves = []
        for name, level, steps in _metrics(rows):
            points = [ReferencesStep(*(row[key] for key in ("references", "pearson", "spread"))) for row in steps]
            curves.append(ReferencesCurve(name, points) if points else ReferencesCurve(name, (), level))
        label = f"{criterion} ({language or 'all languages'})"
        key = f"references_{slug(str(criterion))}_{slug(str(language)) if language else 'all'}"
        chart = references_chart(key, label, curves, found.reference)
        if chart:
            yield chart


def _metrics(rows: Any) -> Iterator[tuple[str, float, list[dict[Any, Any]]]]:
    """(name, level, steps) of each metric of a cell; a line has no steps."""
    line = rows["references"].isna()
    for name, mine in rows[~line].groupby("metric", sort=False):
        yield str(name), float("nan"), mine.to_dict("records")
    for row in rows[line].to_dict("records"):
        yield row["metric"], row["pearson"], []


def _check_out(out: Path, force: bool) -> None:
    from metal.data.folders import check_new, check_new_file

    if out.suffix.lower() == ".csv":
        check_new_file(out, force=force)
    else:
        check_new(out, force=force, marks=("references.csv",))


def _write_table(found: ReferenceCurve, out: Path, force: bool) -> None:
    """FILE.csv, or a folder with references.csv and the pictures."""
    from metal.data.csv_cells import csv_text
    from metal.data.folders import new_file, new_folder
    from metal.show.files import write_svg

    text = csv_text(found.table)
    if out.suffix.lower() == ".csv":
        out.parent.mkdir(parents=True, exist_ok=True)
        with new_file(out) as partial:
            partial.write_text(text, encoding="utf-8")
        return
    with new_folder(out, force=force, marks=("references.csv",)) as folder:
        (folder / "references.csv").write_text(text, encoding="utf-8")
        write_svg(charts(found), folder)


def _print_json(found: ReferenceCurve, seconds: float) -> None:
    import json

    from metal.runs.parts import records

    rows = records(found.table.drop(columns="signature"))
    whole = {"signature": found.signature, "seconds": round(seconds, 1), "notes": list(found.notes), "references": rows}
    click.echo(json.dumps(whole, indent=1, ensure_ascii=False))


# ---------------------------------------------------------------- terminal


def _print(found: ReferenceCurve) -> None:
    from metal.auditing.layouts import number
    from metal.show.terminal import console as show

    for (language, criterion), rows in found.table.groupby(["language", "criterion"], sort=False):
        parts = list(_metrics(rows))
        numbers = sorted({int(row["references"]) for _, _, steps in parts for row in steps})
        columns = ["references", *(name for name, _, _ in parts)]
        by_number = [{int(row["references"]): row for row in steps} for _, _, steps in parts]
        table = [
            [
                str(k or "any"),
                *(
                    number(level, 3) if not steps else _cell(known.get(k))
                    for (_, level, steps), known in zip(parts, by_number, strict=True)
                ),
            ]
            for k in (numbers or [0])
        ]
        outputs = rows["outputs"].max()
        title = f"{language or 'all languages'} {criterion}: Pearson with {found.reference}, {outputs:,} outputs"
        show.table(title, columns, table)
        for name, _, steps in parts:
            if len(steps) > 1:
                show.say(_sentence(name, steps, [(other, level) for other, level, none in parts if not none]))
        for reason in dict.fromkeys(
            f"{row['metric']}: {row['undefined']}" for row in rows.to_dict("records") if row["undefined"]
        ):
            show.say(reason, dim=True)
    show.console().print()
    show.say("Mean over draws of references, and after ± their standard deviation.", dim=True)
    show.warn(found.notes)


def _cell(row: dict[Any, Any] | None) -> str:
    from metal.auditing.layouts import number

    if row is None:
        return "-"
    return number(row["pearson"], 3) + ("" if row["spread"] != row["spread"] else f" ±{row['spread']:.3f}")


def _sentence(name: str, steps: list[dict[Any, Any]], levels: list[tuple[str, float]]) -> str:
    """Whether the curve rises, and from how many references on it is above the lines."""
    first, last = steps[0], steps[-1]
    if first["pearson"] != first["pearson"] or last["pearson"] != last["pearson"]:
        return f"{name}: undefined at an end of the curve"
    change = last["pearson"] - first["pearson"]
    text = f"{name}: {change:+.3f} from {first['references']} to {last['references']} references"
    for other, level in levels:
        below = [row["references"] for row in steps if not row["pearson"] > level]
        if len(below) == len(steps):
            text += f"; never above {other}"
        elif not below:
            text += f"; always above {other}"
        elif below[-1] == last["references"]:
            text += f"; in the end not above {other}"
        else:
            text += f"; above {other} with more than {below[-1]}"
    return f"{text}."
