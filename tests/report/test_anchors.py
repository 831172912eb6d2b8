"""`metal design anchors`: how many contents, which, and what they make of a gap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.errors import UsageError

LEVELS = {"*": "1 < 2 < 3 < 4 < 5"}


def rated(own: int = 60, anchors: int = 0, severity: int = 1) -> pd.DataFrame:
    """Two people of each language on outputs of their own and on anchors, Hindi ones lower by
    `severity`; a judge on their own outputs."""
    rng = np.random.default_rng(6)
    rows = []
    for place in range(own + anchors):
        content = f"a{place}" if place >= own else ""
        quality = int(rng.integers(2, 5))
        for language in ("en", "hi"):
            where = {
                "source": f"{language}-{content or place}",
                "language": language,
                "content": content,
            }
            where["text"] = "Words."
            level = quality if content else int(rng.integers(2, 5))
            for person in "AB":
                score = level + int(rng.random() < 0.3) - (severity if language == "hi" else 0)
                rows.append({**where, "rater": f"{language}{person}", "score": score})
            if not content:
                rows.append({**where, "rater": "gpt-4", "score": level})
    return pd.DataFrame(rows)


def read(frame: pd.DataFrame) -> metal.Dataset:
    return metal.read(frame, levels=LEVELS, columns={"content": "content", "source": "source"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """50 contents in both languages, five of them not rated."""
    frame = rated(own=0, anchors=50)
    frame.loc[
        frame["source"].isin([f"{code}-a{place}" for code in ("en", "hi") for place in range(5)]),
        "score",
    ] = np.nan
    read(frame).save(tmp_path / "data")
    return tmp_path / "data"


def test_what_is_drawn_is_every_language_s_and_from_bad_to_good(folder: Path) -> None:
    made = metal.design_anchors(folder, half_width=0.05)
    (row,) = made.needed.to_dict("records")
    assert (row["language"], row["sd_from"], row["rated"], row["there"]) == (
        "hi",
        "the same contents",
        45,
        50,
    )
    sd = 0.3 * 0.7 * 2 / 2  # the variance of the difference of two means of two answers
    assert row["sd"] == pytest.approx(np.sqrt(sd), rel=0.2)
    # 0.05 of 4, and t is a little wider
    assert row["contents"] == pytest.approx((1.96 * row["sd"] / 0.2) ** 2, abs=4)
    records = [json.loads(line) for line in made.file.read_text().splitlines()]
    assert len(records) == 2 * made.table["drawn"].sum() == 2 * row["contents"]
    of = {
        code: {each["source"][3:] for each in records if each["language"] == code}
        for code in ("en", "hi")
    }
    assert of["en"] == of["hi"]
    assert made.table["drawn"].min() >= 2  # of each fifth, and of those without a score
    metal.design_anchors(folder, contents=45)
    assert {each["source"] for each in records} < {
        json.loads(line)["source"] for line in made.file.read_text().splitlines()
    }
    with pytest.raises(UsageError, match="earlier sources"):
        metal.design_anchors(folder, contents=20)
    assert "all of these are drawn" in metal.design_anchors(folder, contents=90).warnings[0]
    ran = CliRunner().invoke(command_line, ["design", "anchors", str(folder), "--contents", "90"])
    assert ran.exit_code == 0, ran.output
    assert "metal annotate export" in ran.output


def test_a_gap_that_may_be_people_s_says_how_many_anchors_it_takes(tmp_path: Path) -> None:
    frame = rated(own=80)
    bias = metal.bias_language(read(frame))
    (row,) = bias.tables["anchors"].to_dict("records")
    assert (row["language"], row["sd_from"], row["rated"], row["there"]) == (
        "hi",
        "people's noise",
        0,
        0,
    )
    apart = [
        frame[frame["rater"] == f"{code}{person}"]["score"].to_numpy()
        for code in ("en", "hi")
        for person in "AB"
    ]
    # of a mean of two people
    noise = sum(np.var(apart[at] - apart[at + 1], ddof=1) / 4 for at in (0, 2))
    assert row["sd"] == pytest.approx(np.sqrt(noise), rel=0.02)
    html = (bias.save(tmp_path / "run") / "report.html").read_text(encoding="utf-8")
    assert f"every panel rate {row['contents']} contents that" in html
    assert "have to be translated" in html
    assert "<span>bias</span> <span>plan</span>" in html
    # nobody has rated them yet
    there = pd.concat([frame, rated(own=0, anchors=9).assign(score=np.nan)])
    html = (
        metal.bias_language(read(there))
        .save(tmp_path / "there")
        .joinpath("report.html")
        .read_text(encoding="utf-8")
    )
    assert "needs most; 9 are there" in html
    assert "<span>design</span> <span>anchors</span>" in html
    # they are rated
    assert metal.bias_language(read(rated(own=80, anchors=40))).tables["anchors"].empty


def test_with_anchors_a_gap_is_the_judge_s_own() -> None:
    """The judge is even; people of Hindi are severer by 1. Beside them it looks lenient, with
    anchors it does not.
    """
    table = metal.bias_language(read(rated(own=80))).tables["language_bias"].set_index("language")
    assert set(table["by"]) == {"quality held equal"}
    assert table.loc["hi", "lean"] == pytest.approx(0.5, abs=0.2)
    table = (
        metal.bias_language(read(rated(own=80, anchors=40)))
        .tables["language_bias"]
        .set_index("language")
    )
    assert set(table["by"].str.contains("by anchors")) == {True}
    assert table.loc["hi", "gap"] == pytest.approx(0.5, abs=0.2)
    assert table.loc["hi", "lean_low"] < 0 < table.loc["hi", "lean_high"]
    assert table.loc["hi", "lean"] == pytest.approx(0, abs=0.15)
    assert table.loc["hi", "anchored"] == table.loc["hi", "lean"]


def test_what_cannot_be_planned_is_said_in_a_line(tmp_path: Path) -> None:
    read(rated(own=20).drop(columns="content").assign(content="")).save(tmp_path / "own")
    with pytest.raises(UsageError, match="in each of en, hi"):
        metal.design_anchors(tmp_path / "own")
    frame = rated(own=0, anchors=20)
    read(frame[frame["rater"].str.endswith("A") & (frame["source"] < "en-a15")]).save(
        tmp_path / "one"
    )
    with pytest.raises(UsageError, match="two languages or more"):
        metal.design_anchors(tmp_path / "one")
