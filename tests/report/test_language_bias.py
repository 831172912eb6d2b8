"""`metal bias language`: the same contents in several languages, people beside, the page, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.errors import UsageError
from tests.report.checks import Visiting, check_accessible, check_names_are_text, check_quiet


def parallel(lean: int, hostile: str = "") -> metal.Dataset:
    """Scores of judge j on the same 60 contents in three languages, higher by `lean` in Basque."""
    rng = np.random.default_rng(8)
    rows = []
    for content in range(60):
        quality = int(rng.integers(1, 5))
        for language in ("en", "es", "eu"):
            score = min(quality + int(rng.random() < 0.1) + (lean if language == "eu" else 0), 5)
            rows.append({"source": f"q{content}", "language": language, "rater": f"j{hostile}", "score": score})
    return metal.read(pd.DataFrame(rows), kinds={"*": "llm"}, levels={"*": "1 < 2 < 3 < 4 < 5"})


def test_a_lean_on_the_same_contents(tmp_path: Path, visit: Visiting) -> None:
    found = metal.bias_language(parallel(1, "<b>"))
    table = found.tables["language_bias"].set_index("language")
    assert table["says"].to_dict() == {"en": "even", "es": "even", "eu": "leans"}  # a third of 1 is below 0.1 x 4
    assert set(table["by"]) == {"the same contents"}
    assert table.loc["eu", "lean"] == pytest.approx(2 / 3, abs=0.15)  # 4 on, some cut at 5
    assert table.loc["eu", "flips"] > 0.7
    assert "metal.judge(repeat=2)" in table.loc["eu", "undefined"]
    folder = found.save(tmp_path / "run")
    assert metal.open_run(folder).tables["language_bias"].equals(found.tables["language_bias"])
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "most lenient in Basque (+0." in html
    check_names_are_text(html)
    check_quiet(visit, folder / "report.html", "overview", "figures", "methods")
    check_accessible(visit, folder / "report.html")


def test_lenient_is_towards_the_better_end() -> None:
    criterion = replace(parallel(1).criteria["overall"], direction="lower")
    table = metal.bias_language(replace(parallel(1), criteria={"overall": criterion})).tables["language_bias"]
    assert table.set_index("language").loc["eu", "lean"] == pytest.approx(-2 / 3, abs=0.15)


def test_an_even_judge_is_even() -> None:
    assert set(metal.bias_language(parallel(0)).tables["language_bias"]["says"]) == {"even"}


def test_conditions_are_compared_with_what_they_were_made_from() -> None:
    dataset = parallel(0)
    again = {
        f"{name}/eu-rubric": output.__class__(
            f"{name}/eu-rubric", output.source, output.generator, "en", of=name, condition="rubric in Basque"
        )
        for name, output in dataset.outputs.items()
        if output.language == "en"
    }
    facts = dataset.ratings[dataset.ratings["language"] == "en"].assign(
        output=lambda table: table["output"].astype(str) + "/eu-rubric", score=lambda table: table["score"] - 1
    )
    facts = pd.concat([dataset.ratings.astype(object), facts[facts["score"] > 0].astype(object)])
    from metal.data.dataset import assemble
    from metal.data.ratings import FACTS, tidy_facts

    outputs = [*dataset.outputs.values(), *again.values()]
    parts = dataset.criteria.values(), dataset.sources.values(), outputs, dataset.raters.values()
    both = assemble(dataset.card, *parts, tidy_facts(facts.loc[:, list(FACTS)]))
    (row,) = metal.bias_language(both).tables["conditions"].to_dict("records")
    assert (row["language"], row["condition"], row["change"], row["lower"]) == ("en", "rubric in Basque", -1, 1)


def test_what_cannot_be_asked_is_said_in_a_line() -> None:
    one = pd.DataFrame({"source": ["a", "b"], "language": "en", "rater": "A1", "score": [1, 2]})
    with pytest.raises(UsageError, match="needs two languages"):
        metal.bias_language(one)
    with pytest.raises(UsageError, match="no judges in the data"):
        metal.bias_language(pd.concat([one, one.assign(language="es")]))
    with pytest.raises(UsageError, match="pivot 'fr' is none of the languages"):
        metal.bias_language(parallel(0), pivot="fr")


def test_the_bundled_numbers(tmp_path: Path) -> None:
    """How far Mixtral stands above people on 0 to 100, as with pandas on the released files."""
    ran = CliRunner().invoke(command_line, ["bias", "language", "datasets/mlqe", "--out", str(tmp_path / "run")])
    assert ran.exit_code == 0, ran.output
    assert "Beside these people, mixtral-8x7b is most lenient in English to Chinese (+0.53)" in ran.output
    table = metal.open_run(tmp_path / "run").tables["language_bias"].query("criterion == 'direct_assessment'")
    above = table.set_index("language")["above_people"].round(1).to_dict()
    assert above == {"en-de": 9.7, "en-zh": 26.0, "et-en": 15.7, "ne-en": 10.9, "ro-en": 1.2, "si-en": 4.7}


@pytest.mark.reference
def test_pariksha(reference: Path) -> None:
    found = metal.bias_language(metal.read(reference / "pariksha"), criteria="linguistic_acceptability")
    table = found.tables["language_bias"].set_index("language")
    assert table["above_people"].round(2).to_dict() == {"bn": 0.46, "hi": 0.05, "kn": 0.04, "ml": 0.30, "ta": 0.39}
    assert table.loc["kn", "says"] == "leans"
