"""`metal billboard references`: does a metric agree better with people when it has more references? (Figure 3)"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal.api.billboard_parts as api
from metal.cli.check import warn_at_once
from metal.cli.verb import AS_JSON, DATASET, verb

if TYPE_CHECKING:
    from metal.boards.references import ReferenceCurve


@verb(
    api.billboard_references,
    DATASET,
    AS_JSON,
    short_help="Agreement with people by the number of references.",
    examples="""
        metal billboard references boards/cnndm --reference group=expert --metric chrf,rouge-l
        metal billboard references boards/cnndm -m rouge-l --beside wmt20-comet-qe-da --figures figures
    """,
)
def references(data: Path, as_json: bool, **options: Any) -> None:
    import time

    from metal.data.text import plural
    from metal.show.terminal import console as show

    start = time.monotonic()
    with show.progress("scoring") as advance:
        curve = api.billboard_references(data, progress=advance, **options)
    figures, out = options["figures"], options["out"]
    seconds = time.monotonic() - start
    warn_at_once(curve.warnings)
    if as_json:
        _print_json(curve, seconds)
        return
    _print(curve)
    show.say(f"{seconds:.1f} seconds")
    if figures:
        show.say(f"{plural(curve.pictures, 'picture')} in {figures}", wrap=False)
    if out:
        show.say(f"Figures: {out}", wrap=False)
    show.say(f"Signature: {curve.signature}", dim=True, wrap=False)


def _print_json(curve: ReferenceCurve, seconds: float) -> None:
    import json

    from metal.runs.parts import records

    rows = records(curve.table.drop(columns="signature"))
    about = {"signature": curve.signature, "seconds": round(seconds, 1), "notes": list(curve.notes)}
    click.echo(json.dumps(about | {"references": rows}, indent=1, ensure_ascii=False))


# ---------------------------------------------------------------- terminal


def _print(curve: ReferenceCurve) -> None:
    from metal.auditing.paper_tables import number
    from metal.show.charts.lines import metrics_of_cell
    from metal.show.terminal import console as show

    for (language, criterion), rows in curve.table.groupby(["language", "criterion"], sort=False):
        parts = list(metrics_of_cell(rows))
        numbers = sorted({int(row["references"]) for _, _, steps in parts for row in steps})
        columns = ["references", *(name for name, _, _ in parts)]
        by_number = [{int(row["references"]): row for row in steps} for _, _, steps in parts]
        table = [
            [
                str(k or "any"),
                *(
                    number(level, 3) if not steps else _cell(steps_by_number.get(k))
                    for (_, level, steps), steps_by_number in zip(parts, by_number, strict=True)
                ),
            ]
            for k in (numbers or [0])
        ]
        outputs = rows["outputs"].max()
        title = f"{language or 'all languages'} {criterion}: Pearson with {curve.reference}, {outputs:,} outputs"
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
    show.warn(curve.notes)


def _cell(row: dict[Any, Any] | None) -> str:
    from metal.auditing.paper_tables import number

    if row is None:
        return "-"
    return number(row["pearson"], 3) + ("" if isnan(row["spread"]) else f" ±{row['spread']:.3f}")


def _sentence(name: str, steps: list[dict[Any, Any]], levels: list[tuple[str, float]]) -> str:
    """Whether the curve rises, and from how many references on it is above the lines."""
    first, last = steps[0], steps[-1]
    if isnan(first["pearson"]) or isnan(last["pearson"]):
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
