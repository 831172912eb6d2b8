"""The datasets that come with METAL."""

from __future__ import annotations

from pathlib import Path

import pytest

import metal
from metal.data.dataset import load_dataset
from metal.data.files import bundled
from tests.made import mlqe

MLQE = bundled("datasets/mlqe")


def test_mlqe_holds_numbers_ids_and_languages_only() -> None:
    data = load_dataset(MLQE)
    assert {output.text + output.note for output in data.outputs.values()} == {""}
    assert {source.text + source.title + "".join(source.references) for source in data.sources.values()} == {""}
    assert set(data.ratings["comment"]) == {""}
    assert data.ratings["reason"].value_counts().to_dict() == {"": 8354, "no number in the reply": 62}
    assert max(map(len, [*data.outputs, *data.sources, *data.raters])) <= 14
    assert sum(path.stat().st_size for path in MLQE.iterdir()) < 250_000
    assert len(data.ratings) == 1052 * 4 * 2


@pytest.mark.reference
def test_mlqe_is_what_its_maker_makes(reference: Path) -> None:
    assert mlqe.made(reference).digest == load_dataset(MLQE).digest


def test_verdicts_of_real_people(tmp_path: Path) -> None:
    """The figures of the reference data's README: verdicts on Mixtral's bands; its scores are informative at most."""
    audit = metal.audit(MLQE)
    verdicts = audit.verdicts.set_index(["criterion", "language"])["verdict"]
    assert verdicts["translation_quality"].to_dict() == {
        "en-de": "undecided",
        "en-zh": "people disagree",
        "et-en": "informative",
        "ne-en": "informative",
        "ro-en": "informative",
        "si-en": "informative",
    }
    assert verdicts["direct_assessment"].to_dict() == dict.fromkeys(
        verdicts.loc["direct_assessment"].index, "informative"
    ) | {"en-zh": "uninformative"}
    kappa = audit.people.query("criterion == 'translation_quality'").set_index("language")["fleiss_kappa"]
    assert kappa.round(2).to_dict() == {
        "en-de": 0.86, "en-zh": -0.07, "et-en": 0.75, "ne-en": 0.33, "ro-en": 0.63, "si-en": 0.24
    }  # fmt: skip
    audit.save(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "English to German" in page
    assert "Where they are: en-de:0010 is row 10" in page
