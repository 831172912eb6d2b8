"""What an export carries besides scores comes back: repeats, pairs, references, justifications.
What a target cannot hold is said, with its count.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.auditing.as_read import as_read
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import COMPARED, Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.errors import DataError
from tests.saying import tells

TABLES = ("csv", "jsonl", "parquet", "hf")
HARNESSES = ("promptfoo", "deepeval", "argilla", "label-studio")
TONE = Criterion("tone", Scale("ordinal", (Level(0, "No"), Level(1, "Yes"))), question="Polite?")
Read = Callable[[Dataset, str], tuple[Dataset, list[str]]]


@pytest.fixture
def through(tmp_path: Path) -> Read:
    """Export a dataset and read it back, with the warnings of the export."""

    def read(dataset: Dataset, to: str) -> tuple[Dataset, list[str]]:
        out = tmp_path / f"out-{to}"
        texts = to in TABLES
        table = metal.export(dataset, to=to, out=out, texts=texts)
        return metal.read(out, **({"format": "hf"} if to == "hf" else {})), table.attrs["warnings"]

    return read


def rows(dataset: Dataset) -> pd.DataFrame:
    table = dataset.ratings.astype({name: "str" for name in dataset.ratings if name != "score"})
    return table.sort_values(["output", "criterion", "rater"]).reset_index(drop=True)


def of_answers(ratings: list[Rating], *raters: Rater, sources: tuple[Source, ...] = ()) -> Dataset:
    sources = sources or (Source("s1", "en", "Why?"), Source("s2", "en", "How?"))
    outputs = tuple(
        Output(f"o{number}", source.source, "new", "en", f"Text {number}.")
        for number, source in enumerate(sources, 1)
    )
    return assemble(Card("answers"), (TONE,), sources, outputs, raters, facts_from(ratings))


# ---------------------------------------------------------------- repeats


def asked_again() -> Dataset:
    """A judge asked three times; the third time answered where the first did not."""
    judges = [Rater("gpt", "llm", "big")]
    judges += [Rater(f"gpt#{n}", "llm", "big", {"repeats": "gpt", "sample": n}) for n in (2, 3)]
    ratings = [Rating("o1", "tone", "ana", 1), Rating("o2", "tone", "ana", 0)]
    ratings += [Rating("o1", "tone", "gpt", 1), Rating("o1", "tone", "gpt#2", 0, "", "So.")]
    ratings += [Rating("o2", "tone", "gpt#2", None, "refused"), Rating("o2", "tone", "gpt#3", 1)]
    return of_answers(ratings, Rater("ana", "human"), *judges)


@pytest.mark.parametrize("to", TABLES + HARNESSES)
def test_repeats_stay_repeats(to: str, through: Read) -> None:
    dataset = asked_again()
    again, _ = through(dataset, to)
    assert again.raters == dataset.raters
    pd.testing.assert_frame_equal(rows(again)[rows(dataset).columns], rows(dataset))


def test_a_table_writes_repeats_under_the_judges_name(tmp_path: Path) -> None:
    metal.export(asked_again(), to="csv", out=tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    assert set(table["rater"]) == {"ana", "gpt"}
    assert sorted(table["repeat"]) == [1, 1, 1, 2, 2, 3]
    metal.export(asked_again(), to="csv", out=tmp_path / "out.csv", force=True)  # it is its own


def test_repeats_under_other_names_are_said(tmp_path: Path) -> None:
    second = Rater("gpt, later", "llm", "", {"repeats": "gpt", "sample": 2})
    ratings = [Rating("o1", "tone", name, 1) for name in ("gpt", "gpt, later")]
    dataset = of_answers(ratings, Rater("gpt", "llm"), second)
    table = metal.export(dataset, to="csv", out=tmp_path / "out.csv")
    assert "repeat" not in table
    assert tells(table.attrs["warnings"], "1 rating", "asked again")


def test_a_log_with_epochs_is_audited_as_before(through: Read) -> None:
    """The judges of an audit are those that were asked, not one for each time."""
    names = ["ana", "bo", "gpt"]
    ratings = [
        Rating(f"o{number}", "tone", name, float((number + place) % 2))
        for number in range(1, 9)
        for place, name in enumerate([*names, "gpt#2"])
    ]
    raters = [Rater(name, "human") for name in names[:2]] + [Rater("gpt", "llm")]
    raters.append(Rater("gpt#2", "llm", "", {"repeats": "gpt", "sample": 2}))
    sources = tuple(Source(f"s{number}", "en", f"{number}?") for number in range(1, 9))
    again, _ = through(of_answers(ratings, *raters, sources=sources), "csv")
    assert {row["judge"] for row in metal.audit(again).judged} == {"gpt"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("number", [1e308, float("inf"), 2.5, -3, 0])
def test_numbers_of_repeats_that_say_nothing_are_refused(tmp_path: Path, number: float) -> None:
    """1e308 printed a warning of numpy with the path of a file of METAL."""
    again = asked_again()
    metal.export(again, to="jsonl", out=tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    table = pd.DataFrame(map(json.loads, lines))
    twice = table[table["repeat"] == 1].tail(1).assign(repeat=number)
    table = pd.concat([table.astype({"repeat": object}), twice], ignore_index=True)
    with pytest.raises(DataError, match="a second time"):
        metal.read(table)


# ---------------------------------------------------------------- pairs


def compared() -> Dataset:
    """Pairs with texts, one shown in reverse order, beside a plain output."""
    preference = Criterion("preference", COMPARED, question="Which is better?")
    pair = Output("o1", "s1", "x | y", "en", first="x", second="y", texts=("A", "B"))
    outputs = (pair, pair.swapped, Output("o2", "s2", "x", "en", "Plain."))
    sources = (Source("s1", "en", "Why?"), Source("s2", "en", "How?"))
    ratings = [Rating("o1", "preference", "ana", 0), Rating("o1", "preference", "gpt", 2)]
    ratings += [Rating(pair.swapped.output, "preference", "gpt", 1), Rating("o2", "tone", "ana", 1)]
    raters = (Rater("ana", "human"), Rater("gpt", "llm"))
    criteria = (preference, TONE)
    return assemble(Card("pairs"), criteria, sources, outputs, raters, facts_from(ratings))


@pytest.mark.parametrize("to", TABLES)
def test_pairs_stay_pairs_in_tables(to: str, through: Read) -> None:
    dataset = compared()
    again, _ = through(dataset, to)
    assert again.outputs == dataset.outputs
    assert again.criteria == dataset.criteria
    pd.testing.assert_frame_equal(rows(again)[rows(dataset).columns], rows(dataset))


def test_pairs_without_texts_keep_their_writers(tmp_path: Path) -> None:
    metal.export(compared(), to="csv", out=tmp_path / "out.csv")
    pair = metal.read(tmp_path / "out.csv").outputs["o1"]
    assert (pair.first, pair.second, pair.texts, pair.chosen) == ("x", "y", (), False)


@pytest.mark.parametrize("to", [*HARNESSES, "inspect"])
def test_what_pairs_lose_is_said(to: str, tmp_path: Path) -> None:
    table = metal.export(compared(), to=to, out=tmp_path / "out")
    assert tells(table.attrs["warnings"], "3 comparisons", "pairs")


@pytest.mark.parametrize("to", HARNESSES)
def test_outputs_that_were_made_from_others_are_counted(to: str, through: Read) -> None:
    """Verdicts in both orders, without the texts of the pairs, became those of two outputs."""
    cells = {"rater": ["gpt", "gpt"] * 2, "order": ["AB", "BA"] * 2, "winner": ["1", "2", "1", "1"]}
    frame = pd.DataFrame({"output": ["a", "a", "b", "b"], "language": "en", **cells})
    dataset = metal.read(frame, kinds={"gpt": "llm"})
    assert [output.of for output in dataset.outputs.values()].count("") == 2
    assert tells(through(dataset, to)[1], "2 ratings", "from others")


# ---------------------------------------------------------------- references


def with_references(*references: str) -> Dataset:
    sources = (Source("s1", "en", "Why?", references=references), Source("s2", "en", "How?"))
    ratings = [Rating("o1", "tone", "ana", 1), Rating("o2", "tone", "ana", 0)]
    return of_answers(ratings, Rater("ana", "human"), sources=sources)


@pytest.mark.parametrize("to", TABLES + HARNESSES)
def test_references_come_back(to: str, through: Read) -> None:
    dataset = with_references("Because.")
    again, warnings = through(dataset, to)
    assert again.sources == dataset.sources
    assert again.outputs == dataset.outputs
    assert not tells(warnings, "reference")


@pytest.mark.parametrize("to", TABLES + HARNESSES)
def test_further_references_are_counted(to: str, through: Read) -> None:
    _, warnings = through(with_references("Because.", "So."), to)
    assert tells(warnings, "1 source", "several references")


def test_score_edits_say_that_they_have_no_references(tmp_path: Path) -> None:
    table = metal.export(with_references("Because."), to="inspect", out=tmp_path / "out")
    assert tells(table.attrs["warnings"], "references", "1 source")


# ---------------------------------------------------------------- justifications


def justified(reasons: list[str], **columns: list[str]) -> pd.DataFrame:
    cells = {"output": ["a", "b", "c", "d"], "rater": "gpt", "criterion": "tone", "language": "en"}
    return pd.DataFrame({**cells, "score": [1, 0, 1, None], "reason": reasons, **columns})


def test_a_column_of_reasons_that_justifies_is_read_as_comments(tmp_path: Path) -> None:
    reasons = [f"because of {letter}" for letter in "abcd"]
    dataset = metal.read(justified(reasons))
    assert dataset.ratings["comment"].tolist() == reasons
    assert dataset.ratings["reason"].tolist() == ["", "", "", "no answer"]
    assert tells(dataset.report, "4 texts in 'reason'", "comments")
    metal.export(dataset, to="promptfoo", out=tmp_path / "out.json")
    again = rows(metal.read(tmp_path / "out.json"))
    assert again["comment"].tolist() == reasons


def test_reasons_of_missing_scores_stay_reasons() -> None:
    dataset = metal.read(justified(["", "", "", "refused"]))
    assert dataset.ratings["reason"].tolist() == ["", "", "", "refused"]


def test_a_few_texts_beside_scores_leave_the_reasons_of_others() -> None:
    cells = {"rater": "gpt", "criterion": "tone", "language": "en", "comment": ""}
    frame = pd.DataFrame({"output": map(str, range(22)), **cells, "reason": ""})
    frame["score"] = [1, 0] * 10 + [None, None]
    frame.loc[0, ["reason", "comment"]] = "so good", "well"
    frame.loc[20, "reason"] = "refused"
    ratings = metal.read(frame).ratings
    assert ratings["reason"].tolist() == [""] * 20 + ["refused", "no answer"]
    assert ratings["comment"].tolist() == ["well\nso good"] + [""] * 21
    frame.loc[20, "reason"] = "so good"  # the same text as beside a score
    ratings = metal.read(frame).ratings
    assert ratings["reason"].tolist() == [""] * 20 + ["no answer"] * 2
    assert ratings["comment"].iloc[20] == "so good"


def test_a_score_with_a_reason_why_there_is_none_is_no_valid_rating(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    row = '{"output": "a", "criterion": "tone", "rater": "gpt", "score": 1, "reason": "%s"}\n'
    path.write_text(row % "" + row % "because of a")
    found = metal.schema_validate(path)
    assert tells(found.faults, "2", "because of a", "comment")
    assert len(found.faults) == 1


# ---------------------------------------------------------------- sources


def test_sources_that_an_export_names_need_no_column(tmp_path: Path) -> None:
    cells = {"id": ["a", "b", "c"], "rater": "ana", "score": [1, 0, 1], "language": "en"}
    dataset = metal.read(pd.DataFrame(cells))
    assert "own-sources" in {finding.code for finding in as_read(dataset)}
    metal.export(dataset, to="csv", out=tmp_path / "out.csv")
    again = metal.read(tmp_path / "out.csv")
    assert again.sources == dataset.sources
    assert "own-sources" not in {finding.code for finding in as_read(again)}
