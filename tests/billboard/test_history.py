"""A board's history, and what may join it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metal.boards.history import (
    Entry,
    Submission,
    board_at,
    check_name,
    entry_at,
    find_standing,
    generator_outputs,
    read_rows,
    standing,
)
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Rating, Scale, Source
from metal.errors import DataError, MetalError, UnknownName, UsageError
from tests.conftest import MakeDataset

FLUENCY = Criterion("fluency", Scale("interval", (), 1, 5))
DIGEST = "0123456789abcdef"


def entry(version: int, what: Any, name: str = "", /, **about: Any) -> Entry:
    return Entry(version, "2024-01-01T00:00:00+00:00", what, DIGEST, name, "me", about or None)


def base(*raters: Rater, extra: Any = None) -> Dataset:
    sources = [Source(name, "en") for name in ("s1", "s2")]
    outputs = [Output(f"{source.source}/g", source.source, "g", "en", "text") for source in sources]
    people = [Rater("A", "human", "native")]
    ratings = [Rating(one.output, "fluency", "A", 3.0) for one in outputs]
    ratings += [
        Rating(one.output, "score", rater.rater, 0.5) for one in outputs for rater in raters
    ]
    criteria = [FLUENCY, *([METRIC_SCORE] if raters else [])]
    return assemble(
        Card("b"), criteria, sources, outputs, [*people, *raters], facts_from(ratings), extra=extra
    )


def generator(version: int, name: str, scores: dict[Rater, float], **about: Any) -> Submission:
    outputs = tuple(
        Output(f"{source}/{name}", source, name, "en", f"by {name}") for source in ("s1", "s2")
    )
    ratings = [
        Rating(one.output, "score", rater.rater, score)
        for one in outputs
        for rater, score in scores.items()
    ]
    return Submission(
        entry(version, "generator", name, **about), outputs, tuple(scores), facts_from(ratings)
    )


def metric(version: int, rater: Rater, scores: dict[str, float]) -> Submission:
    ratings = [Rating(output, "score", rater.rater, score) for output, score in scores.items()]
    return Submission(entry(version, "metric", rater.rater), (), (rater,), facts_from(ratings))


class BoardFigures(dict[str, Any]):
    """A mapping that can be a part of a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def a_metric(name: str, signature: str = "1", direction: str = "higher") -> Rater:
    return Rater(name, "metric", "metric", BoardFigures(signature=signature, direction=direction))


def said(board: Dataset, rater: str) -> dict[str, float]:
    rows = board.ratings[board.ratings["rater"] == rater]
    return dict(zip(rows["output"].astype(str), rows["score"], strict=True))


def test_nothing_joined_is_the_base_itself() -> None:
    one = base()
    assert board_at(one, []) is one


def test_outputs_raters_and_scores_join() -> None:
    chrf = a_metric("chrf")
    board = board_at(
        base(chrf),
        [generator(2, "new", {chrf: 0.7}), metric(3, a_metric("m"), {"s1/g": 1, "s2/new": 2})],
    )
    assert said(board, "chrf") == {"s1/g": 0.5, "s2/g": 0.5, "s1/new": 0.7, "s2/new": 0.7}
    assert said(board, "m") == {"s1/g": 1, "s2/new": 2}
    assert list(board.outputs) == ["s1/g", "s2/g", "s1/new", "s2/new"]
    assert set(board.ratings["generator"].cat.categories) == {"g", "new"}


def test_scores_of_and_by_what_is_not_there_are_left_out() -> None:
    chrf, gone = a_metric("chrf"), a_metric("gone")
    scores = {"s1/g": 1.0, "s1/withdrawn": 2.0}
    board = board_at(
        base(chrf), [generator(2, "new", {chrf: 0.7, gone: 0.1}), metric(3, a_metric("m"), scores)]
    )
    assert said(board, "m") == {"s1/g": 1.0}
    assert "gone" not in board.raters
    assert "gone" not in board.ratings["rater"].cat.categories


@pytest.mark.parametrize("metric_first", [True, False])
def test_a_metric_said_nothing_of_outputs_that_came_after_it(metric_first: bool) -> None:
    """s1/new is of a generator that has the name of one that was withdrawn; the metric scored that
    one.
    """
    mine = metric(2, a_metric("m"), {"s1/g": 1.0, "s1/new": 9.0})
    later = generator(4, "new", {a_metric("m"): 0.7})
    board = board_at(base(), [mine, later] if metric_first else [later, mine])
    assert said(board, "m") == {"s1/g": 1.0, "s1/new": 0.7, "s2/new": 0.7}


@pytest.mark.parametrize("other", [a_metric("m", "2"), a_metric("m", "1", "lower"), a_metric("m")])
def test_a_generator_has_no_scores_by_a_metric_that_came_after_it(other: Rater) -> None:
    """Even one of the same signature: it has its own scores of the generator, or none."""
    board = board_at(
        base(), [generator(2, "new", {a_metric("m"): 0.7}), metric(4, other, {"s1/new": 5.0})]
    )
    assert said(board, "m") == {"s1/new": 5.0}


@pytest.mark.parametrize(("signature", "kept"), [("1", True), ("2", False)])
def test_a_rater_of_the_dataset_that_has_changed(signature: str, kept: bool) -> None:
    board = board_at(
        base(a_metric("chrf", signature)), [generator(2, "new", {a_metric("chrf"): 0.7})]
    )
    assert ("s1/new" in said(board, "chrf")) == kept


def test_what_does_not_fit_the_dataset() -> None:
    fault = r"version 2, generator g: output 's1/g'.*in the dataset.*Withdraw"
    with pytest.raises(DataError, match=fault):
        board_at(base(), [generator(2, "g", {})])
    with pytest.raises(
        DataError, match=r"version 3, metric chrf: rater 'chrf'.*in the dataset.*Withdraw"
    ):
        board_at(base(a_metric("chrf")), [metric(3, a_metric("chrf"), {})])
    lost = Submission(
        entry(2, "generator", "x"), (Output("o", "gone", "x", "en"),), (), facts_from([])
    )
    with pytest.raises(DataError, match=r"source 'gone'.*no longer"):
        board_at(base(), [lost])


@pytest.mark.parametrize("extra", [{}, {"generators": 5}, {"generators": {"g": {"kind": "human"}}}])
def test_what_is_said_of_generators_is_put_together(extra: dict[str, Any]) -> None:
    board = board_at(
        base(extra=extra),
        [generator(2, "new", {}, generator={"family": "gpt"}), generator(3, "x", {})],
    )
    there = extra.get("generators", {})
    assert board.extra["generators"] == (there if isinstance(there, dict) else {}) | {
        "new": {"family": "gpt"}
    }


WITHDRAWN = [
    entry(1, "data"),
    entry(2, "generator", "a"),
    entry(3, "metric", "a"),
    entry(4, "withdrawn", "a", was="metric", version=3),
    entry(5, "data"),
    entry(6, "withdrawn", "a", was="generator", version=2),
    entry(7, "generator", "a"),
]


def test_what_stands_at_a_version() -> None:
    found = {
        version: [one.version for one in standing(WITHDRAWN, version)] for version in range(1, 8)
    }
    assert found == {1: [], 2: [2], 3: [2, 3], 4: [2], 5: [2], 6: [], 7: [7]}
    assert find_standing(WITHDRAWN, "a").version == 7
    assert find_standing(WITHDRAWN[:3], "a").version == 3  # the later of two
    with pytest.raises(UnknownName, match=r"known: a\. What came with"):
        find_standing(WITHDRAWN, "b")


@pytest.mark.parametrize("version", [0, 8, -1])
def test_versions_that_never_were(version: int) -> None:
    with pytest.raises(UsageError, match=rf"version {version}:.*1 to 7"):
        entry_at(WITHDRAWN, version)


@pytest.mark.parametrize("one", WITHDRAWN)
def test_a_line_is_read_back_as_it_was(one: Entry) -> None:
    assert Entry.of(one.to_dict(), "row 1") == one


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inside: (
        st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=4), inside, max_size=2)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(
        st.sampled_from(["version", "at", "what", "digest", "name", "by", "about", "odd"]),
        ANYTHING,
        max_size=7,
    )
)
@example({"at": ""})  # a line always has its time
def test_any_line_is_an_entry_or_an_error_with_its_place(changed: dict[str, Any]) -> None:
    record = entry(2, "metric", "m", seconds=1).to_dict() | changed
    try:
        found = Entry.of(record, "history.jsonl row 2")
    except MetalError as error:
        message = str(error)
    else:
        message = ""
        assert Entry.of(found.to_dict(), "").to_dict() == found.to_dict()
        assert isinstance(found.at + found.name + found.by + found.digest, str)
    assert not message or message.startswith("history.jsonl row 2: ")


HERE = Path("t.csv")


def test_names() -> None:
    assert check_name("  a b ", ["c"], "rater") == "a b"
    assert check_name("e\u0301", [], "rater") == "\u00e9"
    for name in ("", " ", "a\tb", "x" * 81, "\u200b", "PEOPLE", "ensemble (unseen)"):
        with pytest.raises(UsageError, match="`name`"):
            check_name(name, [], "rater")
    with pytest.raises(UsageError, match="rater 'c' is on the board"):
        check_name(" c", ["c"], "rater")


@pytest.mark.parametrize(
    ("source", "text"), [("source", "text"), ("SEG_ID", " hyp"), ("id", "summary")]
)
def test_columns(source: str, text: str) -> None:
    assert read_rows({"more": [0], source: ["a"], text: ["b"]}, HERE) == [("a", "b")]


@pytest.mark.parametrize(
    ("cell", "read"),
    [(7, "7"), ("007", "007"), (7.0, "7"), (7.5, None), (True, None), (None, None), (["a"], None)],
)
def test_ids(cell: Any, read: str | None) -> None:
    if read is not None:
        assert read_rows({"source": [cell], "text": ["x"]}, HERE) == [(read, "x")]
        return
    with pytest.raises(DataError, match=r"t.csv row 3"):
        read_rows({"source": ["a", cell], "text": ["x", "x"]}, HERE)


def test_texts() -> None:
    cells = [None, float("nan"), "", "\ud800x"]
    assert [text for _, text in read_rows({"source": list("abcd"), "text": cells}, HERE)] == [
        "",
        "",
        "",
        "\ufffdx",
    ]
    for wrong in (5, ["x"], 1.5):
        with pytest.raises(DataError, match=r"t.jsonl row 1: source 'a'"):
            read_rows({"source": ["a"], "text": [wrong]}, Path("t.jsonl"))
    with pytest.raises(DataError, match=r"source and text \(columns found: text\)"):
        read_rows({"text": ["x"]}, HERE)


def test_outputs_in_two_languages(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"en": {"A1": [0, 1]}, "hi": {"A1": [0, 1]}})
    rows = [("en-1", "x"), ("en-0", "y")]
    found = generator_outputs(rows, "new", dataset, HERE)
    assert [(one.output, one.source, one.generator, one.language, one.text) for one in found] == [
        ("en-1/new", "en-1", "new", "en", "x"),
        ("en-0/new", "en-0", "new", "en", "y"),
    ]
    with pytest.raises(
        DataError, match=r"t.csv: 1 missing source \('hi-1'\) of 4. Nothing was imported"
    ):
        generator_outputs([*rows, ("hi-0", "z")], "new", dataset, HERE)
    assert (
        len(generator_outputs([*rows, ("hi-0", "z")], "new", dataset, HERE, allow_missing=True))
        == 3
    )
    with pytest.raises(DataError, match="no outputs in it"):
        generator_outputs([], "new", dataset, HERE, allow_missing=True)
