"""`metal export --to evalset`: folders come back as they were, and other datasets as they fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Rating, Scale, Source
from metal.errors import DataError, UsageError
from tests.formats import test_mqm_errors as mqm
from tests.formats.evalset_folders import blocks, errors, lines, test_set
from tests.saying import tells

test_set.__test__ = False  # type: ignore[attr-defined]
KEY = ["output", "criterion", "rater"]
GRAVE = Criterion("penalty", Scale("interval", (), 0, 100), "lower")


def rows(dataset: Dataset) -> list[tuple[object, ...]]:
    table = dataset.ratings.astype(dict.fromkeys(KEY, str))
    columns = table[[*KEY, "score", "comment"]].fillna({"score": 999.0})
    return sorted(columns.itertuples(index=False, name=None))


def of_generators(dataset: Dataset) -> list[tuple[object, ...]]:
    return sorted(map(tuple, dataset.generator_scores.astype(object).values.tolist()))


def assert_same(one: Dataset, other: Dataset) -> None:
    assert rows(one) == rows(other)
    assert of_generators(one) == of_generators(other)
    for part in ("sources", "outputs", "raters", "criteria", "extra", "languages"):
        assert getattr(one, part) == getattr(other, part)
    assert one.digest == other.digest


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = test_set(
        tmp_path / "wmt",
        **{
            "documents/en-de.docs": lines("news\taj.1", "speech\tb"),
            "human-scores/en-de.mqm.rater1.seg.rating": blocks(
                A=[errors(1), "None"], B=["None", "None"], refA=["None", errors(5)]
            ),
            "human-scores/en-de.mqm.others.seg.rating": lines(
                "A\tNone", "A\tNone", f"B\t{errors(5, 0.1)}\tann", f"B\t{errors()}\tbob"
            ),
            "human-scores/en-de.mqm.domain.score": lines("news\tA\t-1.0", "speech\tB\t-0.0"),
            "human-scores/en-de.da-sqm.seg.score": blocks(A=[70.5, "None"]),
            "metric-scores/en-de/Late-refB.doc.score": blocks(A=[0.25, 1 / 3]),
            "metric-scores/en-de/Two-all.seg.score": blocks(A=[1, 2], B=[3, 4]),
        },
    )
    before = metal.read(folder)
    table = metal.export(before, to="evalset", out=tmp_path / "back")
    assert table.attrs["warnings"] == []
    assert_same(before, metal.read(tmp_path / "back"))
    metal.export(before, to="evalset", out=tmp_path / "back", force=True)
    assert "ann" in text(tmp_path / "back", "human-scores/en-de.mqm.others.seg.rating")


def test_experts_on_a_criterion_of_their_own_come_back(tmp_path: Path) -> None:
    one = blocks(A=[errors(1), "None"], B=[errors(5), "None"])
    names = {f"human-scores/en-de.mqm.r{number}.seg.rating": one for number in (1, 2)}
    before = metal.read(test_set(tmp_path / "wmt", **names))
    assert "mqm-by-rater" in before.criteria
    metal.export(before, to="evalset", out=tmp_path / "back")
    assert_same(before, metal.read(tmp_path / "back"))


@pytest.mark.reference
@pytest.mark.slow
def test_wmt23_comes_back(reference: Path, tmp_path: Path) -> None:
    before = metal.read(reference / "wmt23-metrics")
    metal.export(before, to="evalset", out=tmp_path / "back")
    assert_same(before, metal.read(tmp_path / "back"))


def test_errors_marked_by_mqm_become_a_folder(tmp_path: Path) -> None:
    dataset = metal.read(mqm.write(tmp_path, *mqm.ROWS))
    metal.export(dataset, to="evalset", out=tmp_path / "set")
    # A/1: -6.1 and 0 by two raters; A/2: -25
    assert text(tmp_path / "set", "human-scores/de-en.mqm.seg.score") == lines(
        "A\t-3.05", "A\t-25.0", "refB\t-10.0", "refB\t0.0"
    )
    assert text(tmp_path / "set", "human-scores/de-en.mqm.sys.score") == lines(
        "A\t-14.025", "refB\t-5.0"
    )
    assert text(tmp_path / "set", "documents/de-en.docs") == lines("all\td", "all\td")
    again = metal.read(tmp_path / "set")
    assert {"de-en/r1", "de-en/r2"} <= set(again.raters)


def odd_dataset() -> Dataset:
    """Names that are no file names, judges on a criterion where lower is better, a text in two
    lines, and an output that is missing.
    """
    sources = [Source("1", "en-de", "a\nb", references=("r",)), Source("2", "en-de", "c")]
    outputs = [
        Output("1/x", "1", "../../evil system", "en-de", "x\ny"),
        Output("2/x", "2", "../../evil system", "en-de", "z"),
        Output("1/y", "1", ".hidden", "en-de", "y"),
    ]
    raters = [Rater("Ann", "human"), Rater("gpt/4 mini", "llm"), Rater("BLEU", "metric")]
    ratings = [
        Rating("1/x", "penalty", "Ann", 10),
        Rating("2/x", "penalty", "Ann", None, "skipped"),
        Rating("1/x", "penalty", "gpt/4 mini", 30),
        Rating("2/x", "penalty", "gpt/4 mini", 40),
        Rating("1/x", "score", "BLEU", 0.5),
        Rating("1/y", "score", "BLEU", 0.25),
    ]
    return assemble(
        Card("odd"), [GRAVE, METRIC_SCORE], sources, outputs, raters, facts_from(ratings)
    )


def test_other_datasets_are_written_as_far_as_they_fit(tmp_path: Path) -> None:
    table = metal.export(odd_dataset(), to="evalset", out=tmp_path / "a" / "set")
    folder = tmp_path / "a" / "set"
    written = sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )
    assert all(name.startswith("a/set/") for name in written)
    assert text(folder, "system-outputs/en-de/_.._evil_system.txt") == lines("x y", "z")
    assert text(folder, "system-outputs/en-de/hidden.txt") == lines("y", "NO_TRANSLATION")
    assert text(folder, "references/en-de.refA.txt") == lines("r", "")
    assert text(folder, "human-scores/en-de.penalty.seg.score") == lines(
        "_.._evil_system\t-10.0", "_.._evil_system\tNone"
    )
    assert text(folder, "metric-scores/en-de/gpt_4_mini-src.sys.score") == lines(
        "_.._evil_system\t-35.0"
    )
    warnings = table.attrs["warnings"]
    assert tells(warnings, "line breaks", "spaces in 2 texts")
    assert tells(warnings, "1 output missing")
    assert tells(warnings, "systems renamed", "evil system")
    assert tells(warnings, "negated", "penalty")
    assert tells(warnings, "without references", "(-src)", "gpt/4 mini")
    assert tells(warnings, "2 scores of metrics missing")
    again = metal.read(folder)
    assert "gpt_4_mini[noref]" in again.raters


@pytest.mark.parametrize("beginning", ["\ufeff", "\ufeff\ufeff", "\u200b", " ", "\t"])
def test_texts_keep_their_first_character(tmp_path: Path, beginning: str) -> None:
    """A byte order mark at the beginning of a file's first text was lost."""
    named = f"{beginning.strip()}x"
    kinds: dict[str, Any] = {"document": named, "domain": named, "references": (f"{beginning}r",)}
    sources = [Source(str(n), "en-de", f"{beginning}s", **kinds) for n in (1, 2)]
    outputs = [Output(f"{n}/x", str(n), "x", "en-de", f"{beginning}t") for n in (1, 2)]
    ratings = [Rating(f"{n}/x", "score", "BLEU", n) for n in (1, 2)]
    facts = facts_from(ratings)
    raters = [Rater("BLEU", "metric")]
    dataset = assemble(Card("marks"), [METRIC_SCORE], sources, outputs, raters, facts)
    metal.export(dataset, to="evalset", out=tmp_path / "set")
    again = metal.read(tmp_path / "set")
    texts = [(each.text, *each.references) for each in again.sources.values()]
    assert texts == [(f"{beginning}s", f"{beginning}r")] * 2
    assert [each.text for each in again.outputs.values()] == [f"{beginning}t"] * 2
    assert {each.document for each in again.sources.values()} == {named}
    assert {each.domain for each in again.sources.values()} == {named}


@pytest.mark.parametrize("text_of_lines", ["a\rb", "a\r\nb", "a\nb"])
def test_every_line_break_becomes_a_space(tmp_path: Path, text_of_lines: str) -> None:
    """A carriage return stayed, and mt-metrics-eval ends a line there."""
    outputs = [Output("1/x", "1", "x", "en-de", text_of_lines)]
    facts = facts_from([Rating("1/x", "score", "BLEU", 1)])
    parts = [METRIC_SCORE], [Source("1", "en-de", "s")], outputs, [Rater("BLEU", "metric")]
    table = metal.export(assemble(Card("c"), *parts, facts), to="evalset", out=tmp_path / "set")
    assert tells(table.attrs["warnings"], "line breaks", "spaces in 1 text")
    assert [each.text for each in metal.read(tmp_path / "set").outputs.values()] == ["a b"]


def test_tables_of_dataset_toml_that_somebody_changed(tmp_path: Path) -> None:
    dataset = metal.read(test_set(tmp_path / "wmt"))
    changed = {"references": "refA", "ratings": 5, "folder": "../up", "standard_reference": "a/b"}
    odd = replace(dataset, extra={"evalset": {"en-de": changed}})
    metal.export(odd, to="evalset", out=tmp_path / "out" / "set")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.parts[len(tmp_path.parts)] in ("wmt", "out") for path in files)
    odd = replace(dataset, extra={"evalset": {"en-de": 5}})
    odd.save(tmp_path / "saved")
    with pytest.raises(DataError, match="evalset of en-de is 5"):
        metal.read(tmp_path / "saved")


def test_what_is_no_translation_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        [{"output": f"o{n}", "rater": r, "score": n % 3} for n in range(9) for r in ("A1", "A2")]
    )
    with pytest.raises(UsageError, match=r"hi: no language pair.*holds translations"):
        metal.export(frame, to="evalset", out=tmp_path / "set", language="hi")
    assert not (tmp_path / "set").exists()


def test_what_a_folder_does_not_say_is_counted(tmp_path: Path) -> None:
    """Who gave a score and the comments were lost in silence, and a judge became a metric."""
    outputs = [f"{number}/{name}" for number in (1, 2) for name in ("A", "B")]
    rows = [(rater, output) for rater in ("ana", "ben", "gpt") for output in outputs]
    frame = pd.DataFrame(rows, columns=["rater", "output"])
    frame["source"] = frame["output"].str[0]
    frame["generator"] = frame["output"].str[2]
    frame = frame.assign(language="en-de", criterion="da", score=range(12), comment="")
    frame.loc[:2, "comment"] = "fluent", "odd", '{"errors": []}'
    dataset = metal.read(frame, kinds={"gpt": "llm"}, ranges={"da": "0..100"})
    warnings = metal.export(dataset, to="evalset", out=tmp_path / "out").attrs["warnings"]
    assert tells(warnings, "7 scores by 2 people", "mean")  # the marked errors have their own file
    assert tells(warnings, "2 comments left out")
    assert tells(warnings, "1 LLM judge", "metrics")
