"""`metal.score`: automatic metrics score every output of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from metal.api.options import Names, Option, StrPath, documented
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.inputs import Data
    from metal.running.scoring import Scoring


@documented
def score(
    data: Data,
    metric: Annotated[
        Names,
        Option("Metrics, e.g. chrf,rouge-l or bleu(tokenize=zh), or your own: metric.py:score.", "-m", commas=True),
    ] = (),
    *,
    from_file: Annotated[
        StrPath | None, Option("Take scores that were computed elsewhere.", metavar="FILE", aliases=("--from",))
    ] = None,
    name: Annotated[str, Option("Name of the rater; needed with `from_file`. [default: the metric's]")] = "",
    direction: Annotated[
        Literal["higher", "lower"] | None,
        Option("With `from_file`: which scores are better. [default: higher]", choices=("higher", "lower")),
    ] = None,
    signature: Annotated[
        str, Option("With `from_file`: what the scores depend on: model, version.", metavar="TEXT")
    ] = "",
    out: Annotated[StrPath | None, Option("Run folder. [default: runs/DATASET-scores]")] = None,
    into: Annotated[bool, Option("Write the scores into `data` itself.")] = False,
    force: Annotated[bool, Option("Replace the run folder; with `into`, the earlier scores of these metrics.")] = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Scoring:
    """Let automatic metrics score every output of `data` that has a text; each metric is a rater.

    Texts are compared with the references, or the text, of their source. `metal.metric_list` shows the metrics and
    what they need. Scores stand under the criterion `score`, higher is better: where lower is better (TER) they are
    negated. An output that a metric cannot score has a rating without score, and the reason.

    The run folder is written after each metric. The same call with more metrics, or with more outputs in the dataset,
    computes only what is missing.

    `from_file` reads CSV, TSV, JSONL, Parquet or XLSX with the columns output and score, or source, generator and
    score. Ids and texts to score elsewhere, such as in COMET's own environment, stand in DATASET/outputs.jsonl (output,
    source, text) and DATASET/sources.jsonl (source, text, references), a JSON object a line.

    data: a dataset folder, or a dataset from `metal.read`. progress: called with the metric, the outputs done, and all.

    Returns the run: its folder, ratings, and what came of each metric. Raises UnknownName, UsageError, MissingExtra.
    """
    from contextlib import ExitStack

    from metal.api.inputs import NOWHERE, load
    from metal.data.files import one_writer
    from metal.raters.metrics.dataset_scores import with_metric_score
    from metal.running import scoring

    if bool(metric) == bool(from_file):
        raise UsageError('give `metric`, e.g. `metric="chrf,rouge-l"`, or `from_file` with scores computed elsewhere')
    if from_file and not name.strip():
        raise UsageError(f'`from_file="{from_file}"` needs `name`: what computed the scores, e.g. `name="comet"`')
    if not from_file and (direction or signature):
        raise UsageError("`direction` and `signature` go with `from_file`; a metric says its own")
    if into and out:
        raise UsageError("give `out` for a run folder or `into` for the dataset itself")
    inputs = load(data)
    if into and inputs.folder == NOWHERE:
        raise UsageError("`into` writes into a dataset folder; these data have none")
    shown = inputs.folder if inputs.folder != NOWHERE else Path(inputs.dataset.card.name)
    run = Path(out) if out else Path("runs") / f"{shown.resolve().name}-scores"
    with ExitStack() as stack:
        if not into:
            stack.enter_context(one_writer(run))
        dataset = with_metric_score(inputs.dataset)
        place: scoring.Place = (
            scoring.DatasetFolder(shown, dataset, force=force)
            if into
            else scoring.RunFolder(run, dataset, shown, force=force)
        )
        if from_file:
            return scoring.score_from_file(
                Path(from_file), name, direction or "higher", signature, dataset, place, force=force
            )
        return scoring.score(scoring.find_metrics(metric), name, dataset, place, force=force, progress=progress)
