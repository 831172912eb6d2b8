"""The datasets that come with METAL, and `metal demo`, which audits them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import metal
from metal.auditing.verdict import VERDICTS
from metal.data.dataset import load_dataset
from metal.data.files import bundled
from tests.cli.forks import shared
from tests.made import demo, mlqe

MLQE, DEMO = bundled("datasets/mlqe"), bundled("datasets/demo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `metal demo` was run; said.txt is what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "said.txt").write_text(
        shared().at(folder, dict(os.environ))("demo", seconds=120).out, encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def audits(folder: Path) -> dict[str, metal.Audit]:
    return {name: metal.open_run(folder / "metal-demo" / name) for name in ("mlqe", "demo")}


def test_mlqe_holds_numbers_ids_and_languages_only() -> None:
    data = load_dataset(MLQE)
    assert {output.text + output.note for output in data.outputs.values()} == {""}
    assert {
        source.text + source.title + "".join(source.references) for source in data.sources.values()
    } == {""}
    assert set(data.ratings["comment"]) == {""}
    assert data.ratings["reason"].value_counts().to_dict() == {
        "": 8354,
        "no number in the reply": 62,
    }
    assert max(map(len, [*data.outputs, *data.sources, *data.raters])) <= 14
    assert sum(path.stat().st_size for path in MLQE.iterdir()) < 250_000
    assert len(data.ratings) == 1052 * 4 * 2


@pytest.mark.reference
def test_mlqe_is_what_its_maker_makes(reference: Path) -> None:
    assert mlqe.made(reference).digest == load_dataset(MLQE).digest


def test_demo_is_what_its_maker_makes() -> None:
    made, data = demo.made(), load_dataset(DEMO)
    assert (made.digest, made.sources, made.outputs) == (data.digest, data.sources, data.outputs)
    assert {rater.group for rater in data.raters.values()} == {"constructed"}
    assert all(output.generator.startswith("constructed-") for output in data.outputs.values())
    assert all(source.text and len(source.references) == 2 for source in data.sources.values())
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 1_000_000


def test_verdicts_of_real_people(audits: dict[str, metal.Audit], folder: Path) -> None:
    """Kappas and the verdicts on bands are those in the README of the reference data; scores are
    another question.
    """
    audit = audits["mlqe"]
    some = dict.fromkeys(("et-en", "ne-en", "ro-en", "si-en"), "informative")
    verdicts = audit.verdicts.set_index(["criterion", "language"])["verdict"]
    assert verdicts["translation_quality"].to_dict() == some | {
        "en-de": "informative",
        "en-zh": "people disagree",
    }
    assert verdicts["direct_assessment"].to_dict() == some | {
        "en-de": "informative",
        "en-zh": "informative",
    }
    kappa = audit.people.query("criterion == 'translation_quality'").set_index("language")[
        "fleiss_kappa"
    ]
    assert kappa.round(2).to_dict() == {
        "en-de": 0.86, "en-zh": -0.07, "et-en": 0.75, "ne-en": 0.33, "ro-en": 0.63, "si-en": 0.24
    }  # fmt: skip
    page = (folder / "metal-demo" / "mlqe" / "report.html").read_text(encoding="utf-8")
    assert "English to German" in page
    assert "Where they are: en-de:0010 is row 10" in page


def test_every_verdict_occurs(audits: dict[str, metal.Audit]) -> None:
    shown = [
        row
        for audit in audits.values()
        for row in audit.verdicts[["verdict", "reason"]].itertuples(index=False)
    ]
    assert {verdict for verdict, _ in shown} == set(VERDICTS)
    assert any(
        "like a person once" in reason for verdict, reason in shown if verdict == "informative"
    )


def test_constructed_judges_are_seen_through(audits: dict[str, metal.Audit]) -> None:
    verdicts = audits["demo"].verdicts.set_index(["judge", "criterion", "language"])
    counts = verdicts.groupby("judge")["verdict"].value_counts()
    assert counts["constructed:good"]["like a person"] >= 13
    assert counts["constructed:constant"].to_dict() == {"uninformative": 15, "people disagree": 1}
    for language in ("ar", "en", "es", "hi"):
        assert (
            "finds 0% of what people call 'Bad'"
            in verdicts.loc[("constructed:blind", "task_quality", language), "reason"]
        )
        assert (
            "once recalibrated (-1"
            in verdicts.loc[("constructed:lenient", "overall_quality", language), "reason"]
        )
    assert set(verdicts.xs("ar", level="language").loc[(slice(None), demo.LA), "verdict"]) == {
        "people disagree"
    }


def test_every_question_has_an_answer_in_demo(tmp_path: Path) -> None:
    """Who is careless, who writes best, what metrics say beside references."""
    people = metal.monitor(DEMO, resamples=100).tables["behaviour"]
    assert set(people[people["stands_out"] != ""]["rater"]) == {"hi-3"}
    generators = metal.leaderboard(DEMO, permutations=100).tables["leaderboard"].head(3)
    assert generators["generator"].str.removeprefix("constructed-").tolist() == [
        "strong",
        "middling",
        "weak",
    ]
    assert generators["rank_low"].tolist() == generators["rank_high"].tolist() == [1, 2, 3]
    scores = metal.score(DEMO, "chrf,rouge-l", out=tmp_path / "scores")
    assert scores.ratings["score"].notna().sum() == 2 * 240


def test_commands_name_no_disk_where_the_datasets_lie_below(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("metal.questions.audit.verb.audit", lambda data, progress: data)
    monkeypatch.chdir(MLQE.parents[1])
    assert metal.demo() == {"mlqe": Path("datasets/mlqe"), "demo": Path("datasets/demo")}
    monkeypatch.chdir(tmp_path)
    assert metal.demo() == {"mlqe": MLQE, "demo": DEMO}


def test_the_command(folder: Path) -> None:
    said = (folder / "said.txt").read_text(encoding="utf-8")
    assert len(said.splitlines()) <= 45  # with the address of each page
    for name in ("mlqe", "demo"):
        assert f"Report: metal-demo/{name}/report.html" in said
        assert (folder / "metal-demo" / name / "report.html").is_file()
    assert re.search(
        r"^Romanian to English +Informative [\d–]+%<‡ +Informative ", said, flags=re.MULTILINE
    )
    assert "Constructed demo" in said
