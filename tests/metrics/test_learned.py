"""Learned metrics on models of a few thousand weights made here, and what is said where libraries
are missing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from metal.errors import MissingExtra, UsageError
from metal.raters.metrics import Item, Metric, find_metric, score_all
from metal.raters.metrics.conformance import SAMPLES, conformance

INSTALLED = all(
    importlib.util.find_spec(name) for name in ("torch", "transformers", "sentence_transformers")
)
COMET = importlib.util.find_spec("comet") is not None
learned = pytest.mark.skipif(
    not INSTALLED, reason="needs pip install 'metal-eval[neural]' (PyTorch)"
)
# The libraries warn of their own future; that is no fault of METAL.
quiet = pytest.mark.filterwarnings("default")
ITEMS = [Item(text, (text, SAMPLES["en"]), text, code) for code, text in SAMPLES.items()]

# The models know nothing, but are loaded and asked as real ones are.
WIDTH = 32
LONGEST = 128  # tokens


def tiny_bert(folder: Path, *, labels: int | None = None) -> Path:
    """A BERT of two layers over single characters, saved as Transformers save it; with labels, a
    classifier.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

    letters = sorted(set("".join(SAMPLES.values()).lower()) - {" "})
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
    ]
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
    """A COMET over the same BERT, `regression_metric` or `referenceless_regression_metric`, as its
    checkpoint file.
    """
    import torch
    import yaml
    from comet.models import str2model

    bert = str(tiny_bert(folder / "bert"))
    given = {"encoder_model": "BERT", "pretrained_model": bert, "hidden_sizes": [16]}
    checkpoint = folder / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    torch.manual_seed(7)
    weights = str2model[kind](**given).state_dict()
    torch.save(
        {"state_dict": weights, "hyper_parameters": given, "pytorch-lightning_version": "2.0.0"},
        checkpoint,
    )
    (folder / "hparams.yaml").write_text(
        yaml.safe_dump(given | {"class_identifier": kind}), encoding="utf-8"
    )
    return checkpoint


def tiny_sentence_model(folder: Path) -> Path:
    """The same BERT with mean pooling, saved as sentence-transformers save it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    words = Transformer(str(tiny_bert(folder / "bert")))
    pooling = Pooling(WIDTH)
    SentenceTransformer(modules=[words, pooling], device="cpu").save(str(folder / "sentences"))
    return folder / "sentences"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


def faults(metric: Metric) -> list[str]:
    ticks: Callable[[], int] = count().__next__
    return [result.trial for result in conformance(metric, clock=ticks) if result.holds is False]


@learned
@quiet
def test_bertscore(bert: Path) -> None:
    metric = find_metric(f"bertscore(model={bert}, layer=1)")
    assert find_metric(metric.name) == metric
    assert "|layer:1|" in metric.signature
    assert faults(metric) == []
    last, first = (
        score_all(find_metric(f"bertscore(model={bert}{more})"), ITEMS[::-1])
        for more in ("", ", layer=1")
    )
    assert first == pytest.approx([1.0] * 45)
    assert last == pytest.approx([1.0] * 45)


@learned
@quiet
def test_bertscore_pair_by_pair(bert: Path) -> None:
    """The definition, written out for one pair: the best cosine of each token, special tokens not
    counted.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    output, reference = SAMPLES["sw"], SAMPLES["tr"]
    tokenizer, network = AutoTokenizer.from_pretrained(bert), AutoModel.from_pretrained(bert).eval()

    def vectors(text: str) -> np.ndarray:
        with torch.inference_mode():
            hidden = network(
                **tokenizer(text, return_tensors="pt"), output_hidden_states=True
            ).hidden_states[1][0]
        return (hidden / hidden.norm(dim=1, keepdim=True)).numpy()

    cosines = vectors(output) @ vectors(reference).T
    precision, recall = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
    expected = 2 * precision * recall / (precision + recall)
    metric = find_metric(f"bertscore(model={bert}, layer=1)")
    beside_others = [Item(SAMPLES["en"], (SAMPLES["yo"],)), Item(output, (reference,))]
    assert score_all(metric, beside_others)[1] == pytest.approx(expected, abs=1e-6)


@learned
@quiet
def test_bleurt_reads_reference_then_output(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    rater = tiny_bert(tmp_path, labels=1)
    tokenizer = AutoTokenizer.from_pretrained(rater)
    network = AutoModelForSequenceClassification.from_pretrained(rater).eval()
    with torch.inference_mode():
        expected = float(
            network(**tokenizer(SAMPLES["tr"], SAMPLES["sw"], return_tensors="pt")).logits
        )
    metric = find_metric(f"bleurt(model={rater})")
    result = score_all(metric, [Item(SAMPLES["sw"], (SAMPLES["tr"],)), Item("a", ("b",)), Item("")])
    assert result[0] == pytest.approx(expected, abs=1e-6)
    assert result[2] is None
    assert set(faults(metric)) <= {"direction"}  # its weights were drawn by chance


@learned
@quiet
def test_a_model_without_its_rating_head_is_refused(bert: Path) -> None:
    # Transformers would fill in the missing weights by chance and score all the same.
    with pytest.raises(UsageError, match="its files lack classifier"):
        score_all(find_metric(f"bleurt(model={bert})"), [Item("a", ("b",))])


@learned
@quiet
def test_embedding(tmp_path: Path) -> None:
    sentences = tiny_sentence_model(tmp_path)
    metric = find_metric(f"embedding(model={sentences})")
    assert faults(metric) == []
    to_source = find_metric(f"embedding(model={sentences}, to=source)")
    assert to_source.needs == ("source",)
    assert faults(to_source) == []
    first, second = SAMPLES["sw"], SAMPLES["tr"]
    assert score_all(metric, [Item(first, (second,))]) == score_all(
        to_source, [Item(first, (), second)]
    )


@learned
@quiet
@pytest.mark.parametrize("name", ["bertscore", "bleurt", "embedding"])
def test_nothing_is_downloaded(name: str) -> None:
    with pytest.raises(UsageError, match="there is no model in /nowhere"):
        score_all(find_metric(f"{name}(model=/nowhere)"), [Item("a", ("b",))])
    with pytest.raises(UsageError, match="hf download nobody/nothing"):
        score_all(find_metric(f"{name}(model=nobody/nothing)"), [Item("a", ("b",))])


@pytest.mark.skipif(INSTALLED, reason="PyTorch is installed")
@pytest.mark.parametrize("name", ["bertscore", "bleurt", "embedding"])
def test_what_to_install(name: str) -> None:
    with pytest.raises(
        MissingExtra, match=rf"metric {name} needs .* pip install 'metal-eval\[neural\]'"
    ):
        find_metric(name)


@pytest.mark.skipif(
    not COMET, reason="needs unbabel-comet, which needs numpy below 2: an environment of its own"
)
@quiet
@pytest.mark.parametrize(
    ("name", "kind"),
    [("comet", "regression_metric"), ("comet-qe", "referenceless_regression_metric")],
)
def test_comet(name: str, kind: str, tmp_path: Path) -> None:
    import comet

    checkpoint = tiny_comet(tmp_path, kind)
    metric = find_metric(f"{name}(model={checkpoint})")
    assert find_metric(metric.name) == metric
    source, output, reference = SAMPLES["zh"], SAMPLES["en"], SAMPLES["pcm"]
    asked = {"src": source, "mt": output} | ({"ref": reference} if name == "comet" else {})
    network = comet.load_from_checkpoint(str(checkpoint)).eval()
    expected = network.predict([asked], gpus=0, progress_bar=False).scores
    items = [
        Item(output, (reference,), source, "zh-en"),
        Item(output, (reference,)),
        Item("", (reference,), source),
    ]
    assert score_all(metric, items) == [pytest.approx(expected[0], abs=1e-6), None, None]


@pytest.mark.skipif(COMET, reason="unbabel-comet is installed")
@pytest.mark.parametrize("name", ["comet", "comet-qe"])
def test_comet_lives_elsewhere(name: str) -> None:
    with pytest.raises(UsageError, match="environment of its own") as error:
        find_metric(name)
    assert 'metal.score("DATASET", from_file="FILE.csv"' in str(error.value)
