"""Texts that a dataset lacks are joined by the ids of its sources."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.data.dataset import Card, Dataset, assemble
from metal.data.formats import hugging_face
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Scale, Source
from metal.data.tables.texts import join_texts
from metal.errors import DataError, UsageError
from tests.cli.test_commands import metal as command
from tests.cli.test_commands import words
from tests.conftest import write_table


@pytest.fixture
def dataset() -> Dataset:
    """Sources as `metal sample` and METAL's release name them, two of them with the same id in two
    languages.
    """
    sources = [Source(name, name[:2]) for name in ("sw/7", "sw/07", "ar/7", "ar/8")]
    sources.append(Source("ar/9", "ar", "there already", "title"))
    outputs = [
        Output(f"o{source.source}", source.source, "g", source.language) for source in sources
    ]
    ratings = [Rating(output.output, "c", "A", 1) for output in outputs]
    return assemble(
        Card("d"),
        [Criterion("c", Scale("interval"))],
        sources,
        outputs,
        [Rater("A", "human")],
        facts_from(ratings),
    )


def texts(dataset: Dataset) -> list[str]:
    return [source.text for source in dataset.sources.values()]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("columns", [("id", "text"), ("source", "source_text")])
def test_from_a_table(
    tmp_path: Path, dataset: Dataset, ending: str, columns: tuple[str, str]
) -> None:
    """An id without its language means a source only where no other has it: `7` could be two."""
    rows = [
        ("7", "?"),
        ("ar/7", "a\n, seven"),
        ("07", "zero seven"),
        ("8", "نص"),
        ("9", "another"),
        ("x", "y"),
    ]
    path = write_table(pd.DataFrame(rows, columns=list(columns)), tmp_path / f"t{ending}")
    joined = join_texts(dataset, str(path))
    assert texts(joined) == ["", "zero seven", "a\n, seven", "نص", "there already"]
    assert joined.report == (f"3 of 4 missing texts are from {path}; without text: sw/7",)
    assert joined.digest == dataset.digest
    assert (
        join_texts(
            joined, str(write_table(pd.DataFrame([("sw/7", "s")], columns=list(columns)), path))
        )
        .sources["sw/7"]
        .text
        == "s"
    )


def test_from_xl_sum_and_folders_like_it(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    rows = {
        ("arabic", "test"): [{"id": "7", "text": "a7", "title": "t", "summary": "s"}],
        ("arabic", "validation"): [{"id": "8", "text": "a8"}],
        ("swahili", "test"): [{"id": "7", "text": "s7"}],
        ("swahili", "train"): [{"id": "07", "text": "s07"}, {"id": "x", "text": "never read"}],
    }
    asked = []

    def load_dataset(name: str, language: str, split: str, revision: str) -> object:
        asked.append((name, revision))
        return iter(rows.get((language, split), []))

    monkeypatch.setattr(hugging_face, "hub_answers", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    joined = join_texts(dataset, "xlsum")
    assert texts(joined) == ["s7", "s07", "a7", "a8", "there already"]
    assert joined.sources["ar/7"].title == "t"
    assert joined.sources["ar/7"].references == ("s",)
    assert set(asked) == {("csebuetnlp/xlsum", "refs/convert/parquet")}
    (tmp_path / "arabic_test.jsonl").write_text(json.dumps({"id": "7", "text": "a7"}) + "\n")
    assert texts(join_texts(dataset, str(tmp_path))) == ["", "", "a7", "", "there already"]


def test_what_cannot_be_joined(tmp_path: Path, dataset: Dataset) -> None:
    path = tmp_path / "t.csv"
    for content, message in (
        ("id,text\nq,x\n", "like 'q', those of sources like 'sw/7'"),
        ("id,text\nsw/7,x\nsw/7,y\n", "row 2: id 'sw/7' has two texts"),
        ("nr,text\n1,x\n", r"no column id or source or source_id \(columns found: nr, text\)"),
        ("id,body\n1,x\n", "no column text or source_text or passage"),
    ):
        path.write_text(content)
        with pytest.raises(DataError, match=message):
            join_texts(dataset, str(path))
    with pytest.raises(UsageError, match=r"no such file or folder.*`texts`.*xlsum"):
        join_texts(dataset, str(tmp_path / "none"))


def test_on_import_and_for_a_dataset_of_ones_own(tmp_path: Path, dataset: Dataset) -> None:
    table = pd.DataFrame(
        {"source": ["sw/7", "ar/7"], "language": ["sw", "ar"], "rater": "A", "score": [0, 1]}
    )
    given = pd.DataFrame({"id": ["sw/7", "ar/7"], "text": ["s7", "a7"]})
    write_table(table, tmp_path / "ratings.csv")
    write_table(given, tmp_path / "texts.csv")
    assert texts(metal.read(tmp_path / "ratings.csv", texts=tmp_path / "texts.csv")) == ["s7", "a7"]
    dataset.save(tmp_path / "mine")
    (tmp_path / "mine" / "annotation").mkdir()
    done = command("import", "--texts", "texts.csv", "--into", "mine", cwd=tmp_path)
    assert "2 of 4 missing texts are from texts.csv; without text: sw/07, ar/8" in words(done.out)
    assert texts(metal.read(tmp_path / "mine")) == ["s7", "", "a7", "", "there already"]
    assert (tmp_path / "mine" / "annotation").is_dir()  # what else lies there stays
    again = command("import", "--texts", "texts.csv", "--into", "mine", cwd=tmp_path)
    assert "0 of 2 missing texts" in words(again.out)
