"""`metal bias language`: the same contents in several languages, people beside, the page, what is
refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.errors import UsageError
from metal.show.pages import headline, screen, tables
from metal.show.view import TableView
from tests.report.checks import Visiting, check_saved
from tests.saying import tells


def parallel(lean: int, hostile: str = "") -> metal.Dataset:
    """Scores of judge j on the same 60 contents in three languages, higher by `lean` in Basque."""
    rng = np.random.default_rng(8)
    rows = []
    for content in range(60):
        quality = int(rng.integers(1, 5))
        for language in ("en", "es", "eu"):
            score = min(quality + int(rng.random() < 0.1) + (lean if language == "eu" else 0), 5)
            rows.append(
                {
                    "source": f"q{content}",
                    "language": language,
                    "rater": f"j{hostile}",
                    "score": score,
                }
            )
    return metal.read(pd.DataFrame(rows), kinds={"*": "llm"}, levels={"*": "1 < 2 < 3 < 4 < 5"})


@pytest.mark.slow
def test_a_lean_on_the_same_contents(tmp_path: Path, visit: Visiting) -> None:
    found = metal.bias_language(parallel(1, "<b>"))
    table = found.tables["language_bias"].set_index("language")
    # a third of 1 is below 0.1 x 4
    assert table["says"].to_dict() == {"en": "even", "es": "even", "eu": "leans"}
    assert set(table["by"]) == {"the same contents"}
    assert table.loc["eu", "lean"] == pytest.approx(2 / 3, abs=0.15)  # 4 on, some cut at 5
    assert table.loc["eu", "flips"] > 0.7
    assert "metal.judge(repeat=2)" in table.loc["eu", "undefined"]
    html = check_saved(visit, found, tmp_path / "run", "overview", "figures", "methods")
    assert "most lenient in Basque (+0." in html
    assert "At a glance" in html
    assert re.search(r'class="[^"]*q2"', html)  # 0.67 of 4


def test_progress_has_the_languages_of_people_and_the_judges() -> None:
    told: list[int] = []
    metal.bias_language(parallel(1), progress=lambda done, _: told.append(done))
    # four fifths for three languages, the rest for one judge
    assert [*dict.fromkeys(told)] == [0, 26, 53, 80, 100]


def test_v_prints_the_tables_that_the_page_has() -> None:
    run = metal.bias_language(parallel(1))
    printed = [part.name for part in screen(run, verbose=True) if isinstance(part, TableView)]
    assert printed == [table.name for table in tables(run)]
    assert len(printed) > 1


def test_lenient_is_towards_the_better_end() -> None:
    criterion = replace(parallel(1).criteria["overall"], direction="lower")
    table = metal.bias_language(replace(parallel(1), criteria={"overall": criterion})).tables[
        "language_bias"
    ]
    assert table.set_index("language").loc["eu", "lean"] == pytest.approx(-2 / 3, abs=0.15)


def test_leans_are_ordered_by_the_share_of_their_scale() -> None:
    """A lean of 28 points, among scores from 0 to 100 without ends, is less than 2 on a scale from
    1 to 5.
    """
    frame = pd.DataFrame(
        {"source": np.repeat(np.arange(60), 2), "language": ["en", "eu"] * 60, "rater": "j"}
    )
    quality, eu = frame["source"].to_numpy() % 3, frame["language"].eq("eu").to_numpy()
    band = frame.assign(criterion="band", score=quality + 1 + 2 * eu)
    points = frame.assign(criterion="points", score=np.round(quality * 36 + 28 * eu, 1))
    table = pd.concat([band, points])
    run = metal.bias_language(
        metal.read(table, kinds={"*": "llm"}, levels={"band": "1 < 2 < 3 < 4 < 5"})
    )
    spans = run.tables["language_bias"].groupby("criterion")["span"].first()
    assert spans.to_dict() == {"band": 4, "points": 100}
    assert (
        "Basque (+1.00) and most severe in English (−1.00) on band (scored 1 to 5) for the same"
        " contents" in headline(run)
    )


def test_an_even_judge_is_even() -> None:
    assert set(metal.bias_language(parallel(0)).tables["language_bias"]["says"]) == {"even"}


def test_conditions_are_compared_with_what_they_were_made_from() -> None:
    dataset = parallel(0)
    again = {
        f"{name}/eu-rubric": output.__class__(
            f"{name}/eu-rubric",
            output.source,
            output.generator,
            "en",
            of=name,
            condition="rubric in Basque",
        )
        for name, output in dataset.outputs.items()
        if output.language == "en"
    }
    facts = dataset.ratings[dataset.ratings["language"] == "en"].assign(
        output=lambda table: table["output"].astype(str) + "/eu-rubric",
        score=lambda table: table["score"] - 1,
    )
    facts = pd.concat([dataset.ratings.astype(object), facts[facts["score"] > 0].astype(object)])
    from metal.data.dataset import assemble
    from metal.data.ratings import FACTS, tidy_facts

    outputs = [*dataset.outputs.values(), *again.values()]
    parts = dataset.criteria.values(), dataset.sources.values(), outputs, dataset.raters.values()
    both = assemble(dataset.card, *parts, tidy_facts(facts.loc[:, list(FACTS)]))
    bias = metal.bias_language(both)
    assert not bias.warnings
    (row,) = bias.tables["conditions"].to_dict("records")
    assert (row["language"], row["condition"], row["change"], row["lower"]) == (
        "en",
        "rubric in Basque",
        -1,
        1,
    )
    without = str(facts["output"].iloc[-1]).removesuffix("/eu-rubric")
    fewer = assemble(
        both.card, *parts, tidy_facts(facts.loc[facts["output"] != without, list(FACTS)])
    )
    bias = metal.bias_language(fewer)
    assert len(bias.warnings) == 1
    assert tells(bias.warnings, "j: 1 output", "left out", f"{without}/eu-rubric")
    assert bias.tables["conditions"]["pairs"].tolist() == [row["pairs"] - 1]


def test_what_cannot_be_asked_is_said_in_a_line() -> None:
    one = pd.DataFrame({"source": ["a", "b"], "language": "en", "rater": "A1", "score": [1, 2]})
    with pytest.raises(UsageError, match="needs two languages"):
        metal.bias_language(one)
    with pytest.raises(UsageError, match="no judges in the data"):
        metal.bias_language(pd.concat([one, one.assign(language="es")]))
    with pytest.raises(UsageError, match="pivot 'fr'"):
        metal.bias_language(parallel(0), pivot="fr")


def test_the_bundled_numbers(tmp_path: Path) -> None:
    """How far Mixtral stands above people on 0 to 100, as with pandas on the released files."""
    ran = CliRunner().invoke(
        command_line, ["bias", "language", "datasets/mlqe", "--out", str(tmp_path / "run")]
    )
    assert ran.exit_code == 0, ran.output
    assert tells(
        " ".join(ran.output.split()), "mixtral-8x7b", "most lenient", "English to Chinese (+0.53)"
    )
    assert "tell good from bad" in " ".join(ran.output.split())
    table = (
        metal.open_run(tmp_path / "run")
        .tables["language_bias"]
        .query("criterion == 'direct_assessment'")
    )
    above = table.set_index("language")["above_people"].round(1).to_dict()
    assert above == {
        "en-de": 9.7,
        "en-zh": 26.0,
        "et-en": 15.7,
        "ne-en": 10.9,
        "ro-en": 1.2,
        "si-en": 4.7,
    }


@pytest.mark.reference
def test_pariksha(reference: Path) -> None:
    found = metal.bias_language(
        metal.read(reference / "pariksha"), criteria="linguistic_acceptability"
    )
    table = found.tables["language_bias"].set_index("language")
    assert table["above_people"].round(2).to_dict() == {
        "bn": 0.46,
        "hi": 0.05,
        "kn": 0.04,
        "ml": 0.30,
        "ta": 0.39,
    }
    assert table.loc["kn", "says"] == "leans"


def test_one_id_in_several_languages_is_one_content_wherever_it_is_read(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{content}", "lang": language}
        for content in range(15)
        for language in ("en", "es")
    ]
    wide = pd.DataFrame(rows).assign(A1=[0, 1, 2] * 10, **{"gpt-4": [2, 1, 0] * 10})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    contents = [f"q{content}" for content in range(15)]
    for data in (
        wide,
        tmp_path / "wide.csv",
        wide.melt(["id", "lang"], var_name="rater", value_name="score"),
    ):
        dataset = metal.read(data, levels={"*": "0<1<2"})
        assert sorted({source.content for source in dataset.sources.values()}) == sorted(contents)
        assert set(metal.bias_language(dataset).tables["language_bias"]["by"]) == {
            "the same contents"
        }
    dataset.save(tmp_path / "data")
    spanish = wide[wide["lang"] == "es"][["id", "lang"]].assign(rater="B1", score=1)
    joined = metal.read(spanish, into=tmp_path / "data")  # a table of one language
    assert joined.ratings.query("rater == 'B1'")["language"].tolist() == ["es"] * 15


def test_people_s_own_lean_is_asked_for_by_name(tmp_path: Path) -> None:
    people = metal.read(
        pd.DataFrame(
            [
                {
                    "source": f"q{content}",
                    "language": language,
                    "rater": f"{language}-1",
                    "score": score,
                }
                for content in range(20)
                for language, score in (("en", content % 2), ("es", content % 2), ("eu", 0))
            ]
        ),
        kinds={"*": "human"},
        levels={"*": "0<1"},
    )
    with pytest.raises(UsageError, match='`judges="people"`'):
        metal.bias_language(people)
    bias = metal.bias_language(people, judges="people")
    table = bias.tables["language_bias"].set_index("language")
    assert table["mean"].to_dict() == {"en": 0.5, "es": 0.5, "eu": 0}
    assert table.loc["eu", "lean"] == pytest.approx(-1 / 3)
    assert set(table["undefined"]) == {""}  # no people beside people, and nobody was asked again
    html = (bias.save(tmp_path / "run") / "report.html").read_text(encoding="utf-8")
    assert "more severe" not in html
    assert tells(html, "people are more lenient")
    assert headline(bias).startswith(
        "People's scores are highest in English (+0.17) and lowest in Basque (−0.33) on "
    )


def test_nothing_to_compare_by_is_refused_and_low_reliability_is_said() -> None:
    rng = np.random.default_rng(2)
    judged = [
        {
            "source": f"{language}{place}",
            "language": language,
            "rater": "gpt-4",
            "score": int(rng.integers(3)),
        }
        for language in ("en", "es")
        for place in range(30)
    ]
    with pytest.raises(UsageError, match="cannot compare languages"):
        metal.bias_language(pd.DataFrame(judged))
    noise = [
        {**row, "rater": rater, "score": int(rng.integers(3))}
        for row in judged
        for rater in ("A1", "A2")
    ]
    warnings = metal.bias_language(pd.DataFrame(judged + noise)).warnings
    assert any("below 0.3 in English" in line and "ask more people" in line for line in warnings)


@pytest.mark.reference
def test_the_gap_of_truthfulqa_multi(reference: Path) -> None:
    """The truthful share on the same questions, as published, by the first person of each
    language.
    """
    people = "rater=" + ",".join(f"{code}-annotator1" for code in ("en", "es", "eu", "ca", "gl"))
    data = reference / "truthfulqa-multi" / "ratings.csv"
    table = metal.bias_language(
        data, judges="people", criteria="truthfulness", reference=people
    ).tables
    shares = table["language_bias"].set_index("language")["mean"]
    assert shares.to_numpy() == pytest.approx([0.635, 0.608, 0.657, 0.495, 0.602], abs=0.001)


def test_a_severe_person_is_named_and_languages_are_not_linked(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for language in ("en", "hi"):
        for place in range(60):
            quality = int(rng.integers(1, 5))
            for person in "ABC":
                score = (
                    quality + int(rng.integers(-1, 2)) - (2 if person + language == "Chi" else 0)
                )
                rows.append({"rater": f"{language}-{person}", "score": min(max(score, 1), 5)})
                rows[-1] |= {"source": f"{language}{place}", "language": language}
            rows.append(
                {
                    "rater": "gpt-4",
                    "source": f"{language}{place}",
                    "language": language,
                    "score": quality,
                }
            )
    rows += [{"rater": "hi-D", "source": "hi0", "language": "hi", "score": 3}]
    bias = metal.bias_language(metal.read(pd.DataFrame(rows), levels={"*": "1<2<3<4<5"}))
    table = bias.tables["severity"].set_index("person")
    assert table.loc["hi-C", "says"] == "severe"
    assert set(table.loc[["en-A", "en-B", "en-C"], "says"]) == {""}
    by_language = table.groupby("language")["severity"].sum()
    assert by_language.to_numpy() == pytest.approx([0, 0], abs=1e-9)
    means = pd.DataFrame(rows).groupby("rater")["score"].mean()
    below = means[["hi-A", "hi-B", "hi-C"]].mean() - means["hi-C"]
    assert table.loc["hi-C", "lower_by"] == pytest.approx(below, abs=0.2)
    assert table.loc["hi-D", "undefined"] == "severity: 1 output shared with others, 20 needed"
    html = (bias.save(tmp_path / "run") / "report.html").read_text(encoding="utf-8")
    assert "hi-C is severe: −0." in re.sub("<[^>]+>", "", html)
