"""Models of a few thousand weights, made on the spot: they know nothing, but are loaded and asked as real ones are."""

from __future__ import annotations

from pathlib import Path

WIDTH = 32
LONGEST = 128  # tokens


def tiny_bert(folder: Path, *, labels: int | None = None) -> Path:
    """A BERT of two layers over single characters, saved as Transformers save it; with labels, a classifier."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    from metal.raters.metrics.conformance import SAMPLES

    letters = sorted(set("".join(SAMPLES.values()).lower()) - {" "})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), model_max_length=LONGEST)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    settings = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
    )
    if labels is None:
        BertModel(settings).save_pretrained(folder)
    else:
        settings.num_labels = labels
        BertForSequenceClassification(settings).save_pretrained(folder)
    return folder


def tiny_comet(folder: Path, kind: str) -> Path:
    """A COMET over the same BERT, `regression_metric` or `referenceless_regression_metric`, as its checkpoint file."""
    import torch
    import yaml
    from comet.models import str2model

    settings = {
        "encoder_model": "BERT",
        "pretrained_model": str(tiny_bert(folder / "bert")),
        "hidden_sizes": [16],
        "class_identifier": kind,
    }
    given = {key: value for key, value in settings.items() if key != "class_identifier"}
    checkpoint = folder / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    torch.manual_seed(7)
    weights = str2model[kind](**given).state_dict()
    torch.save({"state_dict": weights, "hyper_parameters": given, "pytorch-lightning_version": "2.0.0"}, checkpoint)
    (folder / "hparams.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return checkpoint


def tiny_sentence_model(folder: Path) -> Path:
    """The same BERT with mean pooling, saved as sentence-transformers save it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    words = Transformer(str(tiny_bert(folder / "bert")))
    pooling = Pooling(WIDTH)
    SentenceTransformer(modules=[words, pooling], device="cpu").save(str(folder / "sentences"))
    return folder / "sentences"
