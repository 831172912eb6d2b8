"""Two datasets meet on source and generator; boards by the place of their sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data import formats
from metal.data.dataset import Card, Dataset, assemble, concat_facts
from metal.data.merge import MergeReport, merge, read_map
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.errors import MetalError
from tests.saying import tells

ANY = Scale("interval")
SCALE = Scale("ordinal", (Level(0, "Bad"), Level(1, "Good")))


def small(
    name: str,
    rater: str,
    scores: Mapping[tuple[str, str], float],
    scale: Scale = SCALE,
    kind: Any = "human",
    languages: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Dataset:
    """One rater's scores {(source, generator): score}; what is not in `languages` is English."""
    language = {source: (languages or {}).get(source, "en") for source, _ in scores}
    sources = [
        Source(source, code, f"{name} text of {source}") for source, code in language.items()
    ]
    outputs = [Output(f"{name}:{s}:{g}", s, g, language[s], f"{name} {g}") for s, g in scores]
    ratings = [
        Rating(f"{name}:{s}:{g}", "quality", rater, score) for (s, g), score in scores.items()
    ]
    criteria, raters = [Criterion("quality", scale)], [Rater(rater, kind)]
    return assemble(
        Card(name), criteria, sources, outputs, raters, facts_from(ratings), extra=extra
    )


BASE = small("base", "A1", {("s1", "g"): 1, ("s1", "h"): 0, ("s2", "g"): 1})


def test_outputs_meet_under_other_ids() -> None:
    incoming = small("new", "judge", {("x1", "M0"): 0, ("s2", "g"): 1, ("s9", "g"): 1}, kind="llm")
    merged, report = merge(BASE, incoming, map_sources={"x1": "s1"}, map_generators={"M0": "g"})
    assert (report.met, report.added, report.unmet) == (2, 2, ("s9/g",))
    assert any("s9/g" in line for line in report.lines())
    judged = merged.ratings[merged.ratings["rater"] == "judge"].set_index("output")["score"]
    assert judged.to_dict() == {"base:s1:g": 0, "base:s2:g": 1}
    assert merged.card == BASE.card
    assert set(merged.outputs) == set(BASE.outputs)


def test_what_both_hold_is_kept_once_and_counted() -> None:
    incoming = small("new", "A1", {("s1", "g"): 1, ("s1", "h"): 1, ("s2", "g"): 1})
    merged, report = merge(BASE, incoming)
    assert (report.added, report.same, report.different) == (0, 2, 1)
    assert (
        merged.ratings.set_index("output")["score"].to_dict()
        == BASE.ratings.set_index("output")["score"].to_dict()
    )


@pytest.mark.parametrize(
    ("incoming", "message"),
    [
        (
            small("new", "B", {("q", "M1"): 1}),
            "no output has.*source and generator.*'q' by 'M1' here, 's1' by 'g' there"
            ".*`map_sources`",
        ),
        (small("new", "A1", {("s1", "g"): 1}, kind="llm"), "rater A1: llm .* here, human"),
    ],
)
def test_what_cannot_be_merged(incoming: Dataset, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        merge(BASE, incoming)


# ---------------------------------------------------------------- scales

THREE = Scale("ordinal", (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good")))
GRADED = small("base", "A1", {(source, "g"): 1 for source in "abcde"}, THREE)


def levels(*values: float) -> Scale:
    """The scale that a table of these numbers is given."""
    return Scale("ordinal", tuple(Level(value, f"{value:g}") for value in values))


def judged(scores: list[float], scale: Scale) -> Dataset:
    return small(
        "new",
        "judge",
        {(source, "g"): score for source, score in zip("abcde", scores, strict=False)},
        scale,
    )


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        (judged([1, 2, 1, 2, 2], levels(1, 2)), [1, 2, 1, 2, 2]),  # a judge that never says 0
        (judged([2, 2, 2, 2, 2], ANY), [2, 2, 2, 2, 2]),  # and one that says nothing else
        # words
        (
            judged([0, 1, 0, 0, 1], Scale("nominal", (Level(0, "bad"), Level(1, "Good")))),
            [0, 2, 0, 0, 2],
        ),
        (
            judged([0, 1, 0, 0, 1], Scale("nominal", (Level(0, "Good"), Level(1, "Bad")))),
            [2, 0, 2, 2, 0],
        ),
        (
            judged([0, 0, 0, 0, 0], Scale("nominal", (Level(0, "Good"), Level(1, "(other)")))),
            [2] * 5,
        ),
        (
            judged(
                [0, 1, 2, 0, 1], Scale("ordinal", (Level(0, "no"), Level(1, "so"), Level(2, "yes")))
            ),
            [0, 1, 2, 0, 1],
        ),
    ],
)
def test_scores_on_the_dataset_s_scale_are_merged(incoming: Dataset, expected: list[float]) -> None:
    """Whether or not they use every level, as it once had to be."""
    merged, report = merge(GRADED, incoming)
    assert list(scores_of("judge", (merged, report)).values()) == expected
    assert merged.criteria == GRADED.criteria
    assert not report.off_scale


def test_a_score_between_two_levels_is_a_missing_answer() -> None:
    merged, report = merge(GRADED, judged([0, 1.5, 2, 0.5, 1], ANY))
    rows = merged.ratings[merged.ratings["rater"] == "judge"]
    assert list(rows["score"].fillna(-1)) == [0, -1, 2, -1, 1]
    assert list(rows["reason"]) == ["", "off scale: 1.5", "", "off scale: 0.5", ""]
    assert tells(report.lines()[-1], "quality: 2 scores", "0.5, 1.5")


@pytest.mark.parametrize(
    ("incoming", "message"),
    [
        (
            judged([1, 2, 3, 1, 1], levels(1, 2, 3)),
            "0 Bad, 1 Medium, 2 Good.: 3. If only .* `shifts=.quality=-1.`",
        ),
        (
            judged([1, 2, 33, 1, 1], levels(1, 2, 33)),
            ": 33. Rename .*scores empty",
        ),
        (judged([0.1, 0.2, 0.3, 0, 1], ANY), ": 0.1, 0.2, 0.3. Rename"),  # probabilities
        (
            judged([0, 1, 0, 0, 1], Scale("nominal", (Level(0, "no"), Level(1, "yes")))),
            "answer 'no' .* `levels=.quality",
        ),
    ],
)
def test_another_scale_is_not_merged(incoming: Dataset, message: str) -> None:
    with pytest.raises(MetalError, match=f"criterion quality: .*{message}"):
        merge(GRADED, incoming)


def test_the_remedy_that_a_message_names_works(tmp_path: Path) -> None:
    GRADED.save(tmp_path / "base")
    table = pd.DataFrame(
        {"source": list("abcde"), "generator": "g", "language": "en", "rater": "judge"}
    )
    table = table.assign(criterion="quality")
    for scores, remedy in (
        ([1, 2, 3, 1, 2], {"shifts": "quality=-1"}),
        (["no", "yes", "no", "yes", "no"], {"levels": "quality=0=no,1=so,2=yes"}),
    ):
        file = table.assign(score=scores)
        with pytest.raises(MetalError, match=f"`{next(iter(remedy))}"):
            metal.read(file, into=tmp_path / "base")
        merged = metal.read(file, into=tmp_path / "base", **remedy)
        assert len(merged.ratings) == 10


def test_maps(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text('{"M0": "Lead-3"}')
    assert read_map(path) == {"M0": "Lead-3"}
    for text, message in (
        ("{", "not JSON"),
        ('["M0"]', "not an object of names"),
        ('{"M0": 3}', "not an object of names"),
    ):
        path.write_text(text)
        with pytest.raises(MetalError, match=message):
            read_map(path)
    with pytest.raises(MetalError, match="no such file"):
        read_map(tmp_path / "none.json")


# ---------------------------------------------------------------- sources met by their place


def board(
    name: str,
    rater: str,
    sources: list[str],
    *,
    generator: str = "g",
    scale: Scale = ANY,
    **more: Any,
) -> Dataset:
    """One output a source; the score of the k-th is minus k."""
    return small(
        name,
        rater,
        {(source, generator): -place for place, source in enumerate(sources)},
        scale,
        **more,
    )


def scores_of(rater: str, merged: tuple[Dataset, MergeReport]) -> dict[str, float]:
    table = merged[0].ratings
    scores: dict[str, float] = table[table["rater"] == rater].set_index("source")["score"].to_dict()
    return scores


def counted(*numbers: str) -> Dataset:
    """Sources of zh-en that are numbers."""
    return board("new", "B", list(numbers), languages=dict.fromkeys(numbers, "zh-en"))


BOARD = board("base", "A", ["z", "en1", "a", "m"], languages=dict.fromkeys("zam", "zh-en"))


def test_counted_sources_meet_the_source_in_that_place_of_their_language() -> None:
    merged = merge(BOARD, counted("2", "1", "3"), counted_from=1)
    assert scores_of("B", merged) == {"a": 0, "z": -1, "m": -2}
    assert list(merged[0].sources) == list(BOARD.sources)
    assert tells(merged[1].lines(), "3 sources matched", "place", "zh-en sources of base")
    assert len(merged[1].lines()) == 2
    from_zero = merge(BOARD, counted("2", "1", "0"), counted_from=0)
    assert scores_of("B", from_zero) == {"m": 0, "a": -1, "z": -2}


def test_a_list_of_another_length_is_said() -> None:
    merged = merge(BOARD, counted("2", "5"), counted_from=1)
    assert scores_of("B", merged) == {"a": 0}
    assert merged[1].unmet == ("5/g",)
    assert tells(merged[0].extra["left_out"], "1 outputs", "rated in new", "by g (1)")
    assert tells(merged[1].lines(), "base has 3 zh-en sources", "numbers count 5", "same list?")


def test_numbers_are_places_even_where_they_are_ids_too_and_that_is_said() -> None:
    numbered = board("base", "A", ["0", "1", "2"])
    merged = merge(numbered, board("new", "B", ["1", "2", "3"]), counted_from=1)
    assert scores_of("B", merged) == {"0": 0, "1": -1, "2": -2}
    assert any(tells(line, "2 numbers", "also ids") for line in merged[1].lines())
    by_id = merge(numbered, board("new", "B", ["1", "2"]), counted_from=1, map_sources={"1": "1"})
    assert scores_of("B", by_id) == {"1": 0, "2": -1}  # a map comes before counting
    beyond = board("base", "A", ["x", "7"])
    assert scores_of("B", merge(beyond, board("new", "B", ["1", "7"]), counted_from=1)) == {"x": 0}


def test_counted_sources_of_a_language_that_is_not_there() -> None:
    other = board("new", "B", ["1"], languages={"1": "en-de"})
    with pytest.raises(
        MetalError,
        match=r"base: new numbers sources in en-de, but .* in en, zh-en.*`la",
    ):
        merge(BOARD, other, counted_from=1)


def test_what_is_known_of_generators_is_united() -> None:
    ours = {"sample": {"seed": 1}, "generators": {"g": {"kind": "model", "family": "f"}}}
    base = board("base", "A", ["s"], extra=ours)
    theirs = {
        "generators": {"M0": {"kind": "human", "year": 2020}, "unmet": {"kind": "human"}},
        "other": 1,
    }
    incoming = board("new", "B", ["s"], generator="M0", extra=theirs)
    merged, _ = merge(base, incoming, map_generators={"M0": "g"})
    assert merged.extra == {
        "sample": {"seed": 1},
        "generators": {"g": {"kind": "model", "family": "f", "year": 2020}},
    }
    bare, _ = merge(board("base", "A", ["s"]), incoming, map_generators={"M0": "g"})
    assert bare.extra == {"generators": {"g": {"kind": "human", "year": 2020}}}
    none, _ = merge(board("base", "A", ["s"]), board("new", "B", ["s"]))
    assert none.extra == {}
    assert ours["generators"] == {"g": {"kind": "model", "family": "f"}}


@pytest.mark.parametrize("odd", ["a text", {"g": "a text"}])
def test_generators_that_are_no_table_stay_as_they_are(odd: Any) -> None:
    base = board("base", "A", ["s"], extra={"generators": odd})
    merged, _ = merge(
        base, board("new", "B", ["s"], extra={"generators": {"g": {"kind": "human"}}})
    )
    assert merged.extra == {"generators": odd}


def test_scales_without_levels_differ_by_their_range() -> None:
    ranged = Scale("interval", (), -25, 0)
    same, _ = merge(board("base", "A", ["s"], scale=ranged), board("new", "B", ["s"], scale=ranged))
    assert len(same.ratings) == 2
    # what says nothing of its ends does not differ
    for ours, theirs in ((ranged, ANY), (ANY, ranged)):
        assert (
            len(
                merge(
                    board("base", "A", ["s"], scale=ours), board("new", "B", ["s"], scale=theirs)
                )[0].ratings
            )
            == 2
        )
    for ours, theirs, message in (
        (ranged, Scale("interval", (), -30, 0), "its scales differ: -30 to 0 into -25 to 0"),
        (levels(-1, 0), Scale("interval", (), -9, 0), "not on .* scale \\(-1, 0\\): -9"),
    ):
        with pytest.raises(MetalError, match=f"criterion quality: .*{message}"):
            merge(board("base", "A", ["s"], scale=ours), board("new", "B", ["s"], scale=theirs))


def test_texts_of_the_dataset_stay() -> None:
    merged, _ = merge(board("base", "A", ["s"]), board("new", "B", ["s"]))
    assert [output.text for output in merged.outputs.values()] == ["base g"]


# ---------------------------------------------------------------- the released boards


def read(name: str, path: Path, **options: Any) -> tuple[Dataset, int | None]:
    draft = formats.read(name, path, options)
    return draft.assemble(path), draft.counted_from


@pytest.mark.slow
@pytest.mark.reference
def test_comet_and_mqm_meet(reference: Path) -> None:
    """That each score met its own output shows in the figures of
    tests/billboard/test_released_boards.py.
    """
    base, _ = read("billboard", reference / "billboard" / "results" / "wmt20-zh-en")
    mqm, counted_from = read("mqm", reference / "mqm")
    merged, report = merge(base, mqm, counted_from=counted_from)
    assert (report.met, len(report.unmet), report.added) == (16_000, 4_000, 16_000)
    assert list(merged.sources) == list(base.sources)


@pytest.mark.reference
def test_four_releases_of_cnndm_are_one_board(reference: Path) -> None:
    base, _ = read("billboard", reference / "billboard" / "results" / "cnndm")
    thumb, _ = read("thumb", reference / "thumb")
    systems = json.loads((reference / "oracle" / "summeval_system_map.json").read_text())
    summeval = reference / "alttest" / "summeval"
    merged, report = merge(base, thumb)
    assert (report.met, report.unmet) == (1800, ())
    both, _ = merge(merged, read("alttest", summeval)[0], map_generators=systems)
    merged, report = merge(
        merged, read("alttest", summeval, only=("llm",))[0], map_generators=systems
    )
    assert (report.met, report.unmet, report.added) == (1600, (), 6 * 1600 * 4)
    assert len({output.generator for output in merged.outputs.values()}) == 26
    assert len(merged.sources) == 100
    assert all(source.text and len(source.references) == 10 for source in merged.sources.values())
    groups = pd.Series(
        [(rater.kind, rater.group) for rater in merged.raters.values()]
    ).value_counts()
    assert groups["human", "expert"] == 3
    assert groups["human", "crowd"] == 5
    assert groups["metric", "metric"] == 15
    assert groups["metric", "ensemble"] == 1
    assert sum(rater.kind == "llm" for rater in merged.raters.values()) == 6
    assert merged.extra == {"generators": {"Human-H": {"kind": "human"}}}
    # With all raters the same experts stand there twice, with the same scores: the join is right.
    wide = both.ratings.pivot_table(
        index=["output", "criterion"], columns="rater", values="score", observed=True
    )
    for first, second in (("E1", "e0"), ("E2", "e1"), ("E3", "e2")):
        shared = wide[[first, second]].dropna()
        assert len(shared) == 6400
        assert (shared[first] == shared[second]).all()


def incoming_table(tmp_path: Path, **columns: Any) -> Dataset:
    """A table with a judge's scores, joined to BASE on a scale from 0 to 100."""
    folder = tmp_path / "base"
    if not folder.exists():
        scores = {("s1", "g"): 40.0, ("s1", "h"): 90.0, ("s2", "g"): 70.0}
        small(
            "base", "A1", scores, Scale("interval", low=0, high=100), languages={"s2": "hi"}
        ).save(folder)
    ids = {"source": ["s1", "s1", "s2"], "generator": ["g", "h", "g"]}
    return metal.read(
        pd.DataFrame({"rater": "gpt-4"} | (columns if "output" in columns else ids | columns)),
        into=folder,
    )


def test_scores_in_a_small_part_of_the_scale_are_said(tmp_path: Path) -> None:
    narrow = incoming_table(tmp_path, quality=[0.1, 0.9, 1]).report
    assert any(
        tells(line, "quality:", "between 0.1 and 1 on a scale from 0 to 100") for line in narrow
    )
    assert not any(
        "incoming scores lie" in line
        for line in incoming_table(tmp_path, quality=[10, 90, 1]).report
    )


def test_criteria_outputs_and_languages_that_are_spelled_otherwise(tmp_path: Path) -> None:
    renamed = incoming_table(tmp_path, **{" Quality": [10, 50, 90], "language": ["en", "en", "en"]})
    assert set(renamed.criteria) == {"quality"}
    assert tells(renamed.report, "Quality is the same", "dataset's quality")
    assert tells(renamed.report, "1 matched outputs", "base:s2:g (en there, hi here)")
    by_id = incoming_table(tmp_path, output=["base:s1:h", "base:s2:g"], quality=[10, 90])
    assert by_id.ratings.set_index(["rater", "output"])["score"]["gpt-4"].to_dict() == {
        "base:s1:h": 10,
        "base:s2:g": 90,
    }


def battles(rater: str, *orders: str, first: str = "first") -> Dataset:
    """One pair a source in each of the orders; the rater always prefers what x wrote."""
    rows = [(f"s{n}", "x", "y", order, "x", rater) for n in range(3) for order in orders]
    frame = pd.DataFrame(rows, columns=["source", first, "second", "shown", "winner", "rater"])
    return metal.read(frame, language="hi")


def test_answers_to_pairs_meet_the_pair_in_the_order_in_which_it_was_shown() -> None:
    """People saw each pair once; the judge saw it in both orders, which the dataset then has."""
    merged, report = merge(battles("A1", "AB"), battles("gpt-4", "AB", "BA"))
    assert (report.met, report.unmet, report.added, report.different) == (6, (), 6, 0)
    outputs = merged.ratings.loc[merged.ratings["rater"] == "gpt-4", "output"]
    assert sorted(merged.outputs[name].condition for name in outputs) == [""] * 3 + ["swapped"] * 3
    assert set(merged.ratings["score"]) == {0}
    again, report = merge(merged, battles("gpt-4", "BA"))
    assert (report.added, report.same, len(again.outputs)) == (0, 3, 6)


def test_pairs_whose_first_is_not_the_same_do_not_meet() -> None:
    frame = pd.DataFrame(
        [("s0", "x | y", "1", "gpt-4")], columns=["source", "generator", "winner", "rater"]
    )
    nameless = metal.read(frame, language="hi")
    with pytest.raises(
        MetalError,
        match=r"called unnamed in ratings, x and y in the dataset\. Name",
    ):
        merge(battles("A1", "AB"), nameless)


def test_what_was_made_from_an_output_is_not_that_output() -> None:
    made = Output("t", "s1", "g", "en", "back", of="new:s1:g", condition="back-translation")
    new = small("new", "gpt-4", {("s1", "g"): 1, ("s2", "g"): 0})
    facts = facts_from([Rating("t", "quality", "gpt-4", 0)])
    parts = (
        new.criteria.values(),
        new.sources.values(),
        [*new.outputs.values(), made],
        new.raters.values(),
    )
    merged, report = merge(BASE, assemble(new.card, *parts, concat_facts([new.ratings, facts])))
    assert (report.met, report.unmet) == (2, ("s1/g",))
    assert set(merged.ratings.loc[merged.ratings["rater"] == "gpt-4", "output"]) == {
        "base:s1:g",
        "base:s2:g",
    }
