"""`metal select`: on published probabilities, where confidence comes from, what is refused, the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.errors import UnknownName, UsageError
from tests.report.checks import Visiting, check_accessible, check_names_are_text, check_quiet

WORDS = {"levels": {"*": "1=first,2=second"}, "measures": "nominal"}


def published(reference: Path) -> metal.Dataset:
    """500 pairs, people's choice, and probabilities of three judges."""
    table = pd.read_csv(reference / "cascaded-judges" / "probs.csv")
    table["source"] = "s" + table["item"].astype(str)
    table["score"] = 1 + (table["p_second"] > table["p_first"])
    table["confidence"] = table[["p_first", "p_second"]].max(axis=1)
    people = table.drop_duplicates("item").assign(judge="A1", confidence=None)
    people["score"] = people["human"]
    both = pd.concat([table, people]).rename(columns={"judge": "rater"}).assign(language="en")
    return metal.read(both[["source", "language", "rater", "score", "confidence"]], kinds={"A1": "human"}, **WORDS)


def asked_again() -> pd.DataFrame:
    """A judge that was asked three times about 60 sources in two languages; right where it says the same each time."""
    rows = []
    for language in ("en", "hi"):
        for source in range(60):
            where = {"source": f"{language}{source}", "language": language}
            sure = source % 3 > 0
            rows += [{**where, "rater": name, "score": 1} for name in ("A1", "A2", "gpt<b>")]
            rows[-1]["score"] = 1 if sure else 2
            rows += [{**where, "rater": f"gpt<b>#{again}", "score": 1} for again in (2, 3)]
    return pd.DataFrame(rows)


def test_published_agreement_and_calibration(reference: Path) -> None:
    """cascaded-judges: agreement .750 .756 .784 to the digit; ECE .097 .066 .134 in bins of another kind."""
    made = metal.select(published(reference), alpha=0.15, resamples=200)
    table = made.tables["calibration"].set_index("judge")
    judges = ["mistral-7b-instruct", "gpt-3.5-turbo", "gpt-4-turbo"]
    assert table.loc[judges, "agreement"].round(3).tolist() == [0.750, 0.756, 0.784]
    assert table.loc[judges, "ece"].round(3).tolist() == pytest.approx([0.097, 0.066, 0.134], abs=0.016)
    assert (table["ece_mapped"] < 0.07).all()
    selected = made.tables["selection"].set_index("judge")
    assert selected.loc["mistral-7b-instruct", "says"] == "people only"
    for judge in judges[1:]:
        row = selected.loc[judge]
        assert row["says"] == "in part"
        assert row["agreement_kept"] > row["at_least"] >= 0.85 > row["agreement"]


def test_shares_over_repeats(tmp_path: Path, visit: Visiting) -> None:
    data = metal.read(asked_again(), levels={"*": "1=first,2=second"}, kinds={"gpt*": "llm"})
    again = {name: rater for name, rater in data.raters.items() if "#" in name}
    for name, rater in again.items():
        rater.about.update(repeats=name.partition("#")[0])
    costs = {"gpt<b>": "0.01", "people": "1"}
    made = metal.select(data, alpha=0.1, costs=costs, resamples=200)
    for row in made.tables["selection"].to_dict("records"):
        assert (row["confidence"], row["says"], row["kept"], row["items"]) == ("repeats", "in part", 40, 60)
        assert row["agreement_kept"] == 1
        assert row["at_least"] == pytest.approx(0.05 ** (1 / 40))  # delta is halved between two languages
        assert row["cost"] == pytest.approx(1000 * (0.01 + 1 / 3))
    assert set(made.tables["calibration"]["auroc"]) == {1.0}
    too_strict = metal.select(data, alpha=0.01, resamples=200)
    said = "Whether a judge may answer anything alone cannot be said in any of 2 cases."
    assert said in too_strict.save(tmp_path / "strict").joinpath("report.html").read_text(encoding="utf-8")
    strict = too_strict.tables["selection"]
    assert strict["undefined"].str.contains("60 sources with an answer and its confidence, 299 needed").all()
    folder = made.save(tmp_path / "run")
    assert metal.open_run(folder).tables["selection"].equals(made.tables["selection"])
    check_names_are_text((folder / "report.html").read_text(encoding="utf-8"))
    check_quiet(visit, folder / "report.html", "overview", "calibration", "methods")
    check_accessible(visit, folder / "report.html")


def test_what_is_refused() -> None:
    data = metal.read(asked_again(), levels={"*": "1=first,2=second"}, kinds={"gpt*": "llm"})
    with pytest.raises(UsageError, match=r"`alpha` 1\.5: a share"):
        metal.select(data, alpha=1.5)
    with pytest.raises(UsageError, match="dollars of a rating"):
        metal.select(data, costs={"people": "cheap"})
    with pytest.raises(UnknownName, match="way to confidence 'mood'"):
        metal.select(data, confidence="mood")
    with pytest.raises(UnknownName, match="judge 'gpt-5'"):
        metal.select(data, cascade="gpt-5,gpt<b>")
    only = metal.select(data, confidence="rating", resamples=200)
    assert set(only.tables["selection"]["undefined"]) == {"threshold: no confidence"}
