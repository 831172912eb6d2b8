"""`metal correct`: on real scores, what is refused, the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.data.files import bundled
from metal.errors import UnknownName, UsageError
from metal.questions.correct.answer import headline
from metal.questions.correct.page import answer
from metal.questions.correct.words import facts
from metal.show.pages import screen
from metal.show.view import TableView
from tests.report.checks import Visiting, check_quiet, check_saved
from tests.saying import tells


def scores(hostile: str = "") -> pd.DataFrame:
    """Three people on 40 of 120 sources of two generators; a judge, lenient by 1, on all."""
    rng = np.random.default_rng(5)
    labelled = set(rng.permutation(120)[:40].tolist())
    rows = []
    for source in range(120):
        for generator, better in (("g1", 0), (f"g2{hostile}", 1)):
            quality = int(rng.integers(1, 4)) + better
            where = {"source": f"s{source}", "generator": generator, "language": "en"}
            rows.append(
                {**where, "rater": "gpt-4", "score": min(quality + int(rng.random() < 0.9), 5)}
            )
            if source in labelled:
                rows += [
                    {
                        **where,
                        "rater": f"A{person}",
                        "score": min(quality + int(rng.random() < 0.2), 5),
                    }
                    for person in (1, 2, 3)
                ]
    return pd.DataFrame(rows)


def read(frame: pd.DataFrame) -> metal.Dataset:
    return metal.read(frame, levels={"*": "1 < 2 < 3 < 4 < 5"})


def test_real_people_are_covered_where_the_judge_alone_is_off() -> None:
    """MLQE, 40 labels of each pair: people's mean of all is in the interval; Mixtral's own mean is
    far from it.
    """
    data = bundled("datasets/mlqe")
    table = metal.read(data).ratings
    people = table[(table["criterion"] == "direct_assessment") & (table["kind"] == "human")]
    means = (
        people.groupby(["language", "output"], observed=True)["score"]
        .mean()
        .groupby("language")
        .mean()
        / 100
    )
    covered, off, cases = 0, 0, 0
    for seed in range(8):
        made = metal.correct(data, criteria="direct_assessment", labels=40, seed=seed).tables[
            "corrected"
        ]
        for row in made[made["undefined"] == ""].to_dict("records"):
            covered += row["corrected_low"] <= means[row["language"]] <= row["corrected_high"]
            off += not row["judge_only_low"] <= means[row["language"]] <= row["judge_only_high"]
            cases += 1
    assert cases >= 40
    assert covered / cases >= 0.93
    assert off / cases >= 0.6


@pytest.mark.slow
def test_generators_and_their_difference(tmp_path: Path, visit: Visiting) -> None:
    made = metal.correct(read(scores("<b>")))
    table = made.tables["corrected"].set_index("generator")
    assert list(table.index) == ["(all)", "g1", "g2<b>"]
    assert (table["bias"] > 0.1).all()  # of 0.25 for a level, 0.9 - 0.2 of the time
    assert (table["labelled"] == 40).all()
    (difference,) = made.tables["differences"].to_dict("records")
    assert difference["difference_high"] < 0  # g2 is better
    assert difference["p_adjusted"] < 0.01
    assert table.loc[["g1", "g2<b>"], ["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        [2, 2, 2],
        [1, 1, 1],
    ]
    assert any("it is not known how" in warning for warning in made.warnings)
    assert not metal.correct(read(scores()), labelled="random").warnings
    check_saved(visit, made, tmp_path / "run", "overview", "differences", "methods")


def test_what_cannot_be_corrected_says_why() -> None:
    frame = scores()
    few = frame[(frame["rater"] == "gpt-4") | frame["source"].isin([f"s{n}" for n in range(40)])]
    corrected = metal.correct(read(few))
    (first, *_) = corrected.tables["corrected"]["undefined"]
    assert "labelled sources, 20 needed" in first
    assert tells(headline(corrected), "Nothing", f"{first.partition(': ')[2]}.")
    assert "rate at least 20 sources" in corrected.report()
    assert answer(corrected) is None  # a first table of dashes says nothing, on a terminal neither
    assert not [part for part in screen(corrected) if isinstance(part, TableView)]
    best = (
        frame[(frame["rater"] == "gpt-4")]
        .sort_values("score")["source"]
        .drop_duplicates(keep="last")
        .tail(60)
    )
    rated = frame[frame["rater"] == "gpt-4"]
    people = [rated[rated["source"].isin(best)].assign(rater=f"A{n}") for n in (1, 2, 3)]
    (first, *_) = metal.correct(read(pd.concat([rated, *people]))).tables["corrected"]["undefined"]
    assert "not a random subset" in first
    with pytest.raises(UsageError, match="nothing to correct"):
        metal.correct(read(frame[frame["rater"] != "gpt-4"]))


def test_sources_are_said_to_be_drawn_only_where_some_were_left_out() -> None:
    frame = scores()
    # 30 and 90 sources
    frame["language"] = np.where(frame["source"].isin([f"s{n}" for n in range(30)]), "sw", "en")

    def said(labels: int) -> str:
        return facts(metal.correct(read(frame), labels=labels))["Labelled sources"]

    assert tells(said(25), "25 of each language")
    assert tells(said(30), "30 of each", "no more")
    assert tells(said(90), "no language", "more than 90.")


@pytest.mark.slow
def test_a_test_set_corrects_shares_of_classes(tmp_path: Path, visit: Visiting) -> None:
    """A judge calls 80% of the bad bad, and 20% of the good: 32% of 10% bad sources. The test set
    has half of each.
    """
    rng, rows = np.random.default_rng(2), []
    for source in range(1600):
        tested = source < 200
        bad = source % 2 == 0 if tested else source % 10 == 0
        where = {"source": f"s{source}", "generator": "g", "language": "en"}
        rows.append({**where, "rater": "gpt-4", "score": int(rng.random() < (0.2 if bad else 0.8))})
        rows += (
            [{**where, "rater": f"A{person}", "score": int(not bad)} for person in (1, 2)]
            if tested
            else []
        )
    data = metal.read(pd.DataFrame(rows), levels={"*": "Bad < Good"})
    (refused,) = metal.correct(data).tables["corrected"]["undefined"]
    assert "not a random subset" in refused
    made = metal.correct(data, labelled="test")
    table = made.tables["classes"].set_index("level")
    assert not len(made.tables["corrected"])
    row = table.iloc[0]
    assert row["judge_only"] > 0.2
    assert row["corrected_low"] <= 0.1 <= row["corrected_high"] < row["judge_only"]
    assert list(table["tested"]) == [100, 100]
    folder = made.save(tmp_path / "run")
    check_quiet(visit, folder / "report.html", "overview", "methods")


def test_bad_words_for_the_choice() -> None:
    with pytest.raises(UsageError, match="one of random, drawn, test"):
        metal.correct(read(scores()), labelled="chance")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no drawn sources"):
        metal.correct(bundled("datasets/mlqe"), labelled="drawn")


def test_generators_side_by_side_by_corrected_means() -> None:
    table = metal.compare(read(scores()), corrected="gpt-4", resamples=100).table
    by = {(row["rater"], row["generator"]): row for row in table.to_dict("records")}
    assert len(by) == 6
    scale = metal.correct(read(scores())).tables["corrected"].set_index("generator")
    for generator in ("g1", "g2"):
        row = by["people by gpt-4", generator]
        assert row["sources"] == 120
        assert row["mean"] == pytest.approx(1 + 4 * scale.loc[generator, "corrected"])
        assert row["mean_low"] < by["people", generator]["mean"] < row["mean_high"]
        assert by["gpt-4", generator]["mean"] > row["mean_high"]
    frame = scores()
    few = frame[(frame["rater"] == "gpt-4") | frame["source"].isin([f"s{n}" for n in range(40)])]
    table = metal.compare(read(few), corrected="gpt-4", resamples=100).table
    reasons = table[table["rater"].str.startswith("people by")]["undefined"]
    assert reasons.str.contains("20 needed").all()


def test_a_leaderboard_has_corrected_means_beside(tmp_path: Path) -> None:
    """The same figures as `compare --corrected`, as shares of the scale; the mean of all languages
    has none.
    """
    frame = scores()
    both = pd.concat([frame, frame.assign(source=frame["source"] + "es", language="es")])
    board = metal.leaderboard(read(both), corrected="gpt-4", permutations=100)
    table = board.tables["leaderboard"].set_index(["language", "generator"])
    compared = metal.compare(read(both), corrected="gpt-4", resamples=100).table
    for row in compared[compared["rater"] == "people by gpt-4"].to_dict("records"):
        assert table.loc[(row["language"], row["generator"]), "corrected"] == pytest.approx(
            (row["mean"] - 1) / 4
        )
    assert table.loc[""]["corrected"].isna().all()
    assert "for every generator" in (board.save(tmp_path / "run") / "report.html").read_text(
        encoding="utf-8"
    )
    assert (
        metal.leaderboard(read(frame), permutations=100)
        .tables["leaderboard"]["corrected"]
        .isna()
        .all()
    )
    with pytest.raises(UnknownName, match="gpt-5"):
        metal.leaderboard(read(frame), corrected="gpt-5", permutations=100)


def test_nothing_to_correct_is_one_line_and_one_source_more_is_too_few(tmp_path: Path) -> None:
    frame = scores()
    labelled = frame[frame["source"].isin(frame.loc[frame["rater"] == "A1", "source"])]
    labelled.to_csv(tmp_path / "all.csv", index=False)
    ran = CliRunner().invoke(
        command_line, ["correct", str(tmp_path / "all.csv"), "--out", str(tmp_path / "run")]
    )
    assert ran.exit_code == 0, ran.output
    assert "own mean needs no" in ran.output
    assert "people only" not in ran.output
    sources = labelled["source"].nunique()
    advised = " ".join(ran.output.split())
    assert f"with --labels from 20 to {sources - 2} METAL shows" in advised
    again = [
        "correct",
        str(tmp_path / "all.csv"),
        "--labels",
        "900",
        "--out",
        str(tmp_path / "again"),
    ]
    refused = " ".join(CliRunner().invoke(command_line, again).output.split())
    assert tells(refused, "--labels 900", f"at most {sources}")
    few = labelled[labelled["source"].isin(labelled["source"].unique()[:21])]
    few.to_csv(tmp_path / "few.csv", index=False)
    none_left = CliRunner().invoke(
        command_line,
        ["correct", str(tmp_path / "few.csv"), "--labels", "40", "--out", str(tmp_path / "few")],
    )
    assert "with at most 21 sources per language" in " ".join(none_left.output.split())
    extra = frame[~frame["source"].isin(labelled["source"])].iloc[[0]]
    table = (
        metal.correct(read(pd.concat([labelled, extra]))).tables["corrected"].set_index("generator")
    )
    assert table.loc["g1", "undefined"] == "corrected: 1 source without labels, 2 needed"
    assert table.loc["g1", ["corrected", "corrected_low"]].isna().all()
