"""`metal score`: automatic metrics score every output of a dataset."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metal.data.dataset import Dataset
    from metal.data.records import Output, Rater
    from metal.raters.metrics import Metric
    from metal.raters.metrics.dataset_scores import Scores
    from metal.running.scoring import Place

SHOWN = 3  # reasons listed for a metric


@dataclass(frozen=True)
class Line:
    """What came of one metric. seconds: None where nothing had to be computed."""

    scores: Scores
    seconds: float | None


@click.command(short_help="Let automatic metrics score every output.")
@options.dataset
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    metavar="NAME[,NAME]",
    help="Metrics, e.g. chrf,rouge-l or bleu(tokenize=zh), or your own: metric.py:score.",
)
@click.option(
    "--from", "table", type=click.Path(path_type=Path), metavar="FILE", help="Take scores that were computed elsewhere."
)
@click.option("--name", default="", help="Name of the rater; needed with --from. [default: the metric's]")
@click.option(
    "--direction",
    type=click.Choice(["higher", "lower"]),
    help="--from: which scores are better. [default: higher]",
)
@click.option("--signature", default="", metavar="TEXT", help="--from: what the scores depend on: model, version.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. [default: runs/DATASET-scores]")
@click.option("--into", is_flag=True, help="Write the scores into DATASET itself.")
@options.as_json
@click.option("--force", is_flag=True, help="Replace the run folder; with --into, the earlier scores of these metrics.")
def score(
    dataset: Path,
    metrics: tuple[str, ...],
    table: Path | None,
    name: str,
    direction: str | None,
    signature: str,
    out: Path | None,
    into: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Let automatic metrics score every output of DATASET that has a text; each metric is a rater.

    Texts are compared with the references, or the text, of their source. `metal metric list` shows the metrics and
    what they need. Scores stand under the criterion `score`, higher is better: where lower is better (TER) they are
    negated. An output that a metric cannot score has a rating without score, and the reason.

    The run folder is written after each metric. The same command with more metrics, or with more outputs in DATASET,
    computes only what is missing.

    --from reads CSV, TSV, JSONL, Parquet or XLSX with the columns output and score, or source, generator and score.
    Ids and texts to score elsewhere, such as in COMET's own environment, stand in DATASET/outputs.jsonl (output,
    source, text) and DATASET/sources.jsonl (source, text, references), a JSON object a line.

    \b
    Examples:
      metal score datasets/mine --metric chrf,rouge-l,bleu
      metal score datasets/mine --metric 'bleu(tokenize=intl)' --into
      metal score datasets/mine --metric my/metric.py:score --name mine
      metal score datasets/mine --from comet.csv --name comet \\
        --signature 'Unbabel/wmt22-comet-da|unbabel-comet:2.2.7'
    """
    from contextlib import ExitStack

    from metal.data.dataset import load_dataset
    from metal.data.folders import one_writer
    from metal.errors import UsageError
    from metal.raters.metrics.dataset_scores import with_metric_score
    from metal.running.scoring import DatasetFolder, RunFolder

    _check_options(metrics, table, name, direction, signature, out, into)
    with ExitStack() as held:
        out = out or Path("runs") / f"{dataset.resolve().name}-scores"
        if not into:
            held.enter_context(one_writer(out))
        loaded = with_metric_score(load_dataset(dataset))
        place: Place = (
            DatasetFolder(dataset, loaded, force=force) if into else RunFolder(out, loaded, dataset, force=force)
        )
        if table:
            lines, lacking = _from_table(table, name, direction or "higher", signature, loaded, place, force)
        else:
            found = _find(metrics)
            if name and len(found) > 1:
                raise UsageError(f"--name {name} is for one metric; {len(found)} were given")
            lines, lacking = _compute(found, name, loaded, place, force), _without_text(loaded)
    _show(lines, lacking, loaded, place, as_json)


def _check_options(
    metrics: tuple[str, ...],
    table: Path | None,
    name: str,
    direction: str | None,
    signature: str,
    out: Path | None,
    into: bool,
) -> None:
    from metal.errors import UsageError

    if bool(metrics) == bool(table):
        raise UsageError("give --metric, e.g. --metric chrf,rouge-l, or --from FILE with scores computed elsewhere")
    if table and not name.strip():
        raise UsageError(f"--from {table} needs --name: what computed the scores, e.g. --name comet")
    if not table and (direction or signature):
        raise UsageError("--direction and --signature go with --from; a metric says its own")
    if into and out:
        raise UsageError("give --out for a run folder or --into for DATASET itself")


def _find(given: Iterable[str]) -> list[Metric]:
    """The metrics of names with commas between; a path may hold commas itself."""
    from metal.errors import UsageError
    from metal.raters.metrics import find_metric, split_names

    names = [name for text in given for name in ([text] if _is_path(text) else split_names(text))]
    if not names:
        raise UsageError("--metric names nothing; `metal metric list` shows what there is")
    return list({metric.name: metric for metric in map(find_metric, names)}.values())


def _is_path(text: str) -> bool:
    """Whether a text is `path/to/metric.py:function` as a whole."""
    path, _, function = text.rpartition(":")
    return function.isidentifier() and path.endswith(".py") and Path(path).is_file()


def _compute(metrics: Sequence[Metric], name: str, dataset: Dataset, place: Place, force: bool) -> list[Line]:
    from metal.raters.metrics.dataset_scores import metric_rater, not_in, outputs_to_score, score_outputs, together
    from metal.show.terminal import console as show

    outputs = outputs_to_score(dataset, metrics)
    wanted = [metric_rater(metric, name) for metric in metrics]
    known = [_kept(rater, dataset, place, force) for rater in wanted]
    lines: list[Line] = []
    try:
        for number, (metric, earlier) in enumerate(zip(metrics, known, strict=True), 1):
            missing: list[Output] = not_in(earlier, outputs)
            if earlier and not missing:
                lines.append(Line(earlier, None))
                continue
            began = time.perf_counter()
            with show.progress(f"scoring, metric {number} of {len(metrics)}") as advance:
                scores = score_outputs(metric, dataset, missing, name=name, progress=advance)
            seconds = time.perf_counter() - began
            lines.append(Line(place.add(together(earlier, scores, dataset) if earlier else scores), seconds))
    except KeyboardInterrupt:
        said = f"{len(lines)} of {len(metrics)} metrics are in {place.folder}; the same command goes on with the rest"
        click.echo(show.clean(said), err=True)
        raise
    return lines


def _from_table(
    path: Path, name: str, direction: str, signature: str, dataset: Dataset, place: Place, force: bool
) -> tuple[list[Line], str]:
    """The scores of a file, and what it lacks in words."""
    from hashlib import blake2b

    from metal.data.formats.table import read_frame
    from metal.raters.metrics.dataset_scores import rater
    from metal.raters.metrics.outside_scores import Table, first_names, outside_scores

    began = time.perf_counter()
    table = Table(path, read_frame(path, as_text=True), 1 if path.suffix.lower() in (".jsonl", ".parquet") else 2)
    digest = blake2b(path.read_bytes(), digest_size=8).hexdigest()
    lower = direction == "lower"
    new = rater(
        name,
        f"{signature or name}|from:{path.name}|blake2b:{digest}",
        "lower" if lower else "higher",
        "computed elsewhere",
        negated=lower,
    )
    outputs = [output for output in dataset.outputs.values() if output.chosen]
    scores, lacking = outside_scores(table, dataset, new, outputs)
    earlier = _kept(new, dataset, place, force)
    line = Line(earlier, None) if earlier else Line(place.add(scores), time.perf_counter() - began)
    said = f"{len(lacking):,} of {len(outputs):,} outputs are not in {path}: {first_names(lacking)}" if lacking else ""
    return [line], said


def _kept(rater: Rater, dataset: Dataset, place: Place, force: bool) -> Scores | None:
    """What this rater has said already, to be kept. Raises UsageError where it is another one, or texts changed."""
    from metal.errors import UsageError
    from metal.raters.metrics.dataset_scores import changed
    from metal.running.scoring import DatasetFolder

    into = isinstance(place, DatasetFolder)
    if not into and rater.rater in dataset.raters:
        raise UsageError(
            f"dataset {dataset.card.name} has a rater {rater.rater!r} already; score --into the dataset, or give "
            "another --name"
        )
    earlier = place.earlier(rater.rater)
    if earlier is None:
        return None
    if earlier.rater.kind != rater.kind:
        raise UsageError(f"{place.folder}: rater {rater.rater!r} is of kind {earlier.rater.kind}; give another --name")
    if force:
        return None
    if why := changed(rater, earlier, dataset):
        more = "replaces its scores" if into else f"replaces {place.folder}"
        raise UsageError(f"{place.folder}: {rater.rater} {why}; --force {more}, --name keeps both")
    return earlier


def _without_text(dataset: Dataset) -> str:
    chosen = [output for output in dataset.outputs.values() if output.chosen]
    empty = sum(not output.text.strip() for output in chosen)
    return f"{empty:,} of {len(chosen):,} outputs have no text and are not scored" if empty else ""


# ---------------------------------------------------------------- what came of it


def _show(lines: Sequence[Line], lacking: str, dataset: Dataset, place: Place, as_json: bool) -> None:
    import json

    from metal.show.terminal import console as show

    records = [_record(line) for line in lines]
    if as_json:
        whole: dict[str, Any] = {"dataset": dataset.card.name, "folder": show.clean(place.folder)}
        whole |= {"warnings": [lacking] if lacking else [], "metrics": records}
        click.echo(json.dumps(whole, indent=1, ensure_ascii=False))
        return
    rows = [
        [
            one["metric"],
            f"{one['scored']:,}",
            f"{sum(one['without'].values()):,}",
            "-" if one["mean"] is None else f"{one['mean']:.4g}",
            "-" if one["seconds"] is None else f"{one['seconds']:.1f}",
        ]
        for one in records
    ]
    show.table(f"Scores of {dataset.card.name}", ["metric", "scored", "without", "mean", "seconds"], rows)
    for one in records:
        if one["negated"]:
            show.say(f"{one['metric']}: lower is better; its scores are kept negated")
        for reason, count in list(one["without"].items())[:SHOWN]:
            show.say(f"{one['metric']}: {count:,} without score: {reason}")
    if lacking:
        show.say(f"warning: {lacking}")
    if all(line.seconds is None for line in lines):
        show.say("Nothing to compute: all of it was there.")
    show.say(f"In {place.folder}", wrap=False)


def _record(line: Line) -> dict[str, Any]:
    rater, facts = line.scores.rater, line.scores.facts
    there = facts["score"].dropna()
    reasons = Counter(facts.loc[facts["score"].isna(), "reason"].astype(str))
    return {
        "metric": rater.rater,
        "signature": rater.about.get("signature", ""),
        "direction": rater.about.get("direction", "higher"),
        "negated": bool(rater.about.get("negated")),
        "scored": len(there),
        "without": dict(reasons.most_common()),
        "mean": float(there.mean()) if len(there) else None,
        "seconds": line.seconds,
    }
