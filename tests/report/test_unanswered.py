"""A judge that leaves questions unanswered: the headline says so, and where."""

from __future__ import annotations

import metal
from metal.data.dataset import Dataset
from metal.questions.audit.avoid import silent
from metal.questions.audit.lead import lead
from metal.show.pages import headline
from tests.conftest import MakeDataset
from tests.saying import tells

TRUTH = [0, 0, 1, 1, 2, 2] * 20
THREE = {
    f"A{number}": [
        score + (1 if score < 2 else -1) if place % 10 == number else score
        for place, score in enumerate(TRUTH)
    ]
    for number in (1, 2, 3)
}


def answered(refused: int) -> list[int | None]:
    """A judge that answers as people do, but not the first questions."""
    return [None if place < refused else score for place, score in enumerate(THREE["A3"])]


def data(make_dataset: MakeDataset, refused: dict[str, dict[str, int]]) -> Dataset:
    """A dataset in which judges refuse so many of 120 questions, by language."""
    return make_dataset(
        {
            language: THREE | {judge: answered(number) for judge, number in of_judges.items()}
            for language, of_judges in refused.items()
        }
    )


def test_few_answers_in_one_language_are_named(make_dataset: MakeDataset) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 0}, "hi": {"gpt": 9}})
    run = metal.audit(ratings)
    often = "gpt answered only 92% of its questions in Hindi (95% needed)."
    assert headline(run).endswith(often)
    assert often in lead(run)  # so that the page's first screen says it, too


def test_few_answers_in_two_languages_are_named(make_dataset: MakeDataset) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 0}, "hi": {"gpt": 9}, "ta": {"gpt": 7}})
    assert tells(headline(metal.audit(ratings)), "92% of its questions in Hindi and 94% in Tamil")


def test_few_answers_in_all_are_said_once(make_dataset: MakeDataset) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 9}, "hi": {"gpt": 30}})
    text = headline(metal.audit(ratings))
    assert text.endswith("gpt answered only 84% of its questions (95% needed).")


def test_several_judges_are_counted(make_dataset: MakeDataset) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 0, "other": 8}, "hi": {"gpt": 9, "other": 0}})
    assert tells(headline(metal.audit(ratings)), "In 2 languages a judge answered less")


def test_enough_answers_are_not_mentioned(make_dataset: MakeDataset) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 0}, "hi": {"gpt": 6}})
    assert "answered" not in headline(metal.audit(ratings))


def test_few_answers_on_one_criterion_are_named() -> None:
    cells = [
        {"judge": "gpt", "language": "en", "criterion": name, "asked": 100, "answered": answers}
        for name, answers in (("fluency", 90), ("tone", 100), ("style", 97))
    ]
    assert tells(silent(cells, ["gpt"]), "gpt answered only 90% of its questions on fluency (95%")


def test_a_judge_that_only_refuses_too_often_is_not_said_to_agree(
    make_dataset: MakeDataset,
) -> None:
    ratings = data(make_dataset, {"en": {"gpt": 9}, "hi": {"gpt": 9}})
    text = headline(metal.audit(ratings))
    assert tells(text, "gpt is not shown to agree", "answered only 92% of its questions (95%")
    assert "recalibrated" not in text
