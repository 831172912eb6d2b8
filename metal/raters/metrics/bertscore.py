"""BERTScore: tokens of output and reference matched by a model's contextual vectors.

Every token takes the most similar one of the other text (cosine); precision is the mean over the output's tokens,
recall over the reference's, the score their F1. As in the bert-score package: special tokens can be matched but do not
count; no weighting by rarity, no rescaling. Text beyond what the model reads is cut, which the signature says.

Source: Zhang et al. (2020), BERTScore: Evaluating Text Generation with BERT.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from metal.raters.metrics.contract import Answer, Item, Metric, MetricFactory
from metal.raters.metrics.local_models import batches, load, tokenizer_and_network, versions
from metal.raters.metrics.names import Asked

# Layers that follow people best, as published with the bert-score package.
LAYERS = {"bert-base-multilingual-cased": 9, "xlm-roberta-base": 9, "xlm-roberta-large": 17, "roberta-large": 17}
LONGEST = 512


def open_metric(asked: Asked) -> Metric:
    """`bertscore(model=..., layer=...)`; layer 0: the best known one, else the last.

    Raises MissingExtra; the model is loaded with the first texts.
    """
    name, options = asked.fill(model="bert-base-multilingual-cased", layer=0)
    model, layer = str(options["model"]), int(options["layer"])
    chosen = layer or LAYERS.get(model, -1)
    libraries = versions(name, "torch", "transformers")

    @cache
    def loaded() -> Any:
        return load(name, model, lambda: tokenizer_and_network("AutoModel", model))

    def score(items: Sequence[Item]) -> list[Answer]:
        tokenizer, network = loaded()
        pairs = [(item.text, item.references[0]) for item in items]
        return [answer for batch in batches(pairs) for answer in matched_f1(tokenizer, network, chosen, batch)]

    shown = "last" if chosen == -1 else str(chosen)
    signature = f"bertscore|{model}|layer:{shown}|f1|idf:no|rescaled:no|cut:{LONGEST}|{libraries}|version:1"
    return Metric(name, "F1 of tokens matched by a model's vectors", score, signature, low=-1.0, high=1.0)


def matched_f1(tokenizer: Any, network: Any, layer: int, pairs: Sequence[tuple[str, str]]) -> list[Answer]:
    """F1 of each (output, reference)."""
    import torch

    outputs = _vectors(tokenizer, network, layer, [output for output, _ in pairs])
    references = _vectors(tokenizer, network, layer, [reference for _, reference in pairs])
    answers: list[Answer] = []
    for (output, own_tokens), (reference, reference_tokens) in zip(outputs, references, strict=True):
        if not own_tokens.any() or not reference_tokens.any():
            answers.append("the model knows no token of the text")
            continue
        similarity = output @ reference.T
        precision = similarity.max(dim=1).values[own_tokens].mean()
        recall = similarity.max(dim=0).values[reference_tokens].mean()
        f1 = 2 * precision * recall / (precision + recall)
        answers.append(float(torch.clamp(f1, -1.0, 1.0)))
    return answers


def _vectors(tokenizer: Any, network: Any, layer: int, texts: Sequence[str]) -> list[tuple[Any, Any]]:
    """For each text (tokens, width) unit vectors of a layer, and which of the tokens are the text's own."""
    import torch

    longest = min(tokenizer.model_max_length, LONGEST)
    encoded = tokenizer(
        list(texts),
        padding=True,
        truncation=True,
        max_length=longest,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    special = encoded.pop("special_tokens_mask").bool()
    with torch.inference_mode():
        hidden = network(**encoded, output_hidden_states=True).hidden_states[layer]
    unit = torch.nn.functional.normalize(hidden.float(), dim=-1)
    seen = encoded["attention_mask"].bool()
    return [(unit[row][seen[row]], ~special[row][seen[row]]) for row in range(len(texts))]


BERTSCORE = MetricFactory("F1 of tokens matched by a model's vectors (model=, layer=)", open_metric, "neural")
