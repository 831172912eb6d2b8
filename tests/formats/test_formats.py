"""What all formats share: the list of them, formats from outside, and keeping raters of some kinds
only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import metal
from metal.data import formats, plugins
from metal.data.formats import Draft
from metal.errors import MetalError
from tests.conftest import offer

READ_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".eval", ".csv.gz", ".tar.gz")
ROWS = """item,language,criterion,rater,kind,score
i,en,quality,A1,human,1
j,en,quality,A1,human,2
i,en,quality,judge,llm,2
i,en,score,m1,metric,0.25
j,en,score,m1,metric,0.5
"""


def read(folder: Path, **options: Any) -> Draft:
    path = folder / "ratings.csv"
    path.write_text(ROWS)
    return formats.read("table", path, options)


def test_raters_of_some_kinds_only(tmp_path: Path) -> None:
    draft = read(tmp_path, only=("metric",))
    dataset = draft.assemble(tmp_path)
    assert repr(draft) == "Draft('ratings': 2 sources, 2 outputs, 1 rater, 2 ratings, 7 notes)"
    assert list(dataset.raters) == ["m1"]
    assert list(dataset.criteria) == ["score"]  # nobody who is left answered the other
    assert dataset.ratings["score"].tolist() == [0.25, 0.5]
    assert set(dataset.outputs) == {"i", "j"}
    assert draft.notes[-1] == "`only=['metric']` left out 1 human, 1 llm raters and their 3 ratings"
    both = read(tmp_path, only=("human", "llm")).assemble(tmp_path)
    assert set(both.raters) == {"A1", "judge"}
    everybody = read(tmp_path, only=("human", "llm", "metric"))
    assert len(everybody.facts) == 5
    assert not any("only" in note for note in everybody.notes)


def test_kinds_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        MetalError,
        match=r"`only=\['baseline'\]`:.*only 1 human, 1 llm, 1 metric",
    ):
        read(tmp_path, only=("baseline",))
    with pytest.raises(MetalError, match="`only`: kind 'llms' is not known; did you mean 'llm'"):
        read(tmp_path, only=("llms",))


SEAHORSE = """
import pandas as pd
from metal.data.formats import Format
from metal.data.formats.table import read_ratings

def read(path, options):
    return read_ratings(pd.read_csv(path, sep="|"), language=options.get("language", "hi"), name="seahorse")

FORMAT = Format("a table with bars", read, frozenset({"language"}))
nothing = 3
"""  # noqa: E501


def install(folder: Path, entry_points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(folder, "seahorse", "metal.formats", entry_points)
    (folder / "seahorse_for_metal.py").write_text(SEAHORSE)
    monkeypatch.syspath_prepend(folder)


def test_a_format_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "seahorse = seahorse_for_metal:FORMAT", monkeypatch)
    assert list(formats.known_formats())[-1] == "seahorse"
    assert formats.known_formats()["seahorse"].summary == "a table with bars"
    path = tmp_path / "ratings.txt"
    path.write_text("item|rater|score\ni|A1|1\ni|A2|0\n")
    assert formats.read("seahorse", str(path), {}).assemble(path).languages == ("hi",)
    assert formats.read("seahorse", path, {"language": "sw"}).assemble(path).languages == ("sw",)
    assert formats.read("seahorse", path, {"name": "mine"}).card.name == "mine"
    with pytest.raises(MetalError, match=r"format seahorse.*shift; leave it out"):
        formats.read("seahorse", path, {"shift": 1})


def test_entry_points_that_offer_no_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path, "odd = seahorse_for_metal:nothing\ngone = seahorse_for_metal:GONE", monkeypatch
    )
    with pytest.raises(MetalError, match=r"format odd .* is not a metal\.data\.formats\.Format"):
        formats.load_format("odd")
    with pytest.raises(MetalError, match=r"format gone .* cannot be loaded"):
        formats.load_format("gone")


def test_a_format_whose_entry_point_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {
        name: point for name, point in plugins.plugins("metal.formats").items() if name != "thumb"
    }
    monkeypatch.setattr(plugins, "_plugins", lambda *_: left)
    formats_left = (
        "alttest basse billboard evalset hf journal metal-release mqm pariksha pariksha-pairs"
        " table wmt-sqm"
    )
    known = formats.known_formats()
    of_harnesses = {name for name, each in known.items() if each.keys}
    assert " ".join(name for name in known if name not in of_harnesses) == formats_left
    assert len(read(tmp_path).facts) == 5
    with pytest.raises(MetalError, match="format 'thumb' is not known"):
        formats.read("thumb", tmp_path, {})
    with pytest.raises(MetalError, match="'parikshaa' is not known; did you mean 'pariksha'"):
        formats.read("parikshaa", tmp_path, {})


@pytest.mark.parametrize("name", formats.known_formats())
def test_what_is_missing_or_empty_is_refused_in_a_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    files = [f"{stem}{ending}" for stem in ("no", "empty") for ending in READ_ENDINGS]
    for file in files:
        if file.startswith("empty"):
            (tmp_path / file).touch()
    for file in (*files, "folder", "no/such/folder"):
        with pytest.raises(MetalError) as refused:
            metal.read(tmp_path / file, name)
        assert "\n" not in str(refused.value)
        if file.startswith("no") and name != "journal":  # it names the run in which it looks
            assert str(tmp_path / file) in str(refused.value)
