"""What of a dataset can be ranked, and which table of its field METAL names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.boards.rankable import Rankable
from metal.errors import MetalError
from metal.questions.board.answer import cards
from tests.saying import tells


def table(
    criteria: Sequence[str], systems: str = "abc", language: str = "en", judge: str = "gpt-4"
) -> Any:
    """Four documents, summarized by each system and rated by two people and a judge."""
    import pandas as pd

    rows = []
    for number in range(4):
        for place, system in enumerate(systems):
            for criterion in criteria:
                for rater, kind in (("A1", "human"), ("A2", "human"), (judge, "llm")):
                    if not rater:
                        continue
                    rows.append(
                        {
                            "source": f"doc {number}",
                            "system": system,
                            "output": f"text {number} of {system}",
                            "language": language,
                            "criterion": criterion,
                            "rater": rater,
                            "kind": kind,
                            "score": 1 + (place + number + len(rater)) % 5,
                        }
                    )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("made", "layout"),
    [
        (table(["coherence", "Relevance", "5W1H"]), "summarization"),
        (table(["coherence", "tone"]), ""),  # one criterion of summarization only
        (table(["coherence", "relevance"], systems="ab"), ""),  # no correlation of two
        (table(["coherence", "relevance"], language="de-en"), ""),  # translations
        (table(["coherence", "relevance"], judge=""), ""),  # nobody to compare with people
    ],
)
def test_summarization_is_known_by_its_criteria(made: Any, layout: str) -> None:
    dataset = metal.read(made, levels="1,2,3,4,5")
    rankable = Rankable.of(dataset)
    assert (rankable.layout, rankable.metrics) == (layout, 0)
    assert Rankable.read(rankable.to_dict()) == rankable


def test_an_audit_and_a_board_name_the_table_of_the_field() -> None:
    made = table(["coherence", "relevance"])
    audited = repr(metal.audit(made, levels="1,2,3,4,5", resamples=100))
    assert tells(audited, "Or: Make the usual table", "metal billboard", "--layout summarization")
    board = metal.billboard(made, levels="1,2,3,4,5", resamples=100, permutations=100)
    (*_, last) = cards(board)
    assert (last.title, last.command) == ("Or", "metal billboard DATASET --layout summarization")


@pytest.mark.parametrize("described", [None, 7, [], {"metrics": "many", "layout": 3, "x": 1}])
def test_what_is_no_record_says_nothing(described: object) -> None:
    assert Rankable.read(described) == Rankable()


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("basse", ("summarization", 0, 24)),
        ("wmt23-metrics", ("wmt23", 43, 17)),
        ("wmt-esa/esa_generalMT2024_wave3.csv", ("", 0, 15)),
        ("mqm/layouts/mqm_ted_zhen.tsv", ("", 0, 15)),
    ],
)
def test_released_data(reference: Path, name: str, expected: tuple[str, int, int]) -> None:
    rankable = Rankable.of(metal.read(reference / name))
    assert (rankable.layout, rankable.metrics, rankable.generators) == expected


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "headline", "commands"),
    [
        pytest.param(
            "wmt23-metrics",
            ("No judge took part", "ranks the 43 metrics"),
            ("metal billboard {} --layout wmt23", "metal leaderboard {}"),
            marks=pytest.mark.slow,
        ),
        (
            "wmt-esa/esa_generalMT2024_wave3.csv",
            ("Only people", "alpha", "ESA"),
            ("metal leaderboard {}",),
        ),
        (
            "mqm/layouts/mqm_ted_zhen.avg_seg_scores.tsv",
            ("Only people", "alpha", "MQM"),
            ("metal leaderboard {}",),
        ),
    ],
)
def test_an_audit_of_translations_names_the_next_command(
    reference: Path, name: str, headline: tuple[str, ...], commands: tuple[str, ...]
) -> None:
    said = repr(metal.audit(reference / name, resamples=100))
    assert tells(said, *headline)
    assert tells(said, *(command.format(reference / name) for command in commands))


@pytest.mark.reference
def test_a_path_that_equals_the_name_stays_a_path(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wmt").symlink_to(reference / "wmt23-metrics")
    monkeypatch.chdir(tmp_path)
    dataset = metal.read("wmt", language="en-de")
    path = Path(dataset.card.name)
    path.symlink_to(reference / "wmt23-metrics")
    audit = metal.audit(path, language="en-de", criteria="mqm", resamples=100)
    assert tells(repr(audit), f"metal leaderboard ./{path} --language en-de")


def test_people_alone_are_no_board_but_a_leaderboard() -> None:
    made = table(["tone"], judge="")
    says = r"`metal.leaderboard\(...\)` ranks generators"
    with pytest.raises(MetalError, match=says):
        metal.billboard(made, levels="1,2,3,4,5")
    with pytest.raises(MetalError, match=says):
        metal.billboard_layout(made, layout="summarization", levels="1,2,3,4,5")


def test_a_folder_of_tables_names_one(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("notes")
    with pytest.raises(MetalError, match=r"neither.*dataset folder.*table"):
        metal.read(tmp_path)
    (tmp_path / "scores.csv").write_text("item,score\n1,2\n")
    with pytest.raises(MetalError, match=r"give a file.*such as .*scores[.]csv"):
        metal.read(tmp_path)
