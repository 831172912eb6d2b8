"""Self-preference: what a judge gives its own family's outputs beyond equally good ones of
others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.questions.audit.answer import cards
from metal.raters.judges.models import family_of_generator
from tests.bench import battery
from tests.saying import tells


def world(extra: float, people: int = 3, outputs: int = 200) -> pd.DataFrame:
    """Own outputs two levels better than others, as people see; the judge gives them `extra` more
    in Hindi.
    """
    rng, rows = np.random.default_rng(4), []
    for language in ("en", "hi"):
        for n in range(outputs):
            own = n % 4 == 0
            quality = rng.normal(4 + 2 * own, 1)
            about = {
                "source": f"{language}{n // 4}",
                "generator": "GPT4o" if own else f"llama-{n % 4}",
            }
            said = {f"{language}{person}": quality + rng.normal(0, 0.7) for person in range(people)}
            said["gpt-4"] = quality + 1 + extra * own * (language == "hi") + rng.normal(0, 0.7)
            rows += [
                {**about, "language": language, "rater": name, "score": score}
                for name, score in said.items()
            ]
    return pd.DataFrame(rows).round(2)


def test_an_injected_preference_is_found_where_it_is(tmp_path: Path) -> None:
    audit = metal.audit(metal.read(world(1.2), ranges={"*": "-5-15"}))
    table = audit.tables["own_outputs"].set_index("language")
    assert table.loc["hi", "preference_low"] < 1.2 < table.loc["hi", "preference_high"]
    assert table["own"].tolist() == ["GPT4o", "GPT4o"]
    assert (table["own_outputs"].tolist(), table["outputs"].tolist()) == ([50, 50], [200, 200])
    assert table.loc["en", "preference_low"] < 0 < table.loc["en", "preference_high"]
    assert table["above_people_others"].between(0.8, 1.2).all()
    severe = (
        metal.audit(metal.read(world(-3.0), ranges={"*": "-5-15"}))
        .tables["own_outputs"]
        .set_index("language")
    )
    assert severe["says"].to_dict() == {"en": "even", "hi": "is against its own"}
    page = audit.save(tmp_path / "run") / "report.html"
    assert "what its own family" in page.read_text(encoding="utf-8")


def test_the_page_bewares_of_it() -> None:
    audit = metal.audit(metal.read(world(3.0), ranges={"*": "-5-15"}))
    (own,) = [card for card in cards(audit) if card.title == "Self-preference"]
    assert tells(own.words, "gpt-4", "own family (GPT4o) +")
    assert tells(own.words, "in Hindi", "1 of 2")


def test_what_is_not_known_is_said() -> None:
    alone = metal.audit(metal.read(world(1.0, people=1), ranges={"*": "-5-15"})).tables[
        "own_outputs"
    ]
    assert alone["preference"].isna().all()
    assert set(alone["undefined"]) == {
        "preference: people's reliability on its own is unknown; 0.3 is needed"
    }
    few = metal.audit(metal.read(world(1.0, outputs=36), ranges={"*": "-5-15"})).tables[
        "own_outputs"
    ]
    assert set(few["undefined"]) == {"preference: people rated 9 outputs of its own; 10 are needed"}
    none = world(1.0).replace({"generator": {"GPT4o": "gemini-pro"}})
    assert "own_outputs" not in metal.audit(metal.read(none, ranges={"*": "-5-15"})).tables


def test_families_are_declared_or_named() -> None:
    data = metal.read(world(1.0), ranges={"*": "-5-15"})
    assert family_of_generator(data, "GPT4o") == "gpt"
    declared = metal.data.dataset.with_parts(data)
    declared.extra["generators"] = {"llama-1": {"family": "gpt"}}  # type: ignore[index]
    assert family_of_generator(declared, "llama-1") == "gpt"


@pytest.mark.parametrize(("bias", "expected"), [(0.0, set()), (1.5, {"sw"})])
def test_the_first_place_is_named_where_it_is_preferred(bias: float, expected: set[str]) -> None:
    assert battery.first(np.random.default_rng(1), 60, bias) == expected
