"""Two datasets meet on source and generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.data.dataset import Card, Dataset, assemble
from metal.data.merge import merge, read_map
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.errors import MetalError

SCALE = Scale("ordinal", (Level(0, "Bad"), Level(1, "Good")))


def small(
    name: str, rater: str, scores: dict[tuple[str, str], int], scale: Scale = SCALE, kind: str = "human"
) -> Dataset:
    sources = {source: Source(source, "en", f"{name} text of {source}") for source, _ in scores}
    outputs = [Output(f"{name}:{s}:{g}", s, g, "en", f"{name} {g}") for s, g in scores]
    ratings = [Rating(f"{name}:{s}:{g}", "quality", rater, score) for (s, g), score in scores.items()]
    criterion = Criterion("quality", scale)
    return assemble(Card(name), [criterion], sources.values(), outputs, [Rater(rater, kind)], facts_from(ratings))  # type: ignore[arg-type]


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
    assert merged.ratings.set_index("output")["score"].to_dict() == BASE.ratings.set_index("output")["score"].to_dict()


@pytest.mark.parametrize(
    ("incoming", "message"),
    [
        (small("new", "B", {("q", "M1"): 1}), "no output meets.*'q' by 'M1' here, 's1' by 'g' there.*`map_sources`"),
        (small("new", "A1", {("s1", "g"): 1}, kind="llm"), "rater A1: llm .* here, human"),
        (
            small("new", "B", {("s1", "g"): 1}, Scale("ordinal", (Level(1, "1"), Level(2, "2")))),
            "criterion quality: its scales differ",
        ),
    ],
)
def test_what_cannot_be_merged(incoming: Dataset, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        merge(BASE, incoming)


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
