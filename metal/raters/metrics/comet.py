"""COMET and COMET-QE: models trained on people's ratings of translations, through the package unbabel-comet.

That package needs numpy below 2, METAL needs 2 or newer: the two cannot be installed together. COMET is scored in an
environment of its own, and METAL reads its scores. Where the package is there nevertheless, it is used.
Source: Rei et al. (2020), COMET: A Neural Framework for MT Evaluation; Rei et al. (2022), CometKiwi.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from metal.errors import UsageError
from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory
from metal.raters.metrics.local_models import BATCH, load
from metal.raters.metrics.names import Asked

MODELS = {"comet": "Unbabel/wmt22-comet-da", "comet-qe": "Unbabel/wmt22-cometkiwi-da"}


def open_metric(asked: Asked) -> Metric:
    """`comet(model=...)` and `comet-qe(model=...)`; model: a checkpoint file (.ckpt), or a name in the local cache.

    Raises UsageError where unbabel-comet is not installed, with the way round; the model is loaded with the first
    texts.
    """
    name, options = asked.fill(model=MODELS[asked.name])
    model, with_references = str(options["model"]), asked.name == "comet"
    if importlib.util.find_spec("comet") is None:
        raise UsageError(
            f"metric {name} needs unbabel-comet, which needs numpy below 2 and so an environment of its own. "
            f"Score there (pip install unbabel-comet; comet-score --model {model}), write the scores to a CSV with "
            "the columns output and score, and bring them in with: "
            f'`metal.score("DATASET", from_file="FILE.csv", name="{asked.name}")`'
        )

    @cache
    def loaded() -> Any:
        return load(name, model, lambda: _load(model))

    def score(items: Sequence[Item]) -> list[Answer]:
        texts = [{"src": item.source, "mt": item.text} for item in items]
        if with_references:
            texts = [text | {"ref": item.references[0]} for text, item in zip(texts, items, strict=True)]
        scores: list[Answer] = loaded().predict(texts, batch_size=BATCH, gpus=0, progress_bar=False).scores
        return scores

    return Metric(
        name,
        "COMET" if with_references else "COMET without references",
        score,
        f"{asked.name}|{model}|unbabel-comet:{metadata.version('unbabel-comet')}|version:1",
        needs=("references", "source") if with_references else ("source",),
    )


def _load(model: str) -> Any:
    import comet
    from huggingface_hub import snapshot_download

    path = Path(model)
    if not path.is_file():  # comet.download_model would go to the network after all
        path = Path(snapshot_download(model, local_files_only=True)) / "checkpoints" / "model.ckpt"
    return comet.load_from_checkpoint(str(path), local_files_only=True).eval()


COMET = MetricFactory("COMET (model=); needs an environment of its own", open_metric)
COMET_QE = MetricFactory("COMET without references (model=); needs an environment of its own", open_metric)
