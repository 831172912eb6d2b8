"""Justifications: by hand, and corrupted ones are found at the share that was corrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.cells import cells
from metal.auditing.justifications import (
    LEAST,
    MOST,
    justification_rows,
    language_of,
    level_named,
    quotes,
)
from metal.auditing.settings import AuditSettings
from metal.data.records import Level, Scale
from tests.saying import tells

WORDS = "bridge river festival minister harvest rain school doctor market engine".split(" ")  # noqa: SIM905
STARS = Scale("ordinal", tuple(Level(value, f"{value} stars") for value in (1.0, 2.0, 3.0)))


def world(
    wrong: float = 0.0, invented: float = 0.0, items: int = 300, seed: int = 1
) -> metal.Dataset:
    """A judge that names its score and quotes the output; some reasons name another score, or quote
    what is nowhere.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        score = int(rng.integers(1, 4))
        text = " ".join(rng.choice(WORDS, 12))
        named = score % 3 + 1 if rng.random() < wrong else score
        quoted = (
            " ".join(text.split(" ")[3:7])
            if rng.random() >= invented
            else "words that nobody has written"
        )
        reason = f'It says "{quoted}" {"well" if score == 3 else "badly"}, so my rating is {named}.'
        about = {"source": f"s{item:03}", "language": "en", "text": text}
        rows += [
            {**about, "rater": "A1", "score": score},
            {**about, "rater": "J", "score": score, "comment": reason},
        ]
    options: dict[str, Any] = {
        "levels": {"*": "1=1 star,2=2 stars,3=3 stars"},
        "kinds": {"A1": "human", "J": "llm"},
    }
    return metal.read(pd.DataFrame(rows), **options)


def row_of(data: metal.Dataset) -> dict[str, Any]:
    [row] = justification_rows(data, list(cells(data, AuditSettings())))
    return row


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_corrupted_reasons_are_recovered(share: float) -> None:
    """Every reason names a level and quotes; the corrupted share lies in both intervals."""
    row = row_of(world(wrong=share, invented=share))
    assert (row["reasons"], row["read"], row["answered"]) == (300, 100, 300)
    assert row["named"] == row["quotes"] == row["read"] <= MOST
    assert row["contradicts_low"] <= share + 1e-9 <= row["contradicts_high"]
    assert row["quotes_found_low"] <= 1 - share <= row["quotes_found_high"] + 1e-9
    assert row["contradicts_high"] - row["contradicts_low"] < 0.2
    assert (row["in_english"], row["in_output_language"], row["opening"]) == (1, 1, row["opening"])


def test_what_words_predict() -> None:
    """`well` goes with the highest score; and nothing goes with mistakes, for there is none."""
    row = row_of(world())
    assert row["predicts_score_low"] > 0.7
    assert np.isnan(row["predicts_error"])
    assert "predicts_error: " in row["undefined"]
    few = row_of(world(items=LEAST))
    assert tells(few["undefined"], "predicts_score:", f"{LEAST} reasons")


def test_shuffled_reasons_predict_nothing() -> None:
    data = world()
    table = data.ratings
    judged = table.index[table["rater"] == "J"]
    table.loc[judged, "comment"] = np.random.default_rng(0).permutation(
        table.loc[judged, "comment"]
    )
    row = row_of(data)
    assert row["predicts_score_low"] < 0 < row["predicts_score_high"]
    assert row["contradicts"] == pytest.approx(2 / 3, abs=0.12)


def test_languages_of_reasons() -> None:
    assert language_of("The answer is correct and it says what was asked.", "hi") == "en"
    assert language_of("उत्तर सही है और प्रश्न के अनुसार है।", "hi") == "own"
    assert language_of("உத்தரவு சரியானது.", "hi") == "other"
    assert language_of("La respuesta es correcta y completa.", "es") == "own"
    assert language_of("", "es") == "own"


def test_named_levels_and_quotations() -> None:
    assert level_named("Fluent, but it leaves out the end. I give it a 2.", STARS) == 2
    assert level_named("Rated 3 out of 3: nothing is missing.", STARS) == 3
    assert level_named("There are 2 errors in 3 sentences.", STARS) is None
    assert level_named("A previous rater gave it a 1.", STARS) is None
    assert level_named("Fluent and complete.", STARS) is None
    pairs = Scale("nominal", (Level(0, "first"), Level(1, "second")))
    assert level_named("My verdict: 1.", pairs) is None  # in which order?
    data = world(items=2)
    name, output = next(iter(data.outputs.items()))
    own = output.text.split(" ")
    found = 'It has "{}, {} {}" and, later, "no such thing here".'.format(
        *(word.title() for word in own[:3])
    )
    assert quotes(found, data, name) == (1, 2)
    assert quotes('It says "a" and nothing else.', data, name) == (0, 0)  # too short to be telling


def test_judges_without_reasons_have_no_row_and_flipped_criteria_none_that_count() -> None:
    data = world(items=40)
    assert [
        row["judge"] for row in justification_rows(data, list(cells(data, AuditSettings())))
    ] == ["J"]
    data.raters["J"].about["flipped"] = ["overall"]  # it was told numbers that mean something else
    assert not list(justification_rows(data, list(cells(data, AuditSettings()))))


def test_the_table_and_its_section(tmp_path: Any) -> None:
    data = world(wrong=0.2, items=60)
    data.ratings.loc[data.ratings["rater"] == "J", "comment"] += " <script>alert(1)</script>"
    audit = metal.audit(data, resamples=100)
    [row] = audit.tables["justifications"].to_dict("records")
    assert row["signature"]
    folder = audit.save(tmp_path / "run")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What justifications" in page
    assert "<script>alert" not in page
    assert metal.open_run(folder).tables["justifications"].equals(audit.tables["justifications"])
    silent = world(items=60)
    silent.ratings["comment"] = ""
    assert "justifications" not in metal.audit(silent, resamples=100).tables
