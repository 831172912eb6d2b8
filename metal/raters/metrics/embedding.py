"""Cosine of the vectors of two whole texts, from any model of sentence-transformers.

With to=source no references are needed: a multilingual model then compares an output with its source, also across
languages. What counts as the same is up to the model; text beyond what it reads is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory
from metal.raters.metrics.local_models import BATCH, load, versions
from metal.raters.metrics.names import Asked


def open_metric(asked: Asked) -> Metric:
    """`embedding(model=..., to=reference|source)`. Raises MissingExtra; the model is loaded with the first texts."""
    name, options = asked.fill(model="sentence-transformers/LaBSE", to=("reference", "source"))
    model, to = str(options["model"]), str(options["to"])
    libraries = versions(name, "sentence-transformers", "torch", "transformers")

    @cache
    def loaded() -> Any:
        return load(name, model, lambda: _load(model))

    def score(items: Sequence[Item]) -> list[Answer]:
        others = [item.source if to == "source" else item.references[0] for item in items]
        return cosines(loaded(), [item.text for item in items], others)

    return Metric(
        name,
        f"cosine of sentence vectors of output and {to}",
        score,
        f"embedding|{model}|to:{to}|{libraries}|version:1",
        needs=("source",) if to == "source" else ("references",),
        low=-1.0,
        high=1.0,
    )


def cosines(model: Any, left: Sequence[str], right: Sequence[str]) -> list[Answer]:
    """The cosine of each pair; every text is read once."""
    texts = sorted({*left, *right})  # sorted, so that batches, and thereby roundings, depend on nothing but the texts
    vectors = model.encode(
        texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )
    vector_of = dict(zip(texts, vectors, strict=True))
    cosines = [float(vector_of[text] @ vector_of[other]) for text, other in zip(left, right, strict=True)]
    return [min(1.0, max(-1.0, cosine)) for cosine in cosines]


def _load(model: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(model, local_files_only=True, device="cpu")


EMBEDDING = MetricFactory("cosine of sentence vectors (model=, to=reference|source)", open_metric, "neural")
