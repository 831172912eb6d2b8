"""The page of a jury, and its run read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.questions.jury.answer import cards, headline
from metal.questions.jury.page import answer
from tests.report.checks import Visiting, check_saved
from tests.saying import tells


@pytest.mark.slow
def test_the_page_and_the_run_again(tmp_path: Path, visit: Visiting) -> None:
    """One case where three are better than the best of them, one where two of three copy each
    other, one too small.
    """
    rng = np.random.default_rng(5)
    rows = []
    for language, outputs, copies in (("en", 400, False), ("hi", 100, True), ("sw", 2, False)):
        truth = rng.integers(0, 2, outputs)
        judges = [np.where(rng.random(outputs) < 0.75, truth, 1 - truth) for _ in range(3)]
        answers = {
            "A1": truth,
            "J1<b>": judges[0],
            "J2": judges[0 if copies else 1],
            "J3": judges[2],
        }
        for rater, given in answers.items():
            about = {"language": language, "rater": rater}
            rows += [
                {**about, "source": f"{language}{place}", "score": score}
                for place, score in enumerate(given)
            ]
            if (language, rater) == ("sw", "A1"):
                rows = rows[:-2]
    data = metal.read(
        pd.DataFrame(rows), levels={"*": "0=no,1=yes"}, kinds={"A*": "human", "J*": "llm"}
    )
    made = metal.jury(data, resamples=200)
    table = made.tables["jury"].set_index("language")
    assert table["better"].to_dict() == {"en": "yes", "hi": "unclear", "sw": ""}
    html = check_saved(visit, made, tmp_path / "run", "overview", "figures", "methods")
    assert metal.open_run(tmp_path / "run").ratings.equals(made.ratings)
    assert tells(html, "best member", "in 1 of 2 cases")
    assert " in Hindi, its 3 members count as" in html
    assert "jury and people rated (" in html
    assert [card.command for card in cards(made)][-1] == "metal audit DATASET JURY"
    alone = metal.jury(data, judges="J2", resamples=200)
    assert tells(headline(alone), "J2: name two or more")
    agreement = alone.tables["jury"]["agreement"].dropna()
    assert [cell.text for cell in answer(alone).rows[0][1:3]] == [
        f"{share:.0%}" for share in agreement
    ]
    assert [*cards(alone)][-1].command == "metal audit DATASET"
