"""Baselines: what they know and what they must not know."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from metal.data.dataset import Dataset
from metal.data.records import Criterion, Level, Output, Scale, Source
from metal.errors import MetalError
from metal.raters.judges.baselines import lexical_rating, measure, run_baselines, terms_of
from tests.conftest import HALLUCINATIONS

MakeDataset = Callable[..., Dataset]


def scores(dataset: Dataset, name: str, seed: int = 0) -> dict[str, float]:
    _, facts = run_baselines(dataset, [name], seed=seed)
    return dict(zip(facts["output"], facts["score"], strict=True))


def test_majority_comes_from_the_other_languages(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": {"A1": [2] * 9}, "sw": {"A1": [0] * 3}, "ru": {"A1": [0] * 3}})
    predicted = scores(dataset, "majority")
    # hi looks at sw and ru (all 0); sw and ru look at hi and each other (2 in the majority)
    assert {predicted[name] for name in predicted if name.startswith("hi")} == {0}
    assert {predicted[name] for name in predicted if name.startswith(("sw", "ru"))} == {2}


def test_with_one_language_from_the_other_folds(make_dataset: MakeDataset) -> None:
    predicted = scores(make_dataset({"hi": {"A1": [1] * 40}}), "majority")
    assert set(predicted.values()) == {1}


def test_never_fitted_on_what_it_scores(make_dataset: MakeDataset) -> None:
    """Changing the ratings of a language does not change what majority and random say there."""
    rng = np.random.default_rng(0)
    base = {code: {"A1": rng.integers(0, 3, 30).tolist()} for code in ("hi", "sw", "ru")}
    changed = base | {"hi": {"A1": rng.integers(0, 3, 30).tolist()}}
    for name in ("majority", "random"):
        before, after = scores(make_dataset(base), name), scores(make_dataset(changed), name)
        assert [before[o] for o in before if o.startswith("hi")] == [
            after[o] for o in after if o.startswith("hi")
        ]


def test_random_is_seeded_and_follows_the_frequencies(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"hi": {"A1": [0] * 400}, "sw": {"A1": [2] * 300 + [0] * 100}})
    predicted = scores(dataset, "random")
    assert predicted == scores(dataset, "random")
    assert predicted != scores(dataset, "random", seed=1)
    share = np.mean([predicted[name] == 2 for name in predicted if name.startswith("hi")])
    assert share == pytest.approx(0.75, abs=0.08)


def test_nothing_to_learn_from_is_said(make_dataset: MakeDataset) -> None:
    _, facts = run_baselines(make_dataset({"hi": {"judge": [1, 1]}}), ["majority"])
    assert facts["score"].isna().all()
    assert set(facts["reason"].str.contains("no other sources")) == {True}


def test_unknown_judge(make_dataset: MakeDataset) -> None:
    with pytest.raises(MetalError, match="did you mean 'majority'"):
        run_baselines(make_dataset({"hi": {"A1": [1]}}), ["majorty"])


@pytest.mark.parametrize(
    ("language", "source", "copy"),
    [
        ("en", "The bridge was closed for nine months.", "The bridge was closed."),
        ("hi", "पुल नौ महीने तक बंद रहा।", "पुल बंद रहा।"),
        ("zh", "大桥关闭了九个月，上周重新开放。", "大桥关闭了九个月。"),
        ("ja", "橋は九か月のあいだ閉鎖されていた。", "橋は閉鎖されていた。"),
        ("ar", "ظل الجسر مغلقا تسعة أشهر.", "ظل الجسر مغلقا."),
        ("bn", "সেতুটি নয় মাস বন্ধ ছিল।", "সেতুটি বন্ধ ছিল।"),
        ("ru", "Мост был закрыт девять месяцев.", "Мост был закрыт."),
        ("th", "สะพานปิดเป็นเวลาเก้าเดือน", "สะพานปิด"),
    ],
)
def test_measures_work_in_every_script(language: str, source: str, copy: str) -> None:
    same = measure(source, source, language)
    assert (same.overlap, same.length, same.script) == (1.0, 1.0, 1.0)
    assert measure(copy, source, language).overlap > 0.6
    foreign = measure("Completely different words 42", source, language)
    assert foreign.overlap < 0.3
    assert foreign.new_numbers == ("42",)
    if language != "en":
        assert foreign.script == 0


def test_repetition_and_emptiness() -> None:
    assert measure("good good good good", "good news", "en").repetition > 0.5
    assert measure(" ... ", "good news", "en").empty
    assert terms_of("東京は Tokyo") == ["東京", "京は", "tokyo"]


def test_lexical_uses_the_ends_and_the_middle_of_longer_scales() -> None:
    five = Scale("ordinal", tuple(Level(float(value), str(value)) for value in range(1, 6)))
    source = Source("s", "en", "The cat sat on the mat. " * 5)
    predicted = {
        text: [
            lexical_rating(Output("o", "s", "g", "en", text), source, Criterion(name, five))[0]
            for name in NEWS
        ]
        for text in ("The cat sat on the mat", "A dog ran past 3 trees", source.text)
    }
    assert predicted == {
        "The cat sat on the mat": [5, 5, 5, 5],
        "A dog ran past 3 trees": [5, 5, 1, 1],
        source.text: [1, 1, 3, 5],
    }
    odd = Criterion("fluency", Scale("nominal", (Level(0, "a"), Level(1, "b"), Level(7, "c"))))
    assert lexical_rating(Output("o", "s", "g", "en", "The cat"), source, odd)[0] is None


NEWS = ("fluency", "coherence", "relevance", "consistency")


def test_lexical_says_when_it_has_no_rule(make_dataset: MakeDataset) -> None:
    _, facts = run_baselines(make_dataset({"en": {"A1": [0, 1]}}, HALLUCINATIONS), ["lexical"])
    assert facts["score"].notna().all()
    assert facts["comment"].str.contains("overlap").all()
