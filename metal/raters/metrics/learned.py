"""Learned metrics: BERTScore, BLEURT, cosines of sentence vectors, COMET and COMET-QE.

A model is a folder on this machine, or is already in the Hugging Face cache. METAL downloads
nothing: if a name is not in the cache, the error says how to get the model. A model is loaded when
it gets its first texts. Text beyond the model's limit is cut; if METAL cuts it, the signature says
so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from metal.errors import MissingExtra, UsageError
from metal.raters.metrics.contract import Answer, Asked, Item, Metric, MetricFactory

BATCH = 32
LONGEST = 512  # tokens of a text that BERTScore and BLEURT read
# Layers that follow people best, as published with the bert-score package.
LAYERS = {
    "bert-base-multilingual-cased": 9,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "roberta-large": 17,
}
COMETS = {"comet": "Unbabel/wmt22-comet-da", "comet-qe": "Unbabel/wmt22-cometkiwi-da"}

Thing = TypeVar("Thing")


def open_bertscore(asked: Asked) -> Metric:
    """Open `bertscore(model=..., layer=...)`. Layer 0 means the best known layer, else the last.
    Raises MissingExtra.

    Tokens of output and reference are matched by a model's contextual vectors: each token is
    matched with the most similar token of the other text (by cosine). Precision is the mean over
    the output's tokens, recall the mean over the reference's tokens, and the score is their F1. As
    in the bert-score package, special tokens can be matched but do not count; there is no weighting
    by rarity and no rescaling. Source: Zhang et al. (2020), BERTScore: Evaluating Text Generation
    with BERT.
    """
    name, options = asked.fill(model="bert-base-multilingual-cased", layer=0)
    model, layer = str(options["model"]), int(options["layer"])
    chosen = layer or LAYERS.get(model, -1)
    libraries = _versions(name, "torch", "transformers")
    loaded = cache(partial(_load, name, model, partial(_tokenizer_and_network, "AutoModel")))

    def score(items: Sequence[Item]) -> list[Answer]:
        pairs = [(item.text, item.references[0]) for item in items]
        return [
            answer for batch in _batches(pairs) for answer in _matched_f1(*loaded(), chosen, batch)
        ]

    shown = "last" if chosen == -1 else str(chosen)
    signature = (
        f"bertscore|{model}|layer:{shown}|f1|idf:no|rescaled:no|cut:{LONGEST}|{libraries}|version:1"
    )
    return Metric(
        name, "F1 of tokens matched by a model's vectors", score, signature, low=-1.0, high=1.0
    )


def _matched_f1(
    tokenizer: Any, network: Any, layer: int, pairs: Sequence[tuple[str, str]]
) -> list[Answer]:
    """F1 of each (output, reference)."""
    import torch

    outputs = _vectors(tokenizer, network, layer, [output for output, _ in pairs])
    references = _vectors(tokenizer, network, layer, [reference for _, reference in pairs])
    answers: list[Answer] = []
    for (output, own_tokens), (reference, reference_tokens) in zip(
        outputs, references, strict=True
    ):
        if not own_tokens.any() or not reference_tokens.any():
            answers.append("the model knows no token of the text")
            continue
        similarity = output @ reference.T
        precision = similarity.max(dim=1).values[own_tokens].mean()
        recall = similarity.max(dim=0).values[reference_tokens].mean()
        f1 = 2 * precision * recall / (precision + recall)
        answers.append(float(torch.clamp(f1, -1.0, 1.0)))
    return answers


def _vectors(
    tokenizer: Any, network: Any, layer: int, texts: Sequence[str]
) -> list[tuple[Any, Any]]:
    """For each text, the unit vectors of a layer, (tokens, width), and which tokens belong to the
    text itself.
    """
    import torch

    encoded = _encoded(tokenizer, list(texts), return_special_tokens_mask=True)
    special = encoded.pop("special_tokens_mask").bool()
    with torch.inference_mode():
        hidden = network(**encoded, output_hidden_states=True).hidden_states[layer]
    unit = torch.nn.functional.normalize(hidden.float(), dim=-1)
    seen = encoded["attention_mask"].bool()
    return [(unit[row][seen[row]], ~special[row][seen[row]]) for row in range(len(texts))]


def open_bleurt(asked: Asked) -> Metric:
    """Open `bleurt(model=...)`: a model trained on people's ratings, which reads reference and
    output together.

    The model has a single output and is in Transformers' format, such as Elron/bleurt-base-512 and
    its other sizes. Scores have no fixed range; identical texts score about 1. Raises MissingExtra.
    Source: Sellam et al. (2020), BLEURT: Learning Robust Metrics for Text Generation.
    """
    name, options = asked.fill(model="Elron/bleurt-base-512")
    model = str(options["model"])
    libraries = _versions(name, "torch", "transformers")
    loaded = cache(partial(_load, name, model, _bleurt))

    def score(items: Sequence[Item]) -> list[Answer]:
        return [answer for batch in _batches(items) for answer in _bleurt_scores(*loaded(), batch)]

    signature = f"bleurt|{model}|cut:{LONGEST}|{libraries}|version:1"
    return Metric(name, "BLEURT by a model in Transformers' format", score, signature)


def _bleurt_scores(tokenizer: Any, network: Any, items: Sequence[Item]) -> list[Answer]:
    import torch

    encoded = _encoded(
        tokenizer, [item.references[0] for item in items], [item.text for item in items]
    )
    with torch.inference_mode():
        scores: list[Answer] = network(**encoded).logits[:, 0].tolist()
    return scores


def _bleurt(model: str) -> tuple[Any, Any]:
    tokenizer, network = _tokenizer_and_network("AutoModelForSequenceClassification", model)
    if network.config.num_labels != 1:
        raise UsageError(f"it gives {network.config.num_labels} numbers, BLEURT gives one")
    return tokenizer, network


def open_embedding(asked: Asked) -> Metric:
    """Open `embedding(model=..., to=reference|source)`: the cosine of two whole texts. Raises
    MissingExtra.

    The model can be any model of sentence-transformers. With to=source no references are needed,
    because a multilingual model compares an output with its source, also across languages. The
    model decides which texts count as similar.
    """
    name, options = asked.fill(model="sentence-transformers/LaBSE", to=("reference", "source"))
    model, to = str(options["model"]), str(options["to"])
    libraries = _versions(name, "sentence-transformers", "torch", "transformers")
    loaded = cache(partial(_load, name, model, _sentence_transformer))

    def score(items: Sequence[Item]) -> list[Answer]:
        others = [item.source if to == "source" else item.references[0] for item in items]
        return _cosines(loaded(), [item.text for item in items], others)

    return Metric(
        name,
        f"cosine of sentence vectors of output and {to}",
        score,
        f"embedding|{model}|to:{to}|{libraries}|version:1",
        needs=("source",) if to == "source" else ("references",),
        low=-1.0,
        high=1.0,
    )


def _cosines(model: Any, left: Sequence[str], right: Sequence[str]) -> list[Answer]:
    """The cosine of each pair. The model reads each text once."""
    # sorted, so that batches, and so roundings, depend on nothing but the texts
    texts = sorted({*left, *right})
    vectors = model.encode(
        texts,
        batch_size=BATCH,
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=False,
    )
    vector_of = dict(zip(texts, vectors, strict=True))
    cosines = [
        float(vector_of[text] @ vector_of[other]) for text, other in zip(left, right, strict=True)
    ]
    return [min(1.0, max(-1.0, cosine)) for cosine in cosines]


def _sentence_transformer(model: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(model, local_files_only=True, device="cpu")


def open_comet(asked: Asked) -> Metric:
    """Open `comet(model=...)` or `comet-qe(model=...)`. model: a checkpoint file (.ckpt), or a name
    in the local cache.

    The package unbabel-comet needs numpy below 2, and METAL needs numpy 2 or newer, so they cannot
    be installed together. Run COMET in a separate environment, and let METAL read its scores. If
    the package is installed nevertheless, it is used; otherwise UsageError says how to get the
    scores. Source: Rei et al. (2020), COMET: A Neural Framework for MT Evaluation; Rei et al.
    (2022), CometKiwi.
    """
    name, options = asked.fill(model=COMETS[asked.name])
    model, with_references = str(options["model"]), asked.name == "comet"
    if importlib.util.find_spec("comet") is None:
        raise UsageError(
            f"metric {name} needs unbabel-comet, which needs numpy below 2 and so an environment of"
            " its own. "
            f"Score there (pip install unbabel-comet; comet-score --model {model}), write the"
            " scores to a CSV with "
            "the columns output and score, and bring them in with: "
            f'`metal.score("DATASET", from_file="FILE.csv", name="{asked.name}")`'
        )
    loaded = cache(partial(_load, name, model, _comet))

    def score(items: Sequence[Item]) -> list[Answer]:
        texts = [{"src": item.source, "mt": item.text} for item in items]
        if with_references:
            texts = [
                text | {"ref": item.references[0]} for text, item in zip(texts, items, strict=True)
            ]
        scores: list[Answer] = (
            loaded().predict(texts, batch_size=BATCH, gpus=0, progress_bar=False).scores
        )
        return scores

    summary = "COMET" if with_references else "COMET without references"
    return Metric(
        name,
        summary,
        score,
        f"{asked.name}|{model}|unbabel-comet:{metadata.version('unbabel-comet')}|version:1",
        needs=("references", "source") if with_references else ("source",),
    )


def _comet(model: str) -> Any:
    import comet
    from huggingface_hub import snapshot_download

    path = Path(model)
    if not path.is_file():  # comet.download_model would go to the network after all
        path = Path(snapshot_download(model, local_files_only=True)) / "checkpoints" / "model.ckpt"
    return comet.load_from_checkpoint(str(path), local_files_only=True).eval()


# ---------------------------------------------------------------- models


def _versions(metric: str, *packages: str) -> str:
    """The versions of packages for a signature, such as `torch:2.9.0|transformers:5.0.0`. Raises
    MissingExtra if a package is not installed.
    """
    try:
        return "|".join(f"{package}:{metadata.version(package)}" for package in packages)
    except metadata.PackageNotFoundError:
        raise MissingExtra(f"metric {metric}", "neural") from None


def _load(metric: str, model: str, loader: Callable[[str], Thing]) -> Thing:
    """Load a model with `loader`. Raises UsageError with a remedy if the model is missing or of the
    wrong kind.
    """
    local = Path(model).exists()
    if not local and model.startswith(("/", ".", "~")):
        raise UsageError(f"metric {metric}: there is no model in {model}")
    try:
        return loader(model)
    except Exception as error:  # the libraries raise many kinds
        line = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        remedy = (
            ""
            if local
            else f". Download the model first (hf download {model}), or name its folder: model=PATH"
        )
        raise UsageError(
            f"metric {metric}: model {model!r} cannot be loaded: {line}{remedy}"
        ) from error


def _tokenizer_and_network(kind: str, model: str) -> tuple[Any, Any]:
    """A model of Transformers' class `kind` and its tokenizer, ready to be asked.

    Raises UsageError if the files lack some of its weights, because Transformers would fill them
    with random values.
    """
    import transformers

    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model, local_files_only=True)
    network, report = getattr(transformers, kind).from_pretrained(
        model, local_files_only=True, output_loading_info=True
    )
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise UsageError(f"its files lack {missing[0]}: it is another kind of model")
    return tokenizer, network.eval()


def _encoded(tokenizer: Any, *texts: list[str], **more: bool) -> Any:
    """Turn texts, or pairs of texts, into tensors for a network."""
    longest = min(tokenizer.model_max_length, LONGEST)
    return tokenizer(
        *texts, padding=True, truncation=True, max_length=longest, return_tensors="pt", **more
    )


def _batches(items: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))


BERTSCORE = MetricFactory(
    "F1 of tokens matched by a model's vectors (model=, layer=)", open_bertscore, "neural"
)
BLEURT = MetricFactory("BLEURT by a model in Transformers' format (model=)", open_bleurt, "neural")
EMBEDDING = MetricFactory(
    "cosine of sentence vectors (model=, to=reference|source)", open_embedding, "neural"
)
COMET = MetricFactory("COMET (model=); needs an environment of its own", open_comet)
COMET_QE = MetricFactory(
    "COMET without references (model=); needs an environment of its own", open_comet
)
