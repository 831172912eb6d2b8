"""BLEURT: a model trained on people's ratings reads reference and output together and gives a number.

The model is one with a single output in Transformers' format (such as Elron/bleurt-base-512 and its sizes). Scores have
no fixed range; identical texts come near 1.
Source: Sellam et al. (2020), BLEURT: Learning Robust Metrics for Text Generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from metal.errors import UsageError
from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory
from metal.raters.metrics.local_models import batches, load, tokenizer_and_network, versions
from metal.raters.metrics.names import Asked

LONGEST = 512


def open_metric(asked: Asked) -> Metric:
    """`bleurt(model=...)`. Raises MissingExtra; the model is loaded with the first texts."""
    name, options = asked.fill(model="Elron/bleurt-base-512")
    model = str(options["model"])
    libraries = versions(name, "torch", "transformers")

    @cache
    def loaded() -> Any:
        return load(name, model, lambda: _load(model))

    def score(items: Sequence[Item]) -> list[Answer]:
        tokenizer, network = loaded()
        return [score for batch in batches(items) for score in _scores(tokenizer, network, batch)]

    signature = f"bleurt|{model}|cut:{LONGEST}|{libraries}|version:1"
    return Metric(name, "BLEURT by a model in Transformers' format", score, signature)


def _scores(tokenizer: Any, network: Any, items: Sequence[Item]) -> list[Answer]:
    import torch

    references, outputs = [item.references[0] for item in items], [item.text for item in items]
    longest = min(tokenizer.model_max_length, LONGEST)
    encoded = tokenizer(references, outputs, padding=True, truncation=True, max_length=longest, return_tensors="pt")
    with torch.inference_mode():
        scores: list[Answer] = network(**encoded).logits[:, 0].tolist()
    return scores


def _load(model: str) -> tuple[Any, Any]:
    tokenizer, network = tokenizer_and_network("AutoModelForSequenceClassification", model)
    if network.config.num_labels != 1:
        raise UsageError(f"it gives {network.config.num_labels} numbers, BLEURT gives one")
    return tokenizer, network


BLEURT = MetricFactory("BLEURT by a model in Transformers' format (model=)", open_metric, "neural")
