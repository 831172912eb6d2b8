"""Scores of generators as a whole: kept in a dataset folder, merged, and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from metal.data.dataset import Card, Dataset, assemble, load_dataset, save_dataset, with_parts
from metal.data.generator_scores import FILE, generator_scores, joined_scores, of_whole
from metal.data.merge import merge
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Output, Rater, Rating, Source
from metal.errors import DataError
from tests.saying import tells

ROWS = [
    ("en-de", "Online-B", "", "", "score", "BLEU", 45.5),
    ("en-de", "Online-B", "news", "", "score", "BLEU", 40.0),
    ("en-de", "Online-W", "", "", "score", "BLEU", 47.25),
]


def dataset(rows: list[tuple[object, ...]] = ROWS, *generators: str) -> Dataset:
    names = generators or ("Online-B", "Online-W")
    return assemble(
        Card("pair"),
        [METRIC_SCORE],
        [Source("1", "en-de", "a", document="aj.1", domain="news")],
        [Output(f"1/{name}", "1", name, "en-de") for name in names],
        [Rater("BLEU", "metric"), Rater("chrF", "metric")],
        facts_from([Rating(f"1/{name}", "score", "BLEU", 1.0) for name in names]),
        of_generators=generator_scores(rows),
    )


def rows_of(scores: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(scores.astype(object).itertuples(index=False, name=None))


def test_a_folder_keeps_scores_and_documents(tmp_path: Path) -> None:
    save_dataset(dataset(), tmp_path / "pair")
    again = load_dataset(tmp_path / "pair")
    assert rows_of(again.generator_scores) == ROWS
    assert rows_of(of_whole(again.generator_scores)) == [ROWS[0], ROWS[2]]
    assert (again.sources["1"].document, again.sources["1"].domain) == ("aj.1", "news")


def test_without_scores_there_is_no_file(tmp_path: Path) -> None:
    save_dataset(dataset([]), tmp_path / "pair")
    assert not (tmp_path / "pair" / FILE).exists()
    assert load_dataset(tmp_path / "pair").generator_scores.empty


def test_the_digest_tells_scores_apart() -> None:
    other = [(*ROWS[0][:-1], 45.25), *ROWS[1:]]
    assert dataset().digest == dataset(ROWS[::-1]).digest != dataset(other).digest
    assert dataset([]).digest != dataset().digest


@pytest.mark.parametrize(
    "row, problem",
    [
        (
            ("en-de", "Online-A", "", "", "score", "BLEU", 1.0),
            "generator 'Online-A' does not exist",
        ),
        (("en-de", "Online-B", "", "", "mqm", "BLEU", 1.0), "criterion 'mqm' does not exist"),
        (("en-de", "Online-B", "", "", "score", "TER", 1.0), "rater 'TER' does not exist"),
        (("en-de", "Online-B", "", "", "score", "chrF", float("inf")), "not a finite number"),
        (("en-de", "Online-B", "", "", "score", "chrF", float("nan")), "not a finite number"),
        (ROWS[0], "'BLEU' scores 'Online-B' in en-de twice"),
    ],
)
def test_wrong_rows_are_named(row: tuple[object, ...], problem: str) -> None:
    with pytest.raises(DataError) as raised:
        dataset([*ROWS, row])
    assert tells(str(raised.value), "generator_scores.parquet row 4", problem)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    save_dataset(dataset(), tmp_path / "pair")
    (tmp_path / "pair" / FILE).write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="damaged Parquet"):
        load_dataset(tmp_path / "pair")
    pd.DataFrame({"generator": ["x"]}).to_parquet(tmp_path / "pair" / FILE)
    with pytest.raises(DataError) as raised:
        load_dataset(tmp_path / "pair")
    assert tells(str(raised.value), "the columns are generator", "language, generator, domain")


def test_scores_go_with_their_rater() -> None:
    chrf = with_parts(
        dataset(),
        raters=[Rater("chrF", "metric")],
        facts=facts_from([Rating("1/Online-B", "score", "chrF", 1.0)]),
    )
    assert chrf.generator_scores.empty


def test_a_score_that_both_have_is_ours() -> None:
    theirs = generator_scores([(*ROWS[0][:-1], 1.0), ("en-de", "X", "", "", "score", "BLEU", 2.0)])
    assert rows_of(joined_scores(generator_scores(ROWS), theirs))[:3] == ROWS
    assert rows_of(joined_scores(generator_scores(ROWS), theirs))[3][-1] == 2.0


def test_merging_adds_the_scores_of_our_generators() -> None:
    base = dataset(ROWS[:1])
    more = [
        ("en-de", "B", "", "", "score", "chrF", 60.0),
        ("en-de", "C", "", "", "score", "chrF", 1.0),
    ]
    incoming = replace(dataset(more, "B", "C"))
    merged, _ = merge(base, incoming, map_generators={"B": "Online-B"})
    assert rows_of(merged.generator_scores) == [
        ROWS[0],
        ("en-de", "Online-B", "", "", "score", "chrF", 60.0),
    ]
